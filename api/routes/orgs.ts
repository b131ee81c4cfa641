import {z} from 'zod'
import {linkToProduction} from '../../shared/accounts/production.ts'
import {findOrg} from '../../sql/orgs.ts'
import {Answer, Id, Moment} from '../answers/common.ts'
import {route} from '../route.ts'

const Org = Answer({
  id: Id('org', 'The org'),
  name: z.string().describe('Its name at the CRM'),
  followsCrmRoles: z.boolean().describe("Whether members' roles follow their roles in the CRM"),
  sandbox: z.boolean().describe('Whether it belongs to a CRM sandbox'),
  productionOrgId: Id('org', 'The production org').nullable().describe('The production org whose plan the sandbox uses. Null: none'),
  closedAt: Moment('When staff closed it').nullable().describe('When staff closed it. Null: it is open'),
  createdAt: Moment('When its first member signed in'),
}).meta({id: 'Org'})

const ofOrg = Answer({org: Org})

export default [
  route({
    method: 'get',
    path: '/orgs/:org',
    operationId: 'readOrg',
    tag: 'Orgs',
    access: {role: 'operator'},
    summary: 'Read the org',
    answers: {200: ofOrg},
    refusals: [],
    example: {
      answer: {
        org: {
          id: 'org_01k9m0v6f8e2r4t7w3y5z1a2b3',
          name: 'Example Ltd',
          followsCrmRoles: true,
          sandbox: false,
          productionOrgId: null,
          closedAt: null,
          createdAt: '2026-03-01T08:30:00.000Z',
        },
      },
    },
    handle: async ({db, caller}) => ({org: await findOrg(db, caller.org)}),
  }),

  route({
    method: 'put',
    path: '/orgs/:org/production',
    operationId: 'setProduction',
    tag: 'Orgs',
    access: {role: 'owner'},
    summary: 'Link a sandbox to its production org',
    description:
      'The production org pays for the sandbox. You must be the owner of the sandbox and an admin of the production org, and `GET /auth/orgs` must list it.',
    answers: {200: ofOrg},
    refusals: ['NOT_A_SANDBOX', 'NOT_FOUND', 'NOT_PRODUCTION', {code: 'ORG_CLOSED', status: 409}],
    example: {body: {orgId: 'org_01k9m0v6f8e2r4t7w3y5z1a2b3'}},
    body: z.object({orgId: z.string().nullable().describe('The production org. Null removes the link')}),
    async handle({db, crm, log, caller, body: {orgId: production}, request: {signal}}) {
      await linkToProduction({db, crm, log}, {...caller, session: caller.session!}, {production, signal})
      return {org: await findOrg(db, caller.org)}
    },
  }),
]
