import {z} from 'zod'
import {changeRole, removeMember} from '../../shared/people/member.ts'
import {ROLES} from '../../shared/people/roles.ts'
import {listMembers} from '../../sql/members.ts'
import {Answer} from '../answers/common.ts'
import {Member} from '../answers/people.ts'
import {route} from '../route.ts'

const params = z.object({id: z.string().describe('The membership (`mem_`)')})

const ofMember = Answer({member: Member})

export default [
  route({
    method: 'get',
    path: '/orgs/:org/members',
    access: {role: 'operator'},
    summary: 'List the members of the org',
    answers: {200: Answer({members: z.array(Member).describe('The oldest first')})},
    refusals: [],
    handle: async ({db, caller}) => ({members: await listMembers(db, caller.org)}),
  }),

  route({
    method: 'patch',
    path: '/orgs/:org/members/:id',
    access: {role: 'admin'},
    summary: 'Change the role of a member',
    description: 'Nobody gives a role above their own, or takes one from a member above them; an org always has an owner.',
    answers: {200: ofMember},
    refusals: ['NOT_FOUND', 'LAST_OWNER'],
    example: {body: {role: 'builder'}},
    params,
    body: z.object({role: z.enum(ROLES).describe('Its role from now on')}),
    handle: async ({db, caller, params: {id}, body: {role}}) => ({member: await changeRole(db, caller, {id, role})}),
  }),

  route({
    method: 'delete',
    path: '/orgs/:org/members/:id',
    access: {role: 'admin'},
    summary: 'Remove a member',
    description: 'Their sessions in the org and the API tokens they made end with it. Answers the membership as it was.',
    answers: {200: ofMember},
    refusals: ['NOT_FOUND', 'LAST_OWNER'],
    params,
    handle: async ({db, caller, params: {id}}) => ({member: await removeMember(db, caller, id)}),
  }),
]
