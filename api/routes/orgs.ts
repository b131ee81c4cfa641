import {z} from 'zod'
import {tieToProduction} from '../../shared/people/production.ts'
import {findOrg} from '../../sql/orgs.ts'
import {route} from '../route.ts'

export default [
  route({
    method: 'get',
    path: '/orgs/:org',
    access: {role: 'operator'},
    handle: async ({db, caller}) => ({org: await findOrg(db, caller.org)}),
  }),

  route({
    method: 'put',
    path: '/orgs/:org/production',
    access: {role: 'owner'},
    body: z.object({orgId: z.string().nullable()}),
    async handle({db, caller, body: {orgId}}) {
      await tieToProduction(db, caller, orgId)
      return {org: await findOrg(db, caller.org)}
    },
  }),
]
