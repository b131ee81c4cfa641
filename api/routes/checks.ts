import {z} from 'zod'
import {readChecks} from '../../shared/checks/read.ts'
import {requestCheck} from '../../shared/checks/request.ts'
import {checkImport} from '../../shared/jobs.ts'
import {CheckBegun, Checks} from '../answers/checks.ts'
import {job, sourceId} from '../answers/examples.ts'
import {Cursor, limitOf} from '../paging.ts'
import {OfImport} from '../params.ts'
import {answerJob} from '../prefer.ts'
import {route} from '../route.ts'

const at = '2026-03-01T08:30:00.000Z'
const problem = {
  ...{severity: 'error', kind: 'invalid_email', source: sourceId, flow: 'accounts', module: 'Accounts', field: 'Email', column: 'Mail'},
  ...{place: null, count: 1, rows: [17], samples: ['ana.example.org']},
  ...{message: 'Email takes no such value', fix: 'Correct the cells, or write the field by an expression'},
}

/** What of an import would fail in a run, found without the CRM. */
export default [
  route({
    method: 'post',
    path: '/orgs/:org/imports/:id/checks',
    access: {role: 'operator'},
    summary: 'Check every row of an import',
    description: 'Reads all rows as a run would, without the CRM. While a check is under way its job is answered.',
    answers: {200: CheckBegun, 202: CheckBegun},
    refusals: ['IMPORT_NOT_FOUND', 'FILE_GONE', 'NOT_READY', 'NO_DISCOVERY', 'BUSY'],
    example: {answer: {job: job('import.check')}},
    params: OfImport,
    async handle(input) {
      const {db, queue, caller, params} = input
      const job = await db.transaction(tx => requestCheck(tx, queue, {org: caller.org, importId: params.id}))
      return answerJob(input, job, checkImport.name)
    },
  }),
  route({
    method: 'get',
    path: '/orgs/:org/imports/:id/checks',
    access: {role: 'operator'},
    summary: 'Read what the last check found',
    answers: {200: Checks},
    refusals: ['IMPORT_NOT_FOUND', 'INVALID_CURSOR'],
    example: {
      answer: {checks: {state: 'done', startedAt: at, endedAt: at, rows: 1_200, stale: false}, problems: [problem], nextCursor: null},
    },
    params: OfImport,
    query: z.object({limit: limitOf({usual: 100, most: 500}), cursor: Cursor}),
    handle({db, queue, config, caller: {org}, params: {id}, query}) {
      const {limit, cursor} = query
      return readChecks({db, queue, ring: config.SECRETS_KEYS}, {org, importId: id, cursor, limit})
    },
  }),
]
