import {z} from 'zod'
import {Refusal} from '../../shared/errors.ts'
import {authorise} from '../../shared/oauth/authorise.ts'
import {registerClient} from '../../shared/oauth/client.ts'
import {decide, readConsent} from '../../shared/oauth/consent.ts'
import {describeIssuer, describeResource, issuerOf} from '../../shared/oauth/metadata.ts'
import {giveTokens, revokeToken} from '../../shared/oauth/tokens.ts'
import {Answer, File, Nothing} from '../answers/common.ts'
import {
  DecisionForm,
  Issuer,
  OAuthError,
  ProtectedResource,
  RegisteredClient,
  Registration,
  RevocationForm,
  TokenForm,
  Tokens,
} from '../answers/oauth.ts'
import {keepBrowser, readBrowser} from '../browser-cookie.ts'
import {consentPage} from '../consent-page.ts'
import {formBytes, readForm} from '../form.ts'
import {answerClient, answerPerson} from '../oauth-answer.ts'
import {reply} from '../reply.ts'
import {route} from '../route.ts'

const open = {access: {public: true}, effect: 'write'} as const
const form = {...open, method: 'post', body: 'bytes', mostBytes: formBytes} as const
const resource = {method: 'get', access: {public: true}, refusals: []} as const
const formType = 'application/x-www-form-urlencoded'
const refusedPage = File('text/html', 'The refusal as a page, for a browser that accepts one')
const describesResource = {
  ...resource,
  summary: 'Describe what tokens of the MCP server are for',
  answers: {200: ProtectedResource},
} as const

export default [
  route({...describesResource, path: '/.well-known/oauth-protected-resource', handle: ({config}) => describeResource(config)}),
  route({...describesResource, path: '/.well-known/oauth-protected-resource/mcp', handle: ({config}) => describeResource(config)}),
  route({
    ...resource,
    path: '/.well-known/oauth-authorization-server',
    summary: 'Describe who lets MCP clients in',
    answers: {200: Issuer},
    handle: ({config}) => describeIssuer(config),
  }),

  route({
    ...open,
    method: 'get',
    path: '/oauth/authorize',
    summary: 'Begin to let an MCP client in',
    description:
      'For a browser. It is sent to sign in, and then asked. Parameters are those of RFC 6749 with PKCE (RFC 7636) and `resource` (RFC 8707). What is wrong is told to the person, never to an address nobody registered.',
    answers: {
      302: Nothing('To the sign-in; or back to a program on this computer with what is wrong'),
      400: refusedPage,
      503: refusedPage,
    },
    refusals: ['BUSY', 'RETURN_NOT_ALLOWED', 'UNAVAILABLE'],
    example: {
      query: {
        ...{response_type: 'code', client_id: 'mcl_01k9m0v6f8e2r4t7w3y5z1a2b3', redirect_uri: 'http://127.0.0.1:33418/callback'},
        ...{code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM', code_challenge_method: 'S256', state: 'xyz'},
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
    access: {public: true},
    summary: 'Show the page on which a person lets an MCP client in',
    answers: {200: File('text/html', 'Who asks, what for, and the orgs it can be let into'), 400: refusedPage},
    refusals: ['SIGN_IN_EXPIRED', 'UNAVAILABLE'],
    query: z.object({request: z.string().max(2048).optional().describe('As the sign-in sent the browser here with')}),
    handle: ({db, config, query, request: {headers}}) =>
      answerPerson(headers, async () => {
        const visit = {request: query.request, browser: readBrowser(config, headers.cookie)}
        return consentPage(await readConsent({db, config}, visit), query.request!)
      }),
  }),

  route({
    ...form,
    path: '/oauth/consent',
    summary: 'Decide whether an MCP client is let in',
    sends: {type: formType, what: 'The form of the page', schema: DecisionForm},
    answers: {
      303: Nothing('Back to the client, with a code or with `access_denied`'),
      400: refusedPage,
      403: refusedPage,
      404: refusedPage,
    },
    refusals: ['SIGN_IN_EXPIRED', 'SIGN_IN_REFUSED', 'NOT_FOUND', 'BANNED', 'UNAVAILABLE'],
    handle: ({db, config, body, request: {headers}}) =>
      answerPerson(headers, async () => {
        const {request, org, decision} = readForm(headers, body)
        // The cookie is not sent from elsewhere, and what it belongs to is not known there: this is the third lock, and tells of a mistake.
        if (headers.origin !== undefined && headers.origin !== new URL(issuerOf(config)).origin)
          throw new Refusal('SIGN_IN_REFUSED', 'This was sent from another page than ours')
        const visit = {request, browser: readBrowser(config, headers.cookie)}
        const location = await decide({db, config}, visit, {allow: decision === 'allow', org})
        return reply({status: 303, headers: {location, 'cache-control': 'no-store'}})
      }),
  }),

  route({
    ...open,
    method: 'post',
    path: '/oauth/register',
    summary: 'Register an MCP client',
    description: 'As RFC 7591 has it, for clients without a secret. One that nobody lets in goes by itself within a day.',
    sends: {type: 'application/json', what: 'What the client says of itself', schema: Registration},
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
    summary: 'Exchange a code or a refresh token for tokens',
    sends: {type: formType, what: 'A form as RFC 6749 has it', schema: TokenForm},
    answers: {200: Tokens, 400: OAuthError},
    refusals: ['UNAVAILABLE'],
    handle: ({db, config, crm, log, body, request: {headers, signal}}) =>
      answerClient(async () => ({json: await giveTokens({db, config, crm, log}, readForm(headers, body), signal)})),
  }),

  route({
    ...form,
    path: '/oauth/revoke',
    summary: 'Give an access back',
    description: 'As RFC 7009 has it: either token ends all of the grant, and one that nobody knows is as good as revoked.',
    sends: {type: formType, what: 'A form as RFC 7009 has it', schema: RevocationForm},
    answers: {200: Answer({}).describe('It is over'), 400: OAuthError},
    refusals: ['UNAVAILABLE'],
    handle: ({db, body, request: {headers}}) =>
      answerClient(async () => {
        await revokeToken(db, readForm(headers, body))
        return {json: {}}
      }),
  }),
]
