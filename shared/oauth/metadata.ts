import type {Config} from '../config.ts'

type Place = Pick<Config, 'PUBLIC_URL'>

/** The one scope there is: what the five tools of `/mcp` show. */
export const scope = 'mcp'

/** Who issues tokens, and what they are for: compared letter by letter, so one form of each. */
export const issuerOf = ({PUBLIC_URL}: Place): string => PUBLIC_URL.replace(/\/+$/, '')
export const resourceOf = (place: Place): string => `${issuerOf(place)}/mcp`

/** Where a client that was refused reads who lets it in (RFC 9728). */
export const resourceMetadataOf = (place: Place): string => {
  const {origin, pathname} = new URL(resourceOf(place))
  return `${origin}/.well-known/oauth-protected-resource${pathname}`
}

/** RFC 9728. */
export const describeResource = (place: Place) => ({
  resource: resourceOf(place),
  resource_name: 'Lading',
  authorization_servers: [issuerOf(place)],
  scopes_supported: [scope],
  bearer_methods_supported: ['header'],
})

/** RFC 8414, of a server for public clients that prove themselves by PKCE. */
export const describeIssuer = (place: Place) => {
  const issuer = issuerOf(place)
  return {
    issuer,
    authorization_endpoint: `${issuer}/oauth/authorize`,
    token_endpoint: `${issuer}/oauth/token`,
    registration_endpoint: `${issuer}/oauth/register`,
    revocation_endpoint: `${issuer}/oauth/revoke`,
    scopes_supported: [scope],
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    token_endpoint_auth_methods_supported: ['none'],
    revocation_endpoint_auth_methods_supported: ['none'],
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: true,
  }
}
