import {z} from 'zod'
import {readPage} from '../../shared/cursor.ts'
import {EmailAddress, normaliseAddress} from '../../shared/people/address.ts'
import {addStaff, listStaffMembers, removeStaff} from '../../shared/people/staff.ts'
import {listPeopleAt} from '../../sql/people.ts'
import {listNights} from '../../sql/retention.ts'
import {listStaffActions} from '../../sql/staff-actions.ts'
import {limitOf} from '../page.ts'
import {route} from '../route.ts'

export default [
  route({
    method: 'get',
    path: '/staff/people',
    access: {backoffice: true},
    handle: async ({db}) => ({people: await listStaffMembers(db)}),
  }),

  route({
    method: 'post',
    path: '/staff/people',
    access: {operator: true},
    body: z.strictObject({email: EmailAddress, person: z.string().optional()}),
    handle: async ({db, body}) => ({person: await addStaff(db, body)}),
  }),

  route({
    method: 'delete',
    path: '/staff/people/:id',
    access: {operator: true},
    params: z.object({id: z.string()}),
    handle: async ({db, params: {id}}) => ({person: await removeStaff(db, id)}),
  }),

  route({
    method: 'get',
    path: '/staff/people/search',
    access: {backoffice: true},
    query: z.object({email: EmailAddress}),
    handle: async ({db, query}) => ({people: await listPeopleAt(db, normaliseAddress(query.email))}),
  }),

  route({
    method: 'get',
    path: '/staff/retention',
    access: {backoffice: true},
    query: z.object({limit: limitOf({usual: 14, most: 400})}),
    handle: async ({db, query: {limit}}) => ({nights: await listNights(db, {limit, mostFailures: 50})}),
  }),

  route({
    method: 'get',
    path: '/staff/actions',
    access: {backoffice: true},
    query: z.object({org: z.string().optional(), limit: limitOf({usual: 50, most: 500}), cursor: z.string().optional()}),
    async handle({db, config, query: {org = null, ...asked}}) {
      const {page, nextCursor} = await readPage(config.SECRETS_KEYS, `staff actions ${org ?? ''}`, asked, {
        as: String,
        read: ({place: before, limit}) => listStaffActions(db, {org, before, limit}),
        placeOf: ({id}) => id,
      })
      return {actions: page, nextCursor}
    },
  }),
]
