import type {Config} from '../../shared/config.ts'

type PublicUrlConfig = Pick<Config, 'PUBLIC_URL'>

/** The only scope. It allows the six tools of `/mcp`. */
export const scope = 'mcp'

/** Returns the issuer identifier, without a trailing slash, because clients compare identifiers exactly. */
export const issuerOf = ({PUBLIC_URL}: PublicUrlConfig): string => PUBLIC_URL.replace(/\/+$/, '')
export const resourceOf = (config: PublicUrlConfig): string => `${issuerOf(config)}/mcp`

/** Returns the URL where a refused client finds the authorisation server (RFC 9728). */
export const resourceMetadataOf = (config: PublicUrlConfig): string => {
  const {origin, pathname} = new URL(resourceOf(config))
  return `${origin}/.well-known/oauth-protected-resource${pathname}`
}

/** Returns the metadata of the protected resource (RFC 9728). */
export const describeResource = (config: PublicUrlConfig) => ({
  resource: resourceOf(config),
  resource_name: 'Lading',
  authorization_servers: [issuerOf(config)],
  scopes_supported: [scope],
  bearer_methods_supported: ['header'],
})

/** Returns the metadata of the authorisation server (RFC 8414), which serves public clients with PKCE. */
export const describeIssuer = (config: PublicUrlConfig) => {
  const issuer = issuerOf(config)
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
