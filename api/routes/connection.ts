import {z} from 'zod'
import {connectionScopes} from '../../shared/accounts/identity-provider.ts'
import {beginSignIn} from '../../shared/accounts/sign-in.ts'
import {describeWarning} from '../../shared/crm/visibility.ts'
import {oneLine} from '../../shared/schema/name.ts'
import {listConnectors} from '../../sql/connectors.ts'
import {Answer, CrmSaid, RefusalSaid} from '../answers/common.ts'
import {Connection} from '../answers/connections.ts'
import {keepBrowser, readBrowser} from '../browser-cookie.ts'
import {readHealth} from '../connection-health.ts'
import {reply} from '../reply.ts'
import {route} from '../route.ts'

const ConnectionTrouble = z.union([
  RefusalSaid,
  Answer({error: z.string().describe('What happened, for people'), crm: CrmSaid.describe('What the CRM answered')}),
])

const {id, name, dc, state, scopes, warnings} = Connection.shape

const CheckedConnection = Answer({
  id,
  name,
  dc,
  state,
  scopes,
  crmOrgId: z.string().describe("The org's id at the CRM"),
  crmUser: Answer({
    id: z.string().describe('Their id at the CRM'),
    name: z.string().describe('Their name at the CRM. Empty for `generic`'),
  }).describe('The user who consented'),
  missingScopes: z
    .array(z.string())
    .describe('Required scopes that were not granted; connect again to grant them. Empty if none are missing'),
  warnings,
  health: z
    .enum(['ok', 'ended', 'disconnected', 'unavailable'])
    .describe('Result of a test call to the CRM. Equals `state` if no call was made'),
  activeUsers: z.int().nonnegative().nullable().describe('Active users of the CRM org. Null: not known'),
  problem: ConnectionTrouble.nullable().describe('Why it is `unavailable`. Null otherwise'),
}).meta({id: 'CheckedConnection'})

const ConsentUrl = Answer({
  url: z.url().describe('Open it in the browser that sent this request. Valid for ten minutes'),
})

export default [
  route({
    method: 'post',
    path: '/auth/orgs/:org/connect',
    operationId: 'beginConnection',
    tag: 'Connections',
    access: {role: 'admin'},
    effect: 'access',
    summary: 'Start connecting a CRM',
    description:
      'Open `url` in the browser that sent the request. The CRM asks for consent there, and the callback posts the connection to the window that opened it. Consent by the same CRM user renews the existing connection.',
    answers: {200: ConsentUrl},
    refusals: ['RETURN_NOT_ALLOWED', 'NOT_CONFIGURED'],
    example: {body: {dc: 'eu', name: 'Example CRM'}, answer: {url: 'https://accounts.zoho.eu/oauth/v2/auth?client_id=1000.EXAMPLE'}},
    body: z.object({
      dc: z.string().default('us').describe('The data centre of the CRM account, such as `us`, `eu` or `in`'),
      name: oneLine(z.string().trim().min(1).max(100)).nullish().describe('Name of the connection. Default: the name of the CRM org'),
      return: z
        .string()
        .optional()
        .describe('Origin of the page that opens the window and receives the connection. Default: the origin of this server'),
    }),
    async handle({db, config, caller: {org, person, token}, body, request}) {
      const browser = readBrowser(config, request.headers.cookie)
      const asked = {dc: body.dc, returnTo: body.return, browser, org, person, token, connectionName: body.name ?? null}
      const {url, browser: secret} = await beginSignIn({db, config}, {purpose: 'connect', ...asked})
      return reply({headers: {'set-cookie': keepBrowser(config, secret)}, json: {url}})
    },
  }),

  route({
    method: 'get',
    path: '/auth/orgs/:org/connection',
    operationId: 'checkConnections',
    tag: 'Connections',
    access: {role: 'admin'},
    summary: 'Check the health of the connections',
    description:
      'Makes one small call to each connected CRM, so it takes as long as the slowest. A broken connection is reported in the response, not as an error.',
    answers: {200: Answer({connections: z.array(CheckedConnection).describe('All connections, oldest first')})},
    refusals: [],
    async handle({db, crm, caller, request}) {
      const connectors = await listConnectors(db, caller.org)
      const connections = connectors.map(async ({id, name, kind, dc, state, scopes, warnings, crmOrgId, crmUserId, crmUserName}) => ({
        id,
        name,
        dc,
        state,
        scopes,
        crmOrgId,
        crmUser: {id: crmUserId, name: crmUserName},
        missingScopes: kind !== 'zoho' ? [] : connectionScopes.filter(scope => !scopes.includes(scope)),
        warnings: warnings.map(describeWarning),
        ...(await readHealth(crm, {id, state}, request.signal)),
      }))
      return {connections: await Promise.all(connections)}
    },
  }),
]
