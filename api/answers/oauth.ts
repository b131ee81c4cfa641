import {z} from 'zod'
import {Answer} from './common.ts'

/** RFC 9728. */
export const ProtectedResource = Answer({
  resource: z.url().describe('What tokens are for'),
  resource_name: z.string().describe('What it is called'),
  authorization_servers: z.array(z.url()).describe('Who issues them'),
  scopes_supported: z.array(z.string()).describe('The scopes there are'),
  bearer_methods_supported: z.array(z.literal('header')).describe('Where a token is sent'),
}).meta({id: 'OAuthProtectedResource', description: 'As RFC 9728 has it'})

/** RFC 8414. */
export const Issuer = Answer({
  issuer: z.url().describe('Who issues tokens'),
  authorization_endpoint: z.url().describe('Where a browser is sent'),
  token_endpoint: z.url().describe('Where codes and refresh tokens are exchanged'),
  registration_endpoint: z.url().describe('Where a client registers'),
  revocation_endpoint: z.url().describe('Where a client gives tokens back'),
  scopes_supported: z.array(z.string()).describe('The scopes there are'),
  response_types_supported: z.array(z.literal('code')).describe('Codes alone'),
  response_modes_supported: z.array(z.literal('query')).describe('In the query of the redirect address'),
  grant_types_supported: z.array(z.enum(['authorization_code', 'refresh_token'])).describe('What is exchanged for tokens'),
  token_endpoint_auth_methods_supported: z.array(z.literal('none')).describe('Clients have no secret'),
  revocation_endpoint_auth_methods_supported: z.array(z.literal('none')).describe('Clients have no secret'),
  code_challenge_methods_supported: z.array(z.literal('S256')).describe('PKCE is needed'),
  authorization_response_iss_parameter_supported: z.literal(true).describe('Answers name the issuer (RFC 9207)'),
  client_id_metadata_document_supported: z.literal(true).describe('A client id may be the address of a document about the client'),
}).meta({id: 'OAuthIssuer', description: 'As RFC 8414 has it'})

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
    .describe('What programs look at'),
  error_description: z.string().describe('One sentence for a person'),
}).meta({id: 'OAuthError', description: 'A refusal in the form of RFC 6749'})

export const RegisteredClient = Answer({
  client_id: z.string().describe('The id it is known by'),
  client_id_issued_at: z.int().describe('When, in seconds since 1970'),
  client_name: z.string().describe('Its name, as people are shown it'),
  redirect_uris: z.array(z.string()).describe('Where answers may be sent'),
  grant_types: z.array(z.string()).describe('What it may exchange'),
  response_types: z.array(z.string()).describe('What it may ask for'),
  token_endpoint_auth_method: z.literal('none').describe('It has no secret'),
}).meta({id: 'OAuthClient', description: 'As RFC 7591 has it'})

export const Tokens = Answer({
  access_token: z.string().describe('The bearer for `/mcp`'),
  token_type: z.literal('Bearer').describe('How it is sent'),
  expires_in: z.int().describe('How long it is good for, in seconds'),
  refresh_token: z.string().describe('Good once, within 30 days, for the next pair'),
  scope: z.literal('mcp').describe('What it is for'),
}).meta({id: 'OAuthTokens', description: 'As RFC 6749 has it'})

/** What the forms and the JSON of programs hold, which is read by rules of its own. */
export const Registration = z.looseObject({
  client_name: z.string().max(100).optional().describe('What people are shown; what is not seen is taken out of it'),
  redirect_uris: z
    .array(z.string())
    .min(1)
    .max(20)
    .describe('Where answers may be sent: https, http of a loopback address, or the scheme of a program'),
})

export const TokenForm = z.looseObject({
  grant_type: z.enum(['authorization_code', 'refresh_token']).describe('What is exchanged'),
  client_id: z.string().describe('The client'),
  code: z.string().optional().describe('The code, which is good for a minute and once: with `authorization_code`'),
  redirect_uri: z.string().optional().describe('The one the request began with: with `authorization_code`'),
  code_verifier: z.string().optional().describe('What the code challenge was made of: with `authorization_code`'),
  refresh_token: z.string().optional().describe('With `refresh_token`'),
  resource: z.string().optional().describe('What the token is for (RFC 8707): the address of `/mcp`'),
  scope: z.string().optional().describe('`mcp`, or nothing'),
})

export const RevocationForm = z.looseObject({
  token: z.string().describe('Either token: with it go all of the same grant'),
  client_id: z.string().optional().describe('The client it was given to'),
})

export const DecisionForm = z.looseObject({
  request: z.string().describe('As the page carries it'),
  decision: z.enum(['allow', 'deny']).describe('What the person chose'),
  org: z.string().optional().describe('Which org the client is let into: with `allow`'),
})
