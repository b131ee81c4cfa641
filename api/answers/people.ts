import {z} from 'zod'
import {Answer, Id, Moment, RoleName} from './common.ts'

const name = z.string().describe('Name at the CRM, as of the last sign-in')
const email = z.string().describe('E-mail address at the CRM, as of the last sign-in')

export const PersonNamed = Answer({id: Id('per', 'The person'), name}).meta({id: 'PersonNamed'})

const PlaceNamed = Answer({id: Id('org', 'The org'), name: z.string().describe("The org's name")})

const OwnOrg = PlaceNamed.extend({dateFormat: z.string().meta({description: 'The date format of its settings', examples: ['dd.MM.yyyy']})})

export const Me = Answer({
  org: OwnOrg.nullable().describe('The org of the session or token. Null: a session without an org'),
  user: Answer({id: Id('per', 'The person'), email, name}).describe('The person'),
  role: RoleName.nullable().describe('The role in force; `admin` for an API token. Null for a session without an org'),
  via: z.enum(['session', 'token', 'oauth']).describe('A session, an API token, or the token of an MCP client'),
  staff: z.boolean().describe('Whether the session may use the backoffice'),
  staffView: Answer({write: z.boolean().describe('Whether the view allows writing')})
    .nullable()
    .describe('Set in a staff view of an org. Null otherwise'),
}).meta({id: 'Me'})

export const SessionToken = Answer({
  token: z.string().describe('The bearer token of the new session, valid for eight hours. The old session stays valid until it expires'),
})

export const ReachableOrg = Answer({
  id: Id('org', 'The org'),
  name: z.string().describe("The org's name"),
  role: RoleName,
  isCurrent: z.boolean().describe('Whether the session works in it'),
}).meta({id: 'ReachableOrg'})

export const SignIn = Answer({
  id: Id('ses', 'The sign-in'),
  isCurrent: z.boolean().describe('Whether this request belongs to it'),
  device: z.string().nullable().describe('The `User-Agent` of its newest session. Null: none was sent'),
  address: z.string().nullable().describe('The IP address of its newest session. Null: not known'),
  org: PlaceNamed.nullable().describe('The org of its newest session. Null: none'),
  staffView: z.boolean().describe('Whether it is a staff view of the org'),
  signedInAt: Moment('When the person signed in'),
  refreshedAt: Moment('When its newest session was created'),
  expiresAt: Moment('When its newest session expires, unless refreshed before'),
}).meta({id: 'SignIn'})

export const Member = Answer({
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

export const Invitation = Answer({
  id: Id('inv', 'The invitation'),
  email: z.string().describe('Address of the invited person. Only a sign-in with this address can accept'),
  role: RoleName,
  state: z.enum(['pending', 'expired', 'withdrawn', 'used']).describe('Only `pending` invitations can be accepted'),
  invitedBy: PersonNamed.nullable().describe('The person who invited. Null: erased'),
  createdAt: Moment('When it was created'),
  expiresAt: Moment('When it expires: 14 days after it was created or renewed'),
}).meta({id: 'Invitation'})

export const ReceivedInvitation = Answer({
  id: Id('inv', 'The invitation'),
  org: PlaceNamed.describe('The inviting org'),
  role: RoleName,
  expiresAt: Moment('When it expires'),
}).meta({id: 'ReceivedInvitation'})

export const ApiToken = Answer({
  id: Id('tok', 'The token'),
  name: z.string().describe('The purpose, as named by its creator'),
  prefix: z.string().describe('The first characters of the secret, to tell tokens apart'),
  createdBy: PersonNamed.nullable().describe('The creator. Null: the creator was erased, and the token revoked'),
  createdAt: Moment('When it was created'),
  lastUsedAt: Moment('When it was last used').nullable().describe('When it was last used, to within a few minutes. Null: never'),
  expiresAt: Moment('When it expires').nullable().describe('When it expires. Null: never'),
  revokedAt: Moment('When it was revoked').nullable().describe('When it was revoked. Null: it was not'),
}).meta({id: 'ApiToken'})

export const Org = Answer({
  id: Id('org', 'The org'),
  name: z.string().describe('Its name at the CRM'),
  followsCrmRoles: z.boolean().describe("Whether members' roles follow their roles in the CRM"),
  sandbox: z.boolean().describe('Whether it belongs to a CRM sandbox'),
  productionOrgId: Id('org', 'The production org').nullable().describe('The production org whose plan the sandbox uses. Null: none'),
  closedAt: Moment('When staff closed it').nullable().describe('When staff closed it. Null: it is open'),
  createdAt: Moment('When its first member signed in'),
}).meta({id: 'Org'})

export const Grant = Answer({
  id: Id('ogr', 'The grant'),
  client: Answer({
    id: z.string().describe('The client id: an id of this server, or the URL of a metadata document'),
    name: z.string().describe('The name that the client gives itself'),
  }).describe('The authorised client'),
  createdAt: Moment('When it was granted'),
  lastUsedAt: Moment('When it was last used').nullable().describe('When it was last used, to within a few minutes. Null: never'),
  revokedAt: Moment('When it was revoked').nullable().describe('When it was revoked. Null: it was not'),
}).meta({id: 'Grant'})
