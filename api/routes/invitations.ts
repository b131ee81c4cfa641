import {z} from 'zod'
import {EmailAddress, normaliseAddress} from '../../shared/people/address.ts'
import {acceptInvitation, invite, withdraw} from '../../shared/people/invitation.ts'
import {ROLES} from '../../shared/people/roles.ts'
import {listInvitations, listReceived} from '../../sql/invitations.ts'
import {route} from '../route.ts'

const params = z.object({id: z.string()})

export default [
  route({
    method: 'get',
    path: '/orgs/:org/invitations',
    access: {role: 'admin'},
    handle: async ({db, caller}) => ({invitations: await listInvitations(db, caller.org)}),
  }),

  route({
    method: 'post',
    path: '/orgs/:org/invitations',
    access: {role: 'admin'},
    body: z.object({email: EmailAddress, role: z.enum(ROLES)}),
    status: 201,
    handle: async ({db, caller, body}) => ({invitation: await invite(db, caller, body)}),
  }),

  route({
    method: 'delete',
    path: '/orgs/:org/invitations/:id',
    access: {role: 'admin'},
    params,
    handle: async ({db, caller, params: {id}}) => ({invitation: await withdraw(db, {org: caller.org, id})}),
  }),

  route({
    method: 'get',
    path: '/auth/invitations',
    access: {role: 'operator', noOrg: true, closedOrg: true},
    handle: async ({db, caller}) => ({invitations: await listReceived(db, normaliseAddress(caller.email))}),
  }),

  route({
    method: 'post',
    path: '/auth/invitations/:id/accept',
    access: {role: 'operator', sessionOnly: 'person', noOrg: true, closedOrg: true},
    params,
    async handle({db, caller: {person, email, session}, params: {id}}) {
      return {role: await acceptInvitation(db, {person, email, session: session!}, id)}
    },
  }),
]
