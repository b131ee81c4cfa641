import {z} from 'zod'
import {checkImport} from '../../shared/jobs.ts'
import {SEVERITIES} from '../../shared/mapping/checks/problem.ts'
import {readChecks} from '../../shared/mapping/checks/read.ts'
import {requestCheck} from '../../shared/mapping/checks/request.ts'
import {Answer, Count, JOB_STATES, JobWith, Moment, NextCursor} from '../answers/common.ts'
import {job, sourceId} from '../answers/examples.ts'
import {answerJob} from '../job-response.ts'
import {Cursor, limitOf} from '../paging.ts'
import {OfImport} from '../params.ts'
import {route} from '../route.ts'

const CheckResult = Answer({
  rows: Count('Rows that were read'),
  errors: Count('Problems by which rows will fail or be refused'),
  warnings: Count('Problems by which rows may fail or be refused'),
})

const QueuedCheck = Answer({job: JobWith(CheckResult).describe('The job of the check')})

const CheckProblem = Answer({
  severity: z
    .enum(SEVERITIES)
    .describe('`error`: rows will fail or be refused. `warning`: rows may fail or be written unexpectedly. `info`: for information'),
  kind: z.string().meta({description: 'The kind of problem: the code a run would use, in lower case', examples: ['required_missing']}),
  source: z.string().nullable().describe('The file. Null: no specific file'),
  flow: z.string().nullable().describe('The id of the flow. Null: no specific flow'),
  module: z.string().nullable().describe('API name of the module. Null: no specific module'),
  field: z.string().nullable().describe('API name of the field. Null: no specific field'),
  column: z.string().nullable().describe('The column of the file. Null: no specific column'),
  place: Answer({line: z.int().positive().describe('The line, from 1'), column: z.int().positive().describe('The column, from 1')})
    .nullable()
    .describe('Position in an expression. Null: not in an expression'),
  count: Count('Rows affected'),
  rows: z.array(z.int().positive()).describe('Row numbers of the first of them. Empty if no single row is the cause'),
  samples: z.array(z.string()).describe('Cells of those rows, as in the file'),
  message: z.string().describe('What is wrong, in words'),
  fix: z.string().describe('How to fix it, in words'),
}).meta({id: 'CheckProblem', description: 'A problem of an import, listed once per place'})

const Checks = Answer({
  checks: Answer({
    state: z
      .enum([...JOB_STATES, 'none'])
      .describe('State of the newest check, which may be newer than the one listed. `none`: no check yet'),
    startedAt: Moment('When the listed check began').nullable().describe('When the listed check began. Null: none has ended'),
    endedAt: Moment('When the listed check ended').nullable().describe('When the listed check ended. Null: none has'),
    rows: z.int().nonnegative().nullable().describe('Rows that were read. Null: none has ended'),
    stale: z.boolean().describe('Whether files, flows, libraries, settings, the plan or the CRM changed since'),
  }).describe('The last check that ended'),
  problems: z.array(CheckProblem).describe('The problems found, worst first'),
  nextCursor: NextCursor,
})

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
