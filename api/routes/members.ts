import {z} from 'zod'
import {changeRole, removeMember} from '../../shared/accounts/member.ts'
import {ROLES} from '../../shared/accounts/roles.ts'
import {listMembers} from '../../sql/members.ts'
import {Answer, Count, Id, Moment, RoleName} from '../answers/common.ts'
import {email, name} from '../answers/people.ts'
import {route} from '../route.ts'

const Member = Answer({
  id: Id('mem', 'The membership'),
  personId: Id('per', 'The person'),
  name,
  email,
  role: RoleName,
  roleSource: z
    .enum(['manual', 'crm'])
    .describe(
      '`manual`: an admin or an accepted invitation set the role, and the CRM does not change it. `crm`: where the org follows the roles of the CRM, each sign-in and refresh sets it, except that an owner stays owner',
    ),
  createdAt: Moment('When they joined'),
}).meta({id: 'Member'})

const params = z.object({id: z.string().describe('The membership (`mem_`)')})

const ofMember = Answer({member: Member})

export default [
  route({
    method: 'get',
    path: '/orgs/:org/members',
    operationId: 'listMembers',
    tag: 'Members',
    access: {role: 'operator'},
    summary: 'List the members of the org',
    answers: {200: Answer({members: z.array(Member).describe('Oldest first')})},
    refusals: [],
    handle: async ({db, caller}) => ({members: await listMembers(db, caller.org)}),
  }),

  route({
    method: 'patch',
    path: '/orgs/:org/members/:id',
    operationId: 'changeMember',
    tag: 'Members',
    access: {role: 'admin'},
    effect: 'access',
    summary: 'Change the role of a member',
    description:
      'A member cannot give a role above their own, or change the role of a member above them. An org always has an owner. A role set here stays, even if the org follows the CRM roles, until `roleSource: "crm"` returns it to the CRM. API tokens that the member created keep the admin role: `activeTokens` counts the active ones, and `revokeTokens` revokes them.',
    answers: {
      200: Answer({member: Member, activeTokens: Count('How many API tokens the member created in the org and still work')}),
    },
    refusals: ['NOT_FOUND', 'LAST_OWNER', 'SESSION_REQUIRED', 'STAFF_VIEW'],
    example: {body: {role: 'builder', revokeTokens: true}},
    params,
    body: z.strictObject({
      role: z.enum(ROLES).describe('The new role'),
      roleSource: z
        .enum(['manual', 'crm'])
        .default('manual')
        .describe('`manual`: the role stays as set here. `crm`: the next sign-in or refresh sets it, where the org follows the CRM'),
      revokeTokens: z
        .boolean()
        .default(false)
        .describe('Whether to revoke every API token the member created in the org. Needs a session, not an API token'),
    }),
    handle: ({db, caller, params: {id}, body}) => changeRole(db, caller, {id, ...body}),
  }),

  route({
    method: 'delete',
    path: '/orgs/:org/members/:id',
    operationId: 'removeMember',
    tag: 'Members',
    access: {role: 'admin'},
    effect: 'access',
    summary: 'Remove a member',
    description: "Ends the member's sessions in the org and revokes the API tokens they created. Returns the membership as it was.",
    answers: {200: ofMember},
    refusals: ['NOT_FOUND', 'LAST_OWNER'],
    params,
    handle: async ({db, caller, params: {id}}) => ({member: await removeMember(db, caller, id)}),
  }),
]
