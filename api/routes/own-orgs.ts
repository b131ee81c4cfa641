import {z} from 'zod'
import {switchOrg} from '../../shared/accounts/switch-org.ts'
import {listReachable} from '../../sql/sessions.ts'
import {Answer, Id, RoleName} from '../answers/common.ts'
import {route} from '../route.ts'

const ReachableOrg = Answer({
  id: Id('org', 'The org'),
  name: z.string().describe("The org's name"),
  role: RoleName,
  isCurrent: z.boolean().describe('Whether the session works in it'),
}).meta({id: 'ReachableOrg'})

export default [
  route({
    method: 'get',
    path: '/auth/orgs',
    operationId: 'listOwnOrgs',
    tag: 'Sign-in',
    access: {role: 'operator', sessionOnly: 'person', noOrg: true, closedOrg: true},
    summary: 'List the orgs of your session',
    description:
      'The org of the session, orgs that invited you, and the org to which your CRM admitted you at this sign-in. Closed orgs are left out.',
    answers: {200: Answer({orgs: z.array(ReachableOrg).describe('By name')})},
    refusals: [],
    handle: async ({db, caller: {person, session}}) => ({orgs: await listReachable(db, {person, session: session!})}),
  }),

  route({
    method: 'put',
    path: '/auth/session/org',
    operationId: 'switchOrg',
    tag: 'Sign-in',
    access: {role: 'operator', sessionOnly: 'person', noOrg: true, closedOrg: true},
    summary: 'Switch the session to another org',
    description: 'The token and the cookie stay the same, and from now on work in that org with your role there.',
    answers: {200: Answer({role: RoleName})},
    refusals: ['NOT_FOUND'],
    example: {body: {org: 'org_01k9m0v6f8e2r4t7w3y5z1a2b3'}, answer: {role: 'builder'}},
    body: z.object({org: z.string().describe('One of `GET /auth/orgs`')}),
    async handle({db, crm, log, caller: {person, session}, body: {org}, request: {signal}}) {
      return {role: await switchOrg({db, crm, log}, {person, session: session!, org, signal})}
    },
  }),
]
