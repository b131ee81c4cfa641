import {z} from 'zod'
import {Answer, ByName, File, Id, Json, Moment} from './common.ts'

export const AuditEntry = Answer({
  at: Moment('When it happened'),
  id: z.string().describe('The entry: unique in the org, and the same in every export'),
  source: z.enum(['settings', 'access', 'runs', 'staff']).describe('What it belongs to'),
  kind: z
    .string()
    .meta({description: 'What happened', examples: ['member.role', 'token.revoked', 'session.created', 'run.started', 'staff.view']}),
  via: z.enum(['session', 'token', 'oauth', 'payment', 'schedule', 'staff']).nullable().describe('How it was done; null: not recorded'),
  personId: Id('per', 'The person').nullable().describe('Who did it; null: a token, a program, staff, or an erased person'),
  personName: z.string().nullable().describe('Their name today'),
  personEmail: z.string().nullable().describe('Their address today'),
  staffId: Id('per', 'The staff member').nullable().describe('The staff member who did it; null: nobody of staff, or the operator'),
  staffName: z.string().nullable().describe("The staff member's name then"),
  tokenId: Id('tok', 'The API token').nullable().describe('The API token it was done with'),
  sessionId: Id('ses', 'The session').nullable().describe('The session it was done in, where that is recorded'),
  address: z.string().nullable().describe('The IP address of the client, where that is recorded'),
  userAgent: z.string().nullable().describe('The `User-Agent` of the client, where that is recorded'),
  target: z.string().nullable().describe('What it was done to, by name or id'),
  detail: ByName(Json('By the kind'), 'What else is known, by the kind: of a setting its page and its value before and after'),
})

const fields = Object.entries(AuditEntry.shape).map(([name, {description}]) => `\`${name}\`: ${description}`)

export const AuditFile = File('application/x-ndjson', `One JSON object per line. ${fields.join('. ')}`)
