import {z} from 'zod'
import {Refusal} from '../../shared/errors.ts'
import {Answer, File, Nothing} from '../answers/common.ts'
import {keepBrowser, readBrowser} from '../browser-cookie.ts'
import {consentPage} from '../consent-page.ts'
import {formBytes, readForm} from '../form.ts'
import {authorise} from '../oauth/authorise.ts'
import {registerClient} from '../oauth/client.ts'
import {decide, readConsent} from '../oauth/consent.ts'
import {describeIssuer, describeResource, issuerOf} from '../oauth/metadata.ts'
import {giveTokens, revokeToken} from '../oauth/tokens.ts'
import {answerClient, answerPerson} from '../oauth-answer.ts'
import {reply} from '../reply.ts'
import {type ApiDeps, route} from '../route.ts'

/** The metadata of the protected resource (RFC 9728). */
const ProtectedResource = Answer({
  resource: z.url().describe('The protected resource'),
  resource_name: z.string().describe('Name of the resource'),
  authorization_servers: z.array(z.url()).describe('Issuers of its tokens'),
  scopes_supported: z.array(z.string()).describe('Supported scopes'),
  bearer_methods_supported: z.array(z.literal('header')).describe('How a token is sent'),
}).meta({id: 'OAuthProtectedResource', description: 'Defined by RFC 9728'})

