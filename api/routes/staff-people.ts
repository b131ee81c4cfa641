import {z} from 'zod'
import {setPersonBanned} from '../../shared/accounts/ban.ts'
import {erasePerson} from '../../shared/accounts/erasure.ts'
import {Reason} from '../../shared/accounts/staff-action.ts'
import {Answer, Id} from '../answers/common.ts'
import {Person} from '../answers/staff.ts'
import {route} from '../route.ts'

const Erased = Answer({
  deleted: z.literal(true).describe('The person is erased'),
  heirs: z
    .array(Answer({org: Id('org', 'The org'), person: Id('per', 'The new owner')}))
    .describe('Orgs whose only owner they were, with the new owner. Empty without `force`'),
})

const params = z.object({id: z.string().describe('The person (`per_`)')})

const ofPerson = Answer({person: Person})

export default [
  route({
    method: 'post',
    path: '/staff/people/:id/ban',
    operationId: 'banPerson',
    tag: 'Staff',
    access: {backoffice: true},
    summary: 'Ban a person',
    description: 'All sessions and API tokens of the person are refused from the next request on.',
    answers: {200: ofPerson},
    refusals: ['NOT_FOUND'],
    example: {body: {reason: 'Their mailbox was taken over'}},
    params,
    body: z.strictObject({reason: Reason}),
    async handle({db, caller: {staff}, params: {id: person}, body: {reason}}) {
      return {person: await setPersonBanned(db, staff, {person, banned: true, reason})}
    },
  }),

  route({
    method: 'post',
    path: '/staff/people/:id/unban',
    operationId: 'unbanPerson',
    tag: 'Staff',
    access: {backoffice: true},
    summary: 'Lift the ban of a person',
    answers: {200: ofPerson},
    refusals: ['NOT_FOUND'],
    example: {body: {reason: 'The mailbox is theirs again'}},
    params,
    body: z.strictObject({reason: Reason.optional()}),
    async handle({db, caller: {staff}, params: {id: person}, body: {reason}}) {
      return {person: await setPersonBanned(db, staff, {person, banned: false, reason})}
    },
  }),

  route({
    method: 'post',
    path: '/staff/people/:id/delete',
    operationId: 'erasePerson',
    tag: 'Staff',
    access: {operator: true},
    summary: 'Erase a person',
    description:
      'Deletes memberships, invitations to their address, and their names and addresses. What they created stays, without a name. Refused if they are the only owner of an org with other members; with `force`, the highest-ranked other member becomes owner. Available in maintenance mode.',
    answers: {200: Erased},
    refusals: ['NOT_FOUND', 'LAST_OWNER'],
    example: {body: {force: false, reason: 'Requested by the person'}, answer: {deleted: true, heirs: []}},
    params,
    body: z.strictObject({
      force: z.boolean().default(false).describe('Whether another member becomes owner of orgs where the person is the only owner'),
      reason: Reason.optional(),
    }),
    handle: async ({db, params: {id}, body}) => ({deleted: true, heirs: await erasePerson(db, id, body)}),
  }),
]
