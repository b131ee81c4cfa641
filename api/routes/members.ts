import {z} from 'zod'
import {changeRole, removeMember} from '../../shared/people/member.ts'
import {ROLES} from '../../shared/people/roles.ts'
import {listMembers} from '../../sql/members.ts'
import {route} from '../route.ts'

const params = z.object({id: z.string()})

export default [
  route({
    method: 'get',
    path: '/orgs/:org/members',
    access: {role: 'operator'},
    handle: async ({db, caller}) => ({members: await listMembers(db, caller.org)}),
  }),

  route({
    method: 'patch',
    path: '/orgs/:org/members/:id',
    access: {role: 'admin'},
    params,
    body: z.object({role: z.enum(ROLES)}),
    handle: async ({db, caller, params: {id}, body: {role}}) => ({member: await changeRole(db, caller, {id, role})}),
  }),

  route({
    method: 'delete',
    path: '/orgs/:org/members/:id',
    access: {role: 'admin'},
    params,
    handle: async ({db, caller, params: {id}}) => ({member: await removeMember(db, caller, id)}),
  }),
]
