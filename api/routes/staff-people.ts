import {z} from 'zod'
import {setPersonBanned} from '../../shared/people/ban.ts'
import {erasePerson} from '../../shared/people/erasure.ts'
import {Reason} from '../../shared/people/staff-action.ts'
import {route} from '../route.ts'

const params = z.object({id: z.string()})

export default [
  route({
    method: 'post',
    path: '/staff/people/:id/ban',
    access: {backoffice: true},
    params,
    body: z.strictObject({reason: Reason}),
    async handle({db, caller: {staff}, params: {id: person}, body: {reason}}) {
      return {person: await setPersonBanned(db, staff, {person, banned: true, reason})}
    },
  }),

  route({
    method: 'post',
    path: '/staff/people/:id/unban',
    access: {backoffice: true},
    params,
    body: z.strictObject({reason: Reason.optional()}),
    async handle({db, caller: {staff}, params: {id: person}, body: {reason}}) {
      return {person: await setPersonBanned(db, staff, {person, banned: false, reason})}
    },
  }),

  route({
    method: 'post',
    path: '/staff/people/:id/delete',
    access: {operator: true},
    params,
    body: z.strictObject({force: z.boolean().default(false), reason: Reason.optional()}),
    handle: async ({db, params: {id}, body}) => ({deleted: true, heirs: await erasePerson(db, id, body)}),
  }),
]
