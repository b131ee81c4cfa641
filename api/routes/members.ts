import {z} from 'zod'
import {changeRole, removeMember} from '../../shared/people/member.ts'
import {ROLES} from '../../shared/people/roles.ts'
import {listMembers} from '../../sql/members.ts'
import {Answer, Count} from '../answers/common.ts'
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
    effect: 'access',
    summary: 'Change the role of a member',
    description:
      'Nobody gives a role above their own, or takes one from a member above them; an org always has an owner. A role set here stays, also where the org follows the roles of the CRM, until it is given back with `roleSource: "crm"`. API tokens the member created keep the admin role: `activeTokens` counts those that work, and `revokeTokens` revokes them.',
    answers: {
      200: Answer({member: Member, activeTokens: Count('How many API tokens the member created in the org and still work')}),
    },
    refusals: ['NOT_FOUND', 'LAST_OWNER', 'SESSION_REQUIRED', 'STAFF_VIEW'],
    example: {body: {role: 'builder', revokeTokens: true}},
    params,
    body: z.strictObject({
      role: z.enum(ROLES).describe('Its role from now on'),
      roleSource: z
        .enum(['manual', 'crm'])
        .default('manual')
        .describe('`manual`: the role stays as set here. `crm`: the next sign-in or refresh sets it, where the org follows the CRM'),
      revokeTokens: z
        .boolean()
        .default(false)
        .describe('Whether to revoke every API token the member created in the org. Only for somebody who signed in'),
    }),
    handle: ({db, caller, params: {id}, body}) => changeRole(db, caller, {id, ...body}),
  }),

  route({
    method: 'delete',
    path: '/orgs/:org/members/:id',
    access: {role: 'admin'},
    effect: 'access',
    summary: 'Remove a member',
    description: 'Their sessions in the org and the API tokens they made end with it. Answers the membership as it was.',
    answers: {200: ofMember},
    refusals: ['NOT_FOUND', 'LAST_OWNER'],
    params,
    handle: async ({db, caller, params: {id}}) => ({member: await removeMember(db, caller, id)}),
  }),
]
