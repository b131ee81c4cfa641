import {z} from 'zod'
import {endOtherSignIns, refreshSession, signOut} from '../../shared/accounts/session.ts'
import {beginSignIn, completeSignIn} from '../../shared/accounts/sign-in.ts'
import {findDateFormat} from '../../shared/configuration/store.ts'
import {Refusal} from '../../shared/errors.ts'
import {listSignIns} from '../../sql/sessions.ts'
import {Answer, Count, File, Id, Moment, Nothing, RoleName} from '../answers/common.ts'
import {email, name, PlaceNamed} from '../answers/people.ts'
import {keepBrowser, readBrowser} from '../browser-cookie.ts'
import {deviceOf} from '../device.ts'
import {consentUrl} from '../oauth/authorise.ts'
import {reply} from '../reply.ts'
import {route} from '../route.ts'
import {forgetSession, keepSession, readSessionCookie, usesCookie} from '../session-cookie.ts'
import {outcomePage, refusalPage} from '../sign-in-page.ts'

const OwnOrg = PlaceNamed.extend({dateFormat: z.string().meta({description: 'The date format of its settings', examples: ['dd.MM.yyyy']})})

const Me = Answer({
  org: OwnOrg.nullable().describe('The org of the session or token. Null: a session without an org'),
  user: Answer({id: Id('per', 'The person'), email, name}).describe('The person'),
  role: RoleName.nullable().describe('The role in force; `admin` for an API token. Null for a session without an org'),
  via: z.enum(['session', 'token', 'oauth']).describe('A session, an API token, or the token of an MCP client'),
  staff: z.boolean().describe('Whether the session may use the backoffice'),
  staffView: Answer({write: z.boolean().describe('Whether the view allows writing')})
    .nullable()
    .describe('Set in a staff view of an org. Null otherwise'),
}).meta({id: 'Me'})

const SessionToken = Answer({
  token: z.string().describe('The bearer token of the new session, valid for eight hours. The old session stays valid until it expires'),
})

const SignIn = Answer({
  id: Id('ses', 'The sign-in'),
  isCurrent: z.boolean().describe('Whether this request belongs to it'),
  device: z.string().nullable().describe('The `User-Agent` of its newest session. Null: none was sent'),
  address: z.string().nullable().describe('The IP address of its newest session. Null: not known'),
  org: PlaceNamed.nullable().describe('The org of its newest session. Null: none'),
  staffView: z.boolean().describe('Whether it is a staff view of the org'),
  signedInAt: Moment('When the person signed in'),
  refreshedAt: Moment('When its newest session was created'),
  expiresAt: Moment('When its newest session expires, unless refreshed before'),
}).meta({id: 'SignIn'})

const text = (what: string, most = 4096) => z.string().max(most).optional().describe(what)

const refusedPage = File('text/html', 'The refusal as a page, for a browser that accepts one')

