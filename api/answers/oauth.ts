import {z} from 'zod'
import {Answer} from './common.ts'

/** The metadata of the protected resource (RFC 9728). */
export const ProtectedResource = Answer({
  resource: z.url().describe('The protected resource'),
  resource_name: z.string().describe('Name of the resource'),
  authorization_servers: z.array(z.url()).describe('Issuers of its tokens'),
  scopes_supported: z.array(z.string()).describe('Supported scopes'),
  bearer_methods_supported: z.array(z.literal('header')).describe('How a token is sent'),
}).meta({id: 'OAuthProtectedResource', description: 'Defined by RFC 9728'})

/** The metadata of the authorisation server (RFC 8414). */
export const Issuer = Answer({
  issuer: z.url().describe('The issuer of tokens'),
  authorization_endpoint: z.url().describe('The page that starts an authorisation'),
  token_endpoint: z.url().describe('Where codes and refresh tokens are exchanged'),
  registration_endpoint: z.url().describe('Where a client registers'),
  revocation_endpoint: z.url().describe('Where a client revokes tokens'),
  scopes_supported: z.array(z.string()).describe('Supported scopes'),
  response_types_supported: z.array(z.literal('code')).describe('Only codes'),
  response_modes_supported: z.array(z.literal('query')).describe('In the query of the redirect URI'),
  grant_types_supported: z.array(z.enum(['authorization_code', 'refresh_token'])).describe('Supported grant types'),
  token_endpoint_auth_methods_supported: z.array(z.literal('none')).describe('Clients have no secret'),
  revocation_endpoint_auth_methods_supported: z.array(z.literal('none')).describe('Clients have no secret'),
  code_challenge_methods_supported: z.array(z.literal('S256')).describe('PKCE is required'),
  authorization_response_iss_parameter_supported: z.literal(true).describe('Responses name the issuer (RFC 9207)'),
  client_id_metadata_document_supported: z.literal(true).describe('A client id may be the URL of a metadata document'),
}).meta({id: 'OAuthIssuer', description: 'Defined by RFC 8414'})

export const OAuthError = Answer({
  error: z
    .enum([
      'invalid_request',
      'invalid_client',
      'invalid_grant',
      'invalid_scope',
      'invalid_target',
      'invalid_redirect_uri',
      'invalid_client_metadata',
      'unsupported_grant_type',
      'unsupported_response_type',
      'temporarily_unavailable',
      'access_denied',
    ])
    .describe('The error code, for programs'),
  error_description: z.string().describe('What happened, for people'),
}).meta({id: 'OAuthError', description: 'A refusal in the form of RFC 6749'})

export const RegisteredClient = Answer({
  client_id: z.string().describe('The client id'),
  client_id_issued_at: z.int().describe('Time of registration, in seconds since 1970'),
  client_name: z.string().describe('The name shown to people'),
  redirect_uris: z.array(z.string()).describe('Allowed redirect URIs'),
  grant_types: z.array(z.string()).describe('Allowed grant types'),
  response_types: z.array(z.string()).describe('Allowed response types'),
  token_endpoint_auth_method: z.literal('none').describe('The client has no secret'),
}).meta({id: 'OAuthClient', description: 'Defined by RFC 7591'})

export const Tokens = Answer({
  access_token: z.string().describe('The bearer token for `/mcp`'),
  token_type: z.literal('Bearer').describe('How it is sent'),
  expires_in: z.int().describe('Lifetime in seconds'),
  refresh_token: z.string().describe('Can be exchanged once, within 30 days'),
  scope: z.literal('mcp').describe('The scope'),
}).meta({id: 'OAuthTokens', description: 'Defined by RFC 6749'})

/** The request of a client registration, for the API reference only. `api/oauth` validates the requests. */
export const Registration = z.looseObject({
  client_name: z.string().max(100).optional().describe('The name shown to people. Invisible characters are removed'),
  redirect_uris: z
    .array(z.string())
    .min(1)
    .max(20)
    .describe('Allowed redirect URIs: https, http on a loopback address, or a custom scheme'),
})

export const TokenForm = z.looseObject({
  grant_type: z.enum(['authorization_code', 'refresh_token']).describe('The grant type'),
  client_id: z.string().describe('The client'),
  code: z.string().optional().describe('The code, valid once and for one minute. With `authorization_code`'),
  redirect_uri: z.string().optional().describe('The redirect URI of the authorisation request. With `authorization_code`'),
  code_verifier: z.string().optional().describe('The PKCE verifier. With `authorization_code`'),
  refresh_token: z.string().optional().describe('The refresh token. With `refresh_token`'),
  resource: z.string().optional().describe('The resource (RFC 8707): the URL of `/mcp`'),
  scope: z.string().optional().describe('`mcp`, or omitted'),
})

export const RevocationForm = z.looseObject({
  token: z.string().describe('Either token. Revokes all tokens of the same grant'),
  client_id: z.string().optional().describe('The client'),
})

export const DecisionForm = z.looseObject({
  request: z.string().describe('The signed request from the consent page'),
  decision: z.enum(['allow', 'deny']).describe('The decision of the person'),
  org: z.string().optional().describe('The org to give access to. With `allow`'),
})
