import {z} from 'zod'
import {exportAudit} from '../../shared/accounts/audit/export.ts'
import {Instant} from '../../shared/schema/instant.ts'
import {actorOf} from '../actor.ts'
import {AuditFile} from '../answers/audit.ts'
import {OfOrg} from '../params.ts'
import {reply} from '../reply.ts'
import {route} from '../route.ts'

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
    answers: {200: AuditFile},
    refusals: [],
    example: {query: {from: '2026-03-01T00:00:00Z'}},
    params: OfOrg,
    query: z.object({from: moment('Start of the range, inclusive'), to: moment('End of the range, exclusive. Default: now')}),
    async handle({db, caller, query, request}) {
      const headers = {
        'content-type': 'application/x-ndjson; charset=utf-8',
        'content-disposition': `attachment; filename="audit-${caller.org}.ndjson"`,
      }
      return reply({headers, body: await exportAudit(db, actorOf(caller, request), query)})
    },
  }),
]
