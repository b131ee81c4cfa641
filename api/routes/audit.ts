import {z} from 'zod'
import {exportAudit} from '../../shared/accounts/audit/export.ts'
import {Instant} from '../../shared/schema/instant.ts'
import {Via} from '../../sql/changes.ts'
import {actorOf} from '../actor.ts'
import {Answer, ByName, File, Id, Json, Moment} from '../answers/common.ts'
import {OfOrg} from '../params.ts'
import {reply} from '../reply.ts'
import {route} from '../route.ts'

export const AuditEntry = Answer({
  at: Moment('When it happened'),
  id: z.string().describe('The entry: unique in the org, and the same in every export'),
  source: z.enum(['settings', 'access', 'runs', 'staff']).describe('What it belongs to'),
  kind: z
    .string()
    .meta({description: 'What happened', examples: ['member.role', 'token.revoked', 'session.created', 'run.started', 'staff.view']}),
  via: Via.nullable().describe('How it was done. Null: not recorded'),
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

const moment = (what: string) =>
  Instant.optional().meta({description: `${what}. ISO 8601 with a time zone`, examples: ['2026-03-01T00:00:00Z']})

export default [
  route({
    method: 'get',
    path: '/orgs/:org/audit',
    operationId: 'exportAudit',
    tag: 'Orgs',
    access: {role: 'admin'},
    summary: 'Download the audit log of the org',
    description: `One JSON object per line, the oldest first: changes of settings, members, tokens, connections, templates and imports; sign-ins and their ends;
runs authorised, started, cancelled and ended; what staff did in the org. Entries are kept for as long as the operator sets (\`AUDIT_DAYS\`), runs for the
history window of the plan. The download itself is recorded.`,
    answers: {200: File('application/x-ndjson', `One JSON object per line. ${fields.join('. ')}`)},
    refusals: [],
    example: {query: {from: '2026-03-01T00:00:00Z'}},
    params: OfOrg,
    query: z.object({from: moment('Start of the range, inclusive'), to: moment('End of the range, exclusive. Default: now')}),
    async handle({db, caller, query, request}) {
      const headers = {
        'content-type': 'application/x-ndjson; charset=utf-8',
        'content-disposition': `attachment; filename="audit-${caller.org}.ndjson"`,
      }
      // HEAD downloads nothing, and each export records itself as a download.
      const body = request.method === 'HEAD' ? '' : await exportAudit(db, actorOf(caller, request), query)
      return reply({headers, body})
    },
  }),
]
