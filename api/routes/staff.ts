import {z} from 'zod'
import {readCursor, writeCursor} from '../../shared/cursor.ts'
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
    async handle({db, config, query: {org = null, limit, cursor}}) {
      const list = `staff actions ${org ?? ''}`
      const before = readCursor(config.SECRETS_KEYS, list, cursor)
      const page = await listStaffActions(db, {org, before: before === null ? null : String(before), limit: limit + 1})
      const last = page.length > limit ? page[limit - 1] : undefined
      return {actions: page.slice(0, limit), nextCursor: last ? writeCursor(config.SECRETS_KEYS, list, last.id) : null}
    },
  }),
]