/** The metadata of the authorisation server (RFC 8414). */
const Issuer = Answer({
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

const OAuthError = Answer({
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

const RegisteredClient = Answer({
  client_id: z.string().describe('The client id'),
  client_id_issued_at: z.int().describe('Time of registration, in seconds since 1970'),
  client_name: z.string().describe('The name shown to people'),
  redirect_uris: z.array(z.string()).describe('Allowed redirect URIs'),
  grant_types: z.array(z.string()).describe('Allowed grant types'),
  response_types: z.array(z.string()).describe('Allowed response types'),
  token_endpoint_auth_method: z.literal('none').describe('The client has no secret'),
}).meta({id: 'OAuthClient', description: 'Defined by RFC 7591'})

const Tokens = Answer({
  access_token: z.string().describe('The bearer token for `/mcp`'),
  token_type: z.literal('Bearer').describe('How it is sent'),
  expires_in: z.int().describe('Lifetime in seconds'),
  refresh_token: z.string().describe('Can be exchanged once, within 30 days'),
  scope: z.literal('mcp').describe('The scope'),
}).meta({id: 'OAuthTokens', description: 'Defined by RFC 6749'})

/** The request of a client registration, for the API reference only. `api/oauth` validates the requests. */
const Registration = z.looseObject({
  client_name: z.string().max(100).optional().describe('The name shown to people. Invisible characters are removed'),
  redirect_uris: z
    .array(z.string())
    .min(1)
    .max(20)
    .describe('Allowed redirect URIs: https, http on a loopback address, or a custom scheme'),
})

const TokenForm = z.looseObject({
  grant_type: z.enum(['authorization_code', 'refresh_token']).describe('The grant type'),
  client_id: z.string().describe('The client'),
  code: z.string().optional().describe('The code, valid once and for one minute. With `authorization_code`'),
  redirect_uri: z.string().optional().describe('The redirect URI of the authorisation request. With `authorization_code`, if sent'),
  code_verifier: z.string().optional().describe('The PKCE verifier. With `authorization_code`'),
  refresh_token: z.string().optional().describe('The refresh token. With `refresh_token`'),
  resource: z.string().optional().describe('The resource (RFC 8707): the URL of `/mcp`'),
  scope: z.string().optional().describe('`mcp`, or omitted'),
})

const RevocationForm = z.looseObject({
  token: z.string().describe('Either token. Revokes all tokens of the same grant'),
  client_id: z.string().describe('The client'),
})

const DecisionForm = z.looseObject({
  request: z.string().describe('The signed request from the consent page'),
  decision: z.enum(['allow', 'deny']).describe('The decision of the person'),
  org: z.string().optional().describe('The org to give access to. With `allow`'),
})

const open = {access: {public: true}, effect: 'write'} as const
const form = {...open, method: 'post', body: 'bytes', mostBytes: formBytes} as const
const resource = {method: 'get', access: {public: true}, refusals: []} as const
const formType = 'application/x-www-form-urlencoded'
const refusedPage = File('text/html', 'The refusal as a page, for a browser that accepts one')
const describesResource = {
  ...resource,
  summary: 'Describe the MCP server as a protected resource',
  tag: 'MCP',
  answers: {200: ProtectedResource},
  handle: ({config}: Pick<ApiDeps, 'config'>) => describeResource(config),
} as const

export default [
  route({...describesResource, path: '/.well-known/oauth-protected-resource', operationId: 'describeResource'}),
  route({...describesResource, path: '/.well-known/oauth-protected-resource/mcp', operationId: 'describeMcpResource'}),
  route({
    ...resource,
    path: '/.well-known/oauth-authorization-server',
    operationId: 'describeIssuer',
    tag: 'MCP',
    summary: 'Describe the authorisation server',
    answers: {200: Issuer},
    handle: ({config}) => describeIssuer(config),
  }),

  route({
    ...open,
    method: 'get',
    path: '/oauth/authorize',
    operationId: 'authoriseClient',
    tag: 'MCP',
    summary: 'Start the authorisation of an MCP client',
    description:
      'For browsers. Redirects to sign-in and then to the consent page. Parameters follow RFC 6749 with PKCE (RFC 7636) and `resource` (RFC 8707). Errors are shown on a page, never sent to an unregistered redirect URI.',
    answers: {
      302: Nothing('To the sign-in, or back to a client on this computer with an error'),
      400: refusedPage,
      503: refusedPage,
    },
    refusals: ['BUSY', 'RETURN_NOT_ALLOWED', 'NOT_CONFIGURED', 'UNAVAILABLE'],
    example: {
      query: {
        response_type: 'code',
        client_id: 'mcl_01k9m0v6f8e2r4t7w3y5z1a2b3',
        redirect_uri: 'http://127.0.0.1:33418/callback',
        code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
        code_challenge_method: 'S256',
        state: 'xyz',
      },
    },
    query: z.record(z.string(), z.union([z.string(), z.array(z.string())])),
    handle: ({db, config, outbound, log, query, request: {headers}}) =>
      answerPerson(headers, async () => {
        const {url, browser} = await authorise({db, config, outbound, log}, query, readBrowser(config, headers.cookie))
        const cookie = browser !== null && {'set-cookie': keepBrowser(config, browser)}
        return reply({status: 302, headers: {location: url, 'cache-control': 'no-store', ...cookie}})
      }),
  }),

  route({
    method: 'get',
    path: '/oauth/consent',
    operationId: 'showConsent',
    tag: 'MCP',
    access: {public: true},
    summary: 'Show the consent page for an MCP client',
    answers: {200: File('text/html', 'The client, the access it requests, and the orgs to choose from'), 400: refusedPage},
    refusals: ['SIGN_IN_EXPIRED', 'UNAVAILABLE'],
    query: z.object({request: z.string().max(2048).optional().describe('The signed request from the sign-in redirect')}),
    handle: ({db, config, query, request: {headers}}) =>
      answerPerson(headers, async () => {
        const visit = {request: query.request, browser: readBrowser(config, headers.cookie)}
        return consentPage(await readConsent({db, config}, visit), query.request!)
      }),
  }),

  route({
    ...form,
    path: '/oauth/consent',
    operationId: 'decideConsent',
    tag: 'MCP',
    summary: 'Allow or deny an MCP client',
    sends: {type: formType, what: 'The form of the consent page', schema: DecisionForm},
    answers: {
      303: Nothing('Back to the client, with a code or `access_denied`'),
      400: refusedPage,
      403: refusedPage,
      404: refusedPage,
    },
    refusals: ['SIGN_IN_EXPIRED', 'SIGN_IN_REFUSED', 'NOT_FOUND', 'BANNED', 'UNAVAILABLE'],
    handle: ({db, config, crm, log, body, request: {headers, signal}}) =>
      answerPerson(headers, async () => {
        const {request, org, decision} = readForm(headers, body)
        // Defence in depth: the SameSite cookie and the signed request already stop other sites from posting this form.
        if (headers.origin !== undefined && headers.origin !== new URL(issuerOf(config)).origin)
          throw new Refusal('SIGN_IN_REFUSED', 'The form was sent from another site. Start again from the client')
        const visit = {request, browser: readBrowser(config, headers.cookie)}
        const location = await decide({db, config, crm, log}, visit, {allow: decision === 'allow', org, signal})
        return reply({status: 303, headers: {location, 'cache-control': 'no-store'}})
      }),
  }),

  route({
    ...open,
    method: 'post',
    path: '/oauth/register',
    operationId: 'registerClient',
    tag: 'MCP',
    summary: 'Register an MCP client',
    description: 'Follows RFC 7591, for public clients (no secret). A client that receives no grant is deleted within a day.',
    sends: {type: 'application/json', what: 'The metadata of the client', schema: Registration},
    answers: {201: RegisteredClient, 400: OAuthError, 503: OAuthError},
    refusals: ['UNAVAILABLE'],
    example: {body: {client_name: 'Example Agent', redirect_uris: ['http://127.0.0.1:33418/callback']}},
    body: z.unknown(),
    mostBytes: formBytes,
    handle: ({db, body}) => answerClient(async () => ({status: 201, json: await registerClient(db, body)})),
  }),

  route({
    ...form,
    path: '/oauth/token',
    operationId: 'exchangeTokens',
    tag: 'MCP',
    summary: 'Exchange a code or a refresh token for tokens',
    sends: {type: formType, what: 'A form as defined by RFC 6749', schema: TokenForm},
    answers: {200: Tokens, 400: OAuthError},
    refusals: ['UNAVAILABLE'],
    handle: ({db, config, crm, log, body, request: {headers, signal}}) =>
      answerClient(async () => ({json: await giveTokens({db, config, crm, log}, readForm(headers, body), signal)})),
  }),

  route({
    ...form,
    path: '/oauth/revoke',
    operationId: 'revokeAccess',
    tag: 'MCP',
    summary: 'Revoke a token',
    description: 'Follows RFC 7009. Either token revokes the whole grant. An unknown token is answered as revoked.',
    sends: {type: formType, what: 'A form as defined by RFC 7009', schema: RevocationForm},
    answers: {200: Answer({}).describe('The grant is revoked'), 400: OAuthError},
    refusals: ['UNAVAILABLE'],
    handle: ({db, body, request: {headers}}) =>
      answerClient(async () => {
        await revokeToken(db, readForm(headers, body))
        return {json: {}}
      }),
  }),
]
