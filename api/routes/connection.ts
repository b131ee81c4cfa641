import {z} from 'zod'
import {oneLine} from '../../shared/name.ts'
import {connectionScopes} from '../../shared/people/identity-provider.ts'
import {beginSignIn} from '../../shared/people/sign-in.ts'
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
    access: {role: 'admin'},
    effect: 'access',
    summary: 'Begin to connect a CRM',
    description:
      'Open the answered address in the browser that asked: there the CRM asks for consent, and the callback tells the window that opened it the connection. Consenting again as the same CRM user connects the same connection once more.',
    answers: {200: ConsentUrl},
    refusals: ['RETURN_NOT_ALLOWED'],
    example: {body: {dc: 'eu', name: 'Example CRM'}, answer: {url: 'https://accounts.zoho.eu/oauth/v2/auth?client_id=1000.EXAMPLE'}},
    body: z.object({
      dc: z.string().default('us').describe('The data centre of the CRM account, such as `us`, `eu` or `in`'),
      name: oneLine(z.string().trim().min(1).max(100))
        .nullish()
        .describe('What to call the connection; the name of the CRM org when left out'),
      return: z
        .string()
        .optional()
        .describe('The origin of the page that opens the window, which is told the connection; its own when left out'),
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
    access: {role: 'admin'},
    summary: 'Check how the connections are',
    description:
      'Asks each connected CRM one small question, so it takes as long as the slowest of them. A connection in trouble is an answer.',
    answers: {200: Answer({connections: z.array(CheckedConnection).describe('Every connection, the oldest first')})},
    refusals: [],
    async handle({db, crm, caller, request}) {
      const connectors = await listConnectors(db, caller.org)
      const connections = connectors.map(async ({id, name, kind, dc, state, scopes, crmOrgId, crmUserId, crmUserName}) => ({
        ...{id, name, dc, state, scopes, crmOrgId, crmUser: {id: crmUserId, name: crmUserName}},
        missingScopes: kind !== 'zoho' ? [] : connectionScopes.filter(scope => !scopes.includes(scope)),
        ...(await readHealth(crm, {id, state}, request.signal)),
      }))
      return {connections: await Promise.all(connections)}
    },
  }),
]
