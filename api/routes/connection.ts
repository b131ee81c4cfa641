import {z} from 'zod'
import {connectionScopes} from '../../shared/accounts/identity-provider.ts'
import {beginSignIn} from '../../shared/accounts/sign-in.ts'
import {describeWarning} from '../../shared/crm/visibility.ts'
import {oneLine} from '../../shared/schema/name.ts'
import {listConnectors} from '../../sql/connectors.ts'
import {Answer} from '../answers/common.ts'
import {CheckedConnection, ConsentUrl} from '../answers/connections.ts'
import {keepBrowser, readBrowser} from '../browser-cookie.ts'
import {readHealth} from '../connection-health.ts'
import {reply} from '../reply.ts'
import {route} from '../route.ts'

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
    async handle({db, config, caller: {org, person}, body, request}) {
      const browser = readBrowser(config, request.headers.cookie)
      const asked = {dc: body.dc, returnTo: body.return, browser, org, person, connectionName: body.name ?? null}
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
