import {z} from 'zod'
import {connectionScopes} from '../../shared/people/identity-provider.ts'
import {beginSignIn} from '../../shared/people/sign-in.ts'
import {listConnectors} from '../../sql/connectors.ts'
import {keepBrowser, readBrowser} from '../browser.ts'
import {readHealth} from '../connection-health.ts'
import {reply} from '../reply.ts'
import {route} from '../route.ts'

export default [
  route({
    method: 'post',
    path: '/auth/orgs/:org/connect',
    access: {role: 'admin'},
    body: z.object({dc: z.string().default('us'), name: z.string().trim().min(1).max(100).nullish(), return: z.string().optional()}),
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
