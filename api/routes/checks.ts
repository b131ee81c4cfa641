import {z} from 'zod'
import {checkImport} from '../../shared/jobs.ts'
import {readChecks} from '../../shared/mapping/checks/read.ts'
import {requestCheck} from '../../shared/mapping/checks/request.ts'
import {Checks, QueuedCheck} from '../answers/checks.ts'
import {job, sourceId} from '../answers/examples.ts'
import {answerJob} from '../job-response.ts'
import {Cursor, limitOf} from '../paging.ts'
import {OfImport} from '../params.ts'
import {route} from '../route.ts'

const at = '2026-03-01T08:30:00.000Z'
const problem = {
  severity: 'error',
  kind: 'invalid_email',
  source: sourceId,
  flow: 'accounts',
  module: 'Accounts',
  field: 'Email',
  column: 'Mail',
  place: null,
  count: 1,
  rows: [17],
  samples: ['ana.example.org'],
  message: 'This is not a valid e-mail address',
  fix: 'Correct the cells, or fill the field with an expression',
}

/** Routes of checks, which find the rows of an import that would fail, without calling the CRM. */
export default [
  route({
    method: 'post',
    path: '/orgs/:org/imports/:id/checks',
    operationId: 'checkImport',
    tag: 'Checks',
    access: {role: 'operator', embed: 'own'},
    summary: 'Check every row of an import',
    description: 'Reads all rows as a run would, without calling the CRM. If a check is already running, its job is returned.',
    answers: {200: QueuedCheck, 202: QueuedCheck},
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
    operationId: 'readChecks',
    tag: 'Checks',
    access: {role: 'operator', embed: 'own'},
    summary: 'Read the result of the last check',
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
