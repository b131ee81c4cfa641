import {z} from 'zod'
import {Answer, Id, Moment, RoleName} from './common.ts'

const name = z.string().describe('The name they have at the CRM, as of their last sign-in')
const email = z.string().describe('The address they have at the CRM, as of their last sign-in')

export const PersonNamed = Answer({id: Id('per', 'The person'), name}).meta({id: 'PersonNamed'})

const PlaceNamed = Answer({id: Id('org', 'The org'), name: z.string().describe("The org's name")})

export const Me = Answer({
  org: PlaceNamed.nullable().describe('The org the bearer opens; null: a session in no org'),
  user: Answer({id: Id('per', 'The person'), email, name}).describe('Who the bearer is of'),
  role: RoleName.nullable().describe('The role in force, which for an API token is `admin`; null for a session in no org'),
  via: z.enum(['session', 'token', 'oauth']).describe('What the bearer is: a session, an API token, or the token of an MCP client'),
  staff: z.boolean().describe('Whether the bearer opens the backoffice'),
  staffView: Answer({write: z.boolean().describe('Whether it may write')})
    .nullable()
    .describe("Set for a staff member's view of an org they need not be in; null for everybody else"),
}).meta({id: 'Me'})

export const SessionToken = Answer({
  token: z.string().describe('The bearer of the new session. It lasts eight hours; the old one stays good until its own end'),
})

export const SignIn = Answer({
  id: Id('ses', 'The sign-in'),
  isCurrent: z.boolean().describe('Whether the bearer belongs to it'),
  device: z.string().nullable().describe('The `User-Agent` of its newest session; null: none was sent'),
  address: z.string().nullable().describe('The IP address its newest session was made from; null: not known'),
  org: PlaceNamed.nullable().describe('The org its newest session opens; null: none'),
  staffView: z.boolean().describe("Whether it is a staff member's view of the org"),
  signedInAt: Moment('When the person signed in'),
  refreshedAt: Moment('When its newest session was made'),
  expiresAt: Moment('When its newest session ends, unless it is refreshed before'),
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
  email: z.string().describe('Who is invited: whoever signs in with this address'),
  role: RoleName,
  state: z.enum(['pending', 'expired', 'withdrawn', 'used']).describe('`pending` alone can be accepted'),
  invitedBy: PersonNamed.nullable().describe('Who invited; null: they were erased'),
  createdAt: Moment('When it was made'),
  expiresAt: Moment('When it can be accepted no more: 14 days after it was made or renewed'),
}).meta({id: 'Invitation'})

export const ReceivedInvitation = Answer({
  id: Id('inv', 'The invitation'),
  org: PlaceNamed.describe('Where to'),
  role: RoleName,
  expiresAt: Moment('When it can be accepted no more'),
}).meta({id: 'ReceivedInvitation'})

export const ApiToken = Answer({
  id: Id('tok', 'The token'),
  name: z.string().describe('What it is for, as its maker named it'),
  prefix: z.string().describe('How the secret begins, to tell tokens apart'),
  createdBy: PersonNamed.nullable().describe('Whose it is; null: they were erased, and the token with them'),
  createdAt: Moment('When it was made'),
  lastUsedAt: Moment('When it was used last').nullable().describe('When it was used last, to within a few minutes; null: never'),
  expiresAt: Moment('When it ends').nullable().describe('When it ends; null: never by itself'),
  revokedAt: Moment('When it was revoked').nullable().describe('When it was revoked; null: it was not'),
}).meta({id: 'ApiToken'})

export const Org = Answer({
  id: Id('org', 'The org'),
  name: z.string().describe('Its name at the CRM'),
  followsCrmRoles: z.boolean().describe("Whether its members' roles follow those they have in the CRM"),
  sandbox: z.boolean().describe('Whether it is the org of a CRM sandbox'),
  productionOrgId: Id('org', 'The org whose plan a sandbox has')
    .nullable()
    .describe('The org whose plan a sandbox has; null: tied to none'),
  closedAt: Moment('When staff closed it').nullable().describe('When staff closed it; null: it is open'),
  createdAt: Moment('When the first of it signed in'),
}).meta({id: 'Org'})

export const Grant = Answer({
  id: Id('ogr', 'What was allowed'),
  client: Answer({
    id: z.string().describe('The client id: ours, or the address of the document that describes the client'),
    name: z.string().describe('What the client calls itself'),
  }).describe('The program that was let in'),
  createdAt: Moment('When it was allowed'),
  lastUsedAt: Moment('When it was used last').nullable().describe('When it was used last, to within a few minutes; null: never'),
  revokedAt: Moment('When it was taken back').nullable().describe('When it was taken back; null: it was not'),
}).meta({id: 'Grant'})
