import {z} from 'zod'
import {EmailAddress, normaliseAddress} from '../../shared/accounts/address.ts'
import {acceptInvitation, invite, withdraw} from '../../shared/accounts/invitation.ts'
import {ROLES} from '../../shared/accounts/roles.ts'
import {Invitation as InvitationRow, listInvitations, listReceived} from '../../sql/invitations.ts'
import {Answer, Id, Moment, RoleName} from '../answers/common.ts'
import {PersonNamed, PlaceNamed} from '../answers/people.ts'
import {route} from '../route.ts'

const Invitation = Answer({
  id: Id('inv', 'The invitation'),
  email: z.string().describe('Address of the invited person. Only a sign-in with this address can accept'),
  role: RoleName,
  state: InvitationRow.shape.state.describe('Only `pending` invitations can be accepted'),
  invitedBy: PersonNamed.nullable().describe('The person who invited. Null: erased'),
  createdAt: Moment('When it was created'),
  expiresAt: Moment('When it expires: 14 days after it was created or renewed'),
}).meta({id: 'Invitation'})

const ReceivedInvitation = Answer({
  id: Id('inv', 'The invitation'),
  org: PlaceNamed.describe('The inviting org'),
  role: RoleName,
  expiresAt: Moment('When it expires'),
}).meta({id: 'ReceivedInvitation'})

const params = z.object({id: z.string().describe('The invitation (`inv_`)')})

const ofInvitation = Answer({invitation: Invitation})
const sentInvitation = ofInvitation.extend({
  isMailed: z
    .boolean()
    .describe(
      'Whether an e-mail is sent. False: no mail server, already mailed within the hour, or 100 invitations mailed within a day. Then tell the person to sign in',
    ),
})

export default [
  route({
    method: 'get',
    path: '/orgs/:org/invitations',
    operationId: 'listInvitations',
    tag: 'Members',
    access: {role: 'admin'},
    summary: 'List the invitations to the org',
    answers: {200: Answer({invitations: z.array(Invitation).describe('All invitations, past ones included, newest first')})},
    refusals: [],
    handle: async ({db, caller}) => ({invitations: await listInvitations(db, caller.org)}),
  }),

  route({
    method: 'post',
    path: '/orgs/:org/invitations',
    operationId: 'invite',
    tag: 'Members',
    access: {role: 'admin'},
    effect: 'access',
    summary: 'Invite a person to the org',
    description:
      'Valid for 14 days. Inviting the same address again renews its invitation with the new role. If the service can send e-mail, the person gets one, at most once an hour. You cannot invite above your own role.',
    answers: {201: sentInvitation},
    refusals: [],
    example: {body: {email: 'bo@example.org', role: 'builder'}},
    body: z.object({
      email: EmailAddress.describe('E-mail address of the person. Only a sign-in with this address can accept'),
      role: z.enum(ROLES).describe('The role they join with'),
    }),
    status: 201,
    handle: async ({caller, body, ...deps}) => invite(deps, caller, body),
  }),

  route({
    method: 'delete',
    path: '/orgs/:org/invitations/:id',
    operationId: 'withdrawInvitation',
    tag: 'Members',
    access: {role: 'admin'},
    effect: 'access',
    summary: 'Withdraw an invitation',
    answers: {200: ofInvitation},
    refusals: ['NOT_FOUND', 'INVITATION_USED'],
    params,
    handle: async ({db, caller, params: {id}}) => ({invitation: await withdraw(db, caller, id)}),
  }),

  route({
    method: 'get',
    path: '/auth/invitations',
    operationId: 'listReceivedInvitations',
    tag: 'Members',
    access: {role: 'operator', noOrg: true, closedOrg: true},
    summary: 'List your received invitations',
    answers: {200: Answer({invitations: z.array(ReceivedInvitation).describe('Invitations you can accept, newest first')})},
    refusals: [],
    handle: async ({db, caller}) => ({invitations: await listReceived(db, normaliseAddress(caller.email))}),
  }),

  route({
    method: 'post',
    path: '/auth/invitations/:id/accept',
    operationId: 'acceptInvitation',
    tag: 'Members',
    access: {role: 'operator', sessionOnly: 'person', noOrg: true, closedOrg: true},
    summary: 'Accept an invitation',
    description: 'Moves the session to that org. The role of the invitation replaces any role you had there.',
    answers: {200: Answer({role: RoleName})},
    refusals: [
      ...(['NOT_FOUND', 'INVITATION_USED', 'INVITATION_WITHDRAWN', 'INVITATION_EXPIRED', 'MEMBERSHIP_CHANGING', 'LAST_OWNER'] as const),
      {code: 'ORG_CLOSED', status: 409},
    ],
    example: {answer: {role: 'builder'}},
    params,
    async handle({db, caller: {person, email, session}, params: {id}}) {
      return {role: await acceptInvitation(db, {person, email, session: session!}, id)}
    },
  }),
]
