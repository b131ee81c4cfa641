import {z} from 'zod'
import {Answer, ByName, File, Id, Json, Moment} from './common.ts'

export const AuditEntry = Answer({
  at: Moment('When it happened'),
  id: z.string().describe('The entry: unique in the org, and the same in every export'),
  source: z.enum(['settings', 'access', 'runs', 'staff']).describe('What it belongs to'),
  kind: z
    .string()
    .meta({description: 'What happened', examples: ['member.role', 'token.revoked', 'session.created', 'run.started', 'staff.view']}),
  via: z.enum(['session', 'token', 'oauth', 'payment', 'schedule', 'staff']).nullable().describe('How it was done. Null: not recorded'),
  personId: Id('per', 'The person').nullable().describe('The person who did it. Null: a token, a program, staff, or an erased person'),
  personName: z.string().nullable().describe('Their name today'),
  personEmail: z.string().nullable().describe('Their address today'),
  staffId: Id('per', 'The staff member').nullable().describe('The staff member who did it. Null: a member, or the operator'),
  staffName: z.string().nullable().describe("The staff member's name then"),
  tokenId: Id('tok', 'The API token').nullable().describe('The API token it was done with'),
  sessionId: Id('ses', 'The session').nullable().describe('The session it was done in, if recorded'),
  address: z.string().nullable().describe('The IP address of the client, if recorded'),
  userAgent: z.string().nullable().describe('The `User-Agent` of the client, if recorded'),
  target: z.string().nullable().describe('The object it was done to, by name or id'),
  detail: ByName(
    Json('Depends on the kind'),
    'Further details, depending on the kind. For a setting: its page and its value before and after',
  ),
})

const fields = Object.entries(AuditEntry.shape).map(([name, {description}]) => `\`${name}\`: ${description}`)

export const AuditFile = File('application/x-ndjson', `One JSON object per line. ${fields.join('. ')}`)
