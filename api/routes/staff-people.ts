import {z} from 'zod'
import {setPersonBanned} from '../../shared/people/ban.ts'
import {erasePerson} from '../../shared/people/erasure.ts'
import {Reason} from '../../shared/people/staff-action.ts'
import {Answer} from '../answers/common.ts'
import {Erased, Person} from '../answers/staff.ts'
import {route} from '../route.ts'

const params = z.object({id: z.string().describe('The person (`per_`)')})

const ofPerson = Answer({person: Person})

export default [
  route({
    method: 'post',
    path: '/staff/people/:id/ban',
    access: {backoffice: true},
    summary: 'Ban a person',
    description: 'Every session and API token of theirs is refused from the next request on.',
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
    access: {operator: true},
    summary: 'Erase a person',
    description:
      'Memberships, invitations to their address, and every name and address of theirs go; what they made stays and names nobody. An org with other members keeps an owner: refused where they are its only one, or by `force` the highest of the others becomes one. Works in maintenance too.',
    answers: {200: Erased},
    refusals: ['NOT_FOUND', 'LAST_OWNER'],
    example: {body: {force: false, reason: 'Asked for by the person'}, answer: {deleted: true, heirs: []}},
    params,
    body: z.strictObject({
      force: z.boolean().default(false).describe('Whether others become owners where they are the only one'),
      reason: Reason.optional(),
    }),
    handle: async ({db, params: {id}, body}) => ({deleted: true, heirs: await erasePerson(db, id, body)}),
  }),
]