export default [
  route({
    method: 'get',
    path: '/auth/zoho/start',
    operationId: 'beginSignIn',
    tag: 'Sign-in',
    access: {public: true},
    effect: 'write',
    summary: 'Start a sign-in with a CRM account',
    description:
      'For browsers, in a separate window. Redirects to the CRM, which returns to the callback. The callback posts a session to the window that opened it.',
    answers: {302: Nothing("To the CRM's sign-in, with a cookie for the callback")},
    refusals: ['RETURN_NOT_ALLOWED', 'NOT_CONFIGURED', 'UNAVAILABLE'],
    example: {query: {dc: 'eu', return: 'https://app.example.org'}},
    query: z.object({
      dc: z.string().default('us').describe('The data centre of the CRM account, such as `us`, `eu` or `in`'),
      return: text('Origin of the page that opened this window and receives the session. Default: the origin of this server'),
      session: z
        .enum(['message', 'cookie'])
        .default('message')
        .describe(
          '`message`: the page receives the token. `cookie`: a cookie for pages of this server keeps the session, and no page receives the token',
        ),
      connect: z
        .enum(['true', 'false'])
        .default('false')
        .describe(
          'Whether to ask for the scopes of a connection too. If an admin consents and the org has no connection, this makes the first one',
        ),
    }),
    async handle({db, config, query, request}) {
      const browser = readBrowser(config, request.headers.cookie)
      const wanted = {keepsCookie: query.session === 'cookie', connects: query.connect === 'true'}
      const begun = await beginSignIn({db, config}, {purpose: 'session', dc: query.dc, returnTo: query.return, browser, ...wanted})
      const headers = {location: begun.url, 'set-cookie': keepBrowser(config, begun.browser), 'cache-control': 'no-store'}
      return reply({status: 302, headers})
    },
  }),

  route({
    method: 'get',
    path: '/auth/zoho/callback',
    operationId: 'endSignIn',
    tag: 'Sign-in',
    access: {public: true},
    effect: 'write',
    summary: 'Complete a sign-in or a CRM consent',
    description:
      'The CRM redirects the browser here. The page posts `{type: "lading:session", token}`, `{type: "lading:signed-in", missingScopes}` or `{type: "lading:connected", connectorId}` to the window that opened it, only to the origin that started the sign-in. Refusals are HTML pages if the browser accepts HTML.',
    answers: {
      200: File('text/html', 'A page that posts the outcome and closes itself. With a cookie if the sign-in asked for one'),
      302: Nothing('To the consent page of an MCP client'),
      400: refusedPage,
      403: refusedPage,
      502: refusedPage,
    },
    refusals: ['SIGN_IN_EXPIRED', 'SIGN_IN_REFUSED', 'SIGN_IN_UNAVAILABLE', 'BANNED', 'ROLE_REQUIRED', 'ORG_CLOSED', 'UNAVAILABLE'],
    query: z.object({
      // The state contains the request of an MCP client, with its redirect address and its own state.
      state: text('The state sent to the CRM', 8192),
      code: text('The authorisation code'),
      error: text('The error, if there is no code'),
      'accounts-server': text('The sign-in host of the account'),
    }),
    async handle({db, config, crm, queue, log, query: {'accounts-server': accountsServer, ...query}, request}) {
      const browser = readBrowser(config, request.headers.cookie)
      try {
        const former = readSessionCookie(config, request.headers)
        const returned = {...query, accountsServer, browser, former, device: deviceOf(request), signal: request.signal}
        const outcome = await completeSignIn({db, config, crm, queue, log}, returned)
        if (!('request' in outcome)) return outcomePage(config, outcome)
        return reply({status: 302, headers: {location: await consentUrl(config, outcome.request), 'cache-control': 'no-store'}})
      } catch (error) {
        // Programs get the error envelope; a browser shows the person a page.
        if (!(error instanceof Refusal) || !request.headers.accept?.includes('text/html')) throw error
        log.info({code: error.code, ...(error.cause !== undefined && {err: error.cause})}, 'sign-in refused')
        return refusalPage(error)
      }
    },
  }),

  route({
    method: 'post',
    path: '/auth/session/refresh',
    operationId: 'refreshSession',
    tag: 'Sign-in',
    access: {role: 'operator', sessionOnly: 'person', noOrg: true, closedOrg: true},
    summary: 'Get a new session for the same person and org',
    description:
      'Where the org follows the roles of the CRM, this reads the CRM user: a role that is not set by hand follows the profile there, and a user who is not active loses access to the org. The new session belongs to the same sign-in, which ends after 30 days. If the cookie authenticated the request, the new session is in the cookie only.',
    answers: {200: SessionToken, 204: Nothing('The cookie holds the new session')},
    refusals: ['LAST_OWNER'],
    example: {answer: {token: 'eyJhbGciOiJIUzI1NiJ9.eyJzZXMiOiJzZXNfMDFrOSJ9.c2lnbmF0dXJl'}},
    async handle({db, config, crm, log, caller: {person, org, session}, request}) {
      const from = {person, org, session: session!, device: deviceOf(request), signal: request.signal}
      const token = await refreshSession({db, config, crm, log}, from)
      return usesCookie(request) ? reply({status: 204, headers: {'set-cookie': keepSession(config, token)}}) : {token}
    },
  }),

  route({
    method: 'delete',
    path: '/auth/session',
    operationId: 'endSession',
    tag: 'Sign-in',
    access: {role: 'operator', sessionOnly: 'person', noOrg: true, closedOrg: true},
    summary: 'Sign out: end the sign-in',
    description:
      'Ends this session and every session of the same sign-in: those it was refreshed from and those refreshed from it. Event streams of those sessions end within 30 seconds. Other sign-ins of the person continue.',
    answers: {204: Nothing('The sign-in has ended, and its cookie is removed')},
    refusals: [],
    status: 204,
    async handle({db, config, caller: {person, session}, request}) {
      await signOut(db, {person, session: session!})
      return reply(usesCookie(request) ? {headers: {'set-cookie': forgetSession(config)}} : {})
    },
  }),

  route({
    method: 'get',
    path: '/auth/sessions',
    operationId: 'listSignIns',
    tag: 'Sign-in',
    access: {role: 'operator', sessionOnly: 'person', noOrg: true, closedOrg: true},
    summary: 'List your sign-ins',
    answers: {200: Answer({sessions: z.array(SignIn).describe('One entry per active sign-in, newest first')})},
    refusals: [],
    handle: async ({db, caller: {person, session}}) => ({sessions: await listSignIns(db, {person, session: session!})}),
  }),

  route({
    method: 'delete',
    path: '/auth/sessions',
    operationId: 'endOtherSignIns',
    tag: 'Sign-in',
    access: {role: 'operator', sessionOnly: 'person', noOrg: true, closedOrg: true},
    summary: 'End all your other sign-ins',
    description: 'On every device, in every org. This sign-in continues; API tokens and MCP clients are not affected.',
    answers: {200: Answer({ended: Count('How many sign-ins ended')})},
    refusals: [],
    example: {answer: {ended: 2}},
    handle: async ({db, caller: {person, session}}) => ({ended: await endOtherSignIns(db, {person, session: session!})}),
  }),

  route({
    method: 'get',
    path: '/auth/me',
    operationId: 'readMe',
    tag: 'Sign-in',
    access: {role: 'operator', noOrg: true, closedOrg: true, oauth: true},
    summary: 'Read the current user and org',
    answers: {200: Me},
    refusals: [],
    example: {
      answer: {
        org: {id: 'org_01k9m0v6f8e2r4t7w3y5z1a2b3', name: 'Example Ltd', dateFormat: 'dd.MM.yyyy'},
        user: {id: 'per_01k9m0v6f8e2r4t7w3y5z1a2b4', email: 'ana@example.org', name: 'Ana Example'},
        role: 'admin',
        via: 'token',
        staff: false,
        staffView: null,
      },
    },
    handle: async ({db, caller: {org, orgName, person, email, name, role, via, staff, staffView}}) => ({
      org: org === null ? null : {id: org, name: orgName, dateFormat: await findDateFormat(db, org)},
      user: {id: person, email, name},
      role,
      via,
      staff,
      staffView,
    }),
  }),
]
