import {z} from 'zod'
import {readPage} from '../../shared/cursor.ts'
import {EmailAddress, normaliseAddress} from '../../shared/people/address.ts'
import {addStaff, listStaffMembers, removeStaff} from '../../shared/people/staff.ts'
import {listPeopleAt} from '../../sql/people.ts'
import {listNights} from '../../sql/retention.ts'
import {listStaffActions} from '../../sql/staff-actions.ts'
import {Answer, NextCursor} from '../answers/common.ts'
import {Night, PersonPlaced, StaffAction, StaffMember} from '../answers/staff.ts'
import {Cursor, limitOf} from '../paging.ts'
import {route} from '../route.ts'

const ofStaff = Answer({person: StaffMember})

export default [
  route({
    method: 'get',
    path: '/staff/people',
    access: {backoffice: true},
    summary: 'List who is staff',
    answers: {200: Answer({people: z.array(StaffMember).describe('People first, then addresses that wait for their first sign-in')})},
    refusals: [],
    handle: async ({db}) => ({people: await listStaffMembers(db)}),
  }),

  route({
    method: 'post',
    path: '/staff/people',
    access: {operator: true},
    summary: 'Make somebody staff',
    description: 'By address: whoever has it, or who signs in with it first. Where several people have it, `person` says which.',
    answers: {200: ofStaff},
    refusals: ['NOT_FOUND', 'PERSON_AMBIGUOUS'],
    example: {
      body: {email: 'cy@staff.example'},
      answer: {person: {id: 'stf_01k9m0v6f8e2r4t7w3y5z1a2b3', email: 'cy@staff.example', name: null, awaited: true}},
    },
    body: z.strictObject({
      email: EmailAddress.describe('Their address'),
      person: z.string().optional().describe('Which of several people of this address'),
    }),
    handle: async ({db, body}) => ({person: await addStaff(db, body)}),
  }),

  route({
    method: 'delete',
    path: '/staff/people/:id',
    access: {operator: true},
    summary: 'Make somebody staff no more',
    description: 'Their sessions open nothing of the backoffice from the next request on.',
    answers: {200: ofStaff},
    refusals: ['NOT_FOUND'],
    params: z.object({id: z.string().describe('The person (`per_`), or the address that waits (`stf_`)')}),
    handle: async ({db, params: {id}}) => ({person: await removeStaff(db, id)}),
  }),

  route({
    method: 'get',
    path: '/staff/people/search',
    access: {backoffice: true},
    summary: 'Find the people of an address',
    description: 'One mailbox may have an account in several data centres.',
    answers: {200: Answer({people: z.array(PersonPlaced).describe('Everybody of this address')})},
    refusals: [],
    example: {query: {email: 'ana@example.org'}},
    query: z.object({email: EmailAddress.describe('In full; A–Z count as a–z')}),
    handle: async ({db, query}) => ({people: await listPeopleAt(db, normaliseAddress(query.email))}),
  }),

  route({
    method: 'get',
    path: '/staff/retention',
    access: {backoffice: true},
    summary: 'Read what was deleted by age, night by night',
    answers: {200: Answer({nights: z.array(Night).describe('The newest first')})},
    refusals: [],
    query: z.object({limit: limitOf({usual: 14, most: 400})}),
    handle: async ({db, query: {limit}}) => ({nights: await listNights(db, {limit, mostFailures: 50})}),
  }),

  route({
    method: 'get',
    path: '/staff/actions',
    access: {backoffice: true},
    summary: 'Read the record of what staff did',
    answers: {200: Answer({actions: z.array(StaffAction).describe('The newest first'), nextCursor: NextCursor})},
    refusals: ['INVALID_CURSOR'],
    example: {query: {org: 'org_01k9m0v6f8e2r4t7w3y5z1a2b3', limit: '50'}},
    query: z.object({
      org: z.string().optional().describe('Of this org alone'),
      limit: limitOf({usual: 50, most: 500}),
      cursor: Cursor,
    }),
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
