import {z} from 'zod'
import {EmailAddress, normaliseAddress} from '../../shared/accounts/address.ts'
import {addStaff, listStaffMembers, removeStaff} from '../../shared/accounts/staff.ts'
import {readPage} from '../../shared/security/cursor.ts'
import {listPeopleAt} from '../../sql/people.ts'
import {listNights} from '../../sql/retention.ts'
import {listStaffActions} from '../../sql/staff-actions.ts'
import {Answer, ByName, Count, Id, Json, Moment, NextCursor, RoleName} from '../answers/common.ts'
import {Account, Person} from '../answers/staff.ts'
import {Cursor, limitOf} from '../paging.ts'
import {route} from '../route.ts'

const StaffMember = Answer({
  id: z.string().describe('The person (`per_`), or an account awaiting its first sign-in (`stf_`)'),
  account: Account.nullable().describe('The account. Null: an entry of an older version that has only an address and no effect'),
  email: z.string().nullable().describe('Their address, as of the last sign-in. Null: never signed in'),
  name: z.string().nullable().describe('Their name. Null: never signed in'),
  awaited: z.boolean().describe('Whether the account awaits its first sign-in'),
}).meta({id: 'StaffMember'})

const PersonPlaced = Person.extend({
  orgs: z
    .array(Answer({id: Id('org', 'The org'), name: z.string().describe("The org's name"), role: RoleName}))
    .describe('Orgs they are members of'),
}).meta({id: 'PersonPlaced'})

const StaffAction = Answer({
  id: Id('act', 'The action'),
  kind: z.string().meta({description: 'What was done', examples: ['org.credits']}),
  staff: Answer({
    id: Id('per', 'The person'),
    name: z.string().describe('Their name at that time'),
    email: z.string().describe('Their address at that time'),
  })
    .nullable()
    .describe('The staff member. Null: the operator'),
  org: Id('org', 'The org').nullable().describe('The org concerned. Null: none'),
  person: Id('per', 'The person').nullable().describe('The person concerned. Null: none'),
  reason: z.string().nullable().describe('The reason given. Null: none'),
  detail: ByName(Json('Depends on the kind'), 'Details, depending on the kind'),
  createdAt: Moment('When it was done'),
}).meta({id: 'StaffAction'})

const Night = Answer({
  day: z.iso.date().describe('The day it began, in UTC'),
  startedAt: Moment('When it began'),
  endedAt: Moment('When it ended').nullable().describe('When it ended. Null: in progress, or its worker died'),
  tries: Count('How often it was started'),
  counts: ByName(Count('Rows deleted'), 'Rows deleted, by kind'),
  failures: Count('Steps that failed'),
  failed: z
    .array(
      Answer({
        org: Id('org', 'The org').nullable().describe('The org. Null: none, or erased since'),
        step: z.string().describe('The failed step'),
        message: z.string().describe('The error, for the operator'),
        at: z.string().describe('Time of the failure, in ISO 8601'),
      }),
    )
    .describe('The first 50 failures'),
}).meta({id: 'RetentionNight'})

const ofStaff = Answer({person: StaffMember})

export default [
  route({
    method: 'get',
    path: '/staff/people',
    operationId: 'listStaff',
    tag: 'Staff',
    access: {backoffice: true},
    summary: 'List staff members',
    answers: {200: Answer({people: z.array(StaffMember).describe('People first, then accounts awaiting their first sign-in')})},
    refusals: [],
    handle: async ({db}) => ({people: await listStaffMembers(db)}),
  }),

  route({
    method: 'post',
    path: '/staff/people',
    operationId: 'addStaff',
    tag: 'Staff',
    access: {operator: true},
    summary: 'Add a staff member',
    description:
      'Names the person by `person`, or by the `account` they sign in with, which need not have signed in yet. An e-mail address alone is refused, and the answer lists the people who have it. Have them sign in once, then find them with `GET /staff/people/search` and compare the data centre and account id.',
    answers: {200: ofStaff},
    refusals: ['NOT_FOUND', 'PERSON_AMBIGUOUS'],
    example: {
      body: {account: {dc: 'eu', id: '20060012345'}},
      answer: {
        person: {id: 'stf_01k9m0v6f8e2r4t7w3y5z1a2b3', account: {dc: 'eu', id: '20060012345'}, email: null, name: null, awaited: true},
      },
    },
    body: z.strictObject({
      person: z.string().optional().describe('The person (`per_`)'),
      account: z
        .strictObject({
          dc: z.string().describe('The data centre of the CRM account'),
          id: z
            .string()
            .regex(/^\d{1,20}$/, 'An account id has 1 to 20 digits')
            .describe('The id of the account there (ZUID)'),
        })
        .optional()
        .describe('The account they sign in with'),
      email: EmailAddress.optional().describe('With `person`: the address that the person must have'),
    }),
    handle: async ({db, config, body}) => ({person: await addStaff({db, config}, body)}),
  }),

  route({
    method: 'delete',
    path: '/staff/people/:id',
    operationId: 'removeStaff',
    tag: 'Staff',
    access: {operator: true},
    summary: 'Remove a staff member',
    description: 'Their sessions lose access to the backoffice from the next request on.',
    answers: {200: ofStaff},
    refusals: ['NOT_FOUND'],
    params: z.object({id: z.string().describe('The person (`per_`), or the account awaiting its first sign-in (`stf_`)')}),
    handle: async ({db, params: {id}}) => ({person: await removeStaff(db, id)}),
  }),

  route({
    method: 'get',
    path: '/staff/people/search',
    operationId: 'searchPeople',
    tag: 'Staff',
    access: {backoffice: true},
    summary: 'Find people by e-mail address',
    description: 'One mailbox may have an account in several data centres.',
    answers: {200: Answer({people: z.array(PersonPlaced).describe('All people with this address')})},
    refusals: [],
    example: {query: {email: 'ana@example.org'}},
    query: z.object({email: EmailAddress.describe('The full address. Case of A–Z is ignored')}),
    handle: async ({db, query}) => ({people: await listPeopleAt(db, normaliseAddress(query.email))}),
  }),

  route({
    method: 'get',
    path: '/staff/retention',
    operationId: 'readRetention',
    tag: 'Staff',
    access: {backoffice: true},
    summary: 'Read what retention deleted each night',
    answers: {200: Answer({nights: z.array(Night).describe('Newest first')})},
    refusals: [],
    query: z.object({limit: limitOf({usual: 14, most: 400})}),
    handle: async ({db, query: {limit}}) => ({nights: await listNights(db, {limit, mostFailures: 50})}),
  }),

  route({
    method: 'get',
    path: '/staff/actions',
    operationId: 'listStaffActions',
    tag: 'Staff',
    access: {backoffice: true},
    summary: 'Read the log of staff actions',
    answers: {200: Answer({actions: z.array(StaffAction).describe('Newest first'), nextCursor: NextCursor})},
    refusals: ['INVALID_CURSOR'],
    example: {query: {org: 'org_01k9m0v6f8e2r4t7w3y5z1a2b3', limit: '50'}},
    query: z.object({
      org: z.string().optional().describe('Only actions on this org'),
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
