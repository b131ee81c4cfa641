import {z} from 'zod'
import {isAtLeast} from '../../shared/accounts/roles.ts'
import {runImport} from '../../shared/jobs.ts'
import {describeRun} from '../../shared/runs/describe.ts'
import {findImportRun} from '../../shared/runs/find.ts'
import {startUndo} from '../../shared/runs/undo/start-undo.ts'
import {describeUndo} from '../../shared/runs/undo/undo-status.ts'
import {Answer, Id, Moment} from '../answers/common.ts'
import {job, run} from '../answers/examples.ts'
import {QueuedRun} from '../answers/runs.ts'
import {answerJob} from '../job-response.ts'
import {OfImportRun} from '../params.ts'
import {route} from '../route.ts'

const UndoStatus = Answer({
  undo: Answer({
    available: z.boolean().describe('Whether the run can be undone now'),
    until: Moment('Until when it can be undone')
      .nullable()
      .describe('Until when it can be undone. Null: it has not ended, or stored no values'),
    why: z
      .enum(['RUN_ACTIVE', 'DRY_RUN', 'UNDO_NOT_KEPT', 'UNDO_EXPIRED', 'UNDO_DONE', 'RUN_RETRIED'])
      .nullable()
      .describe('Why it cannot be undone. Null: it can'),
    undoneBy: Id('run', 'The undo').nullable().describe('The run that undid it, or is undoing it. Null: none'),
  }).describe('Whether and until when the run can be undone'),
})

const begun = {...run, state: 'queued', startedAt: null, undoOf: run.id, undo: {restored: 0, deleted: 0, changedSince: 0, strict: null}}

export default [
  route({
    method: 'post',
    path: '/orgs/:org/imports/:id/runs/:run/undo',
    operationId: 'undoImportRun',
    tag: 'Runs',
    access: {role: 'builder'},
    summary: 'Undo a run',
    description: `Starts a run that restores the values which this run replaced, and deletes the records which it created. Values and records that were changed since are
kept and logged as \`CHANGED_SINCE\`. With \`dryRun\`, nothing is written. To take an undo back, undo the undo: deleted records return from the recycle bin of the CRM.`,
    answers: {200: QueuedRun, 202: QueuedRun},
    refusals: [
      ...(['IMPORT_NOT_FOUND', 'RUN_NOT_FOUND', 'IMPORT_RUNNING', 'FILE_GONE', 'WRITES_PAUSED', 'DRY_RUN', 'ADMIN_REQUIRED'] as const),
      ...(['RUN_RETRIED', 'UNDO_NOT_KEPT', 'UNDO_DONE', 'UNDO_EXPIRED', 'FROM_FUTURE', 'UNREADABLE'] as const),
    ],
    example: {body: {dryRun: true}, answer: {run: begun, job: job('import.run')}},
    params: OfImportRun,
    body: z.strictObject({
      dryRun: z.boolean().default(false).describe('Write nothing, and report what the undo would do'),
      force: z.literal('created').optional().describe('Also delete created records that were changed since. Only for admins'),
    }),
    async handle(input) {
      const {db, queue, caller, params, body} = input
      const {org, person, role} = caller
      const named = {org, importId: params.id, runId: params.run}
      const start = {...named, ...body, person, admin: isAtLeast(role, 'admin')}
      const {runId, job} = await db.transaction(tx => startUndo(tx, queue, start))
      return answerJob(input, job, runImport.name, {run: describeRun(await findImportRun(db, {...named, runId}))})
    },
  }),
  route({
    method: 'get',
    path: '/orgs/:org/imports/:id/runs/:run/undo',
    operationId: 'readImportRunUndo',
    tag: 'Runs',
    access: {role: 'operator'},
    summary: 'Read whether a run can be undone',
    answers: {200: UndoStatus},
    refusals: ['IMPORT_NOT_FOUND', 'RUN_NOT_FOUND'],
    example: {answer: {undo: {available: true, until: '2026-03-09T09:15:00.000Z', why: null, undoneBy: null}}},
    params: OfImportRun,
    async handle({db, caller: {org}, params}) {
      return {undo: await describeUndo(db, (await findImportRun(db, {org, importId: params.id, runId: params.run})).run)}
    },
  }),
]
