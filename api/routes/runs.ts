import {z} from 'zod'
import {Refusal} from '../../shared/errors.ts'
import {runImport} from '../../shared/jobs.ts'
import {cancelRun} from '../../shared/runs/cancel.ts'
import {describeRun} from '../../shared/runs/describe.ts'
import {findImportRun} from '../../shared/runs/find.ts'
import {RunsFilter} from '../../shared/runs/history.ts'
import {readRun} from '../../shared/runs/names.ts'
import {resumeRun} from '../../shared/runs/resume.ts'
import {startRun} from '../../shared/runs/start.ts'
import {StartBody} from '../../shared/runs/start-body.ts'
import {findImport} from '../../sql/imports.ts'
import {listRuns} from '../../sql/runs.ts'
import {actorOf} from '../actor.ts'
import {Answer} from '../answers/common.ts'
import {job, run} from '../answers/examples.ts'
import {QueuedRun, Run, RunAnswer} from '../answers/runs.ts'
import {answerJob} from '../job-response.ts'
import {limitOf} from '../paging.ts'
import {OfImport, OfImportRun} from '../params.ts'
import {ofPlan} from '../refusal-lists.ts'
import {route} from '../route.ts'

const nothing = Object.fromEntries(Object.keys(run.counts.Accounts).map(outcome => [outcome, 0]))
const begun = {
  ...run,
  state: 'queued',
  rowsWritten: 0,
  counts: {Accounts: nothing},
  questions: 0,
  startedAt: null,
  progress: {done: 0, total: 1_200, unit: 'rows', rowsPerSecond: null, etaSeconds: null},
}

const refuseInEmbed = () =>
  new Refusal('INVALID', 'An embed token authorises its own runs, under the guard of the org. Leave runId and guard out')

export default [
  route({
    method: 'post',
    path: '/orgs/:org/imports/:id/runs',
    operationId: 'runImport',
    tag: 'Runs',
    access: {role: 'operator', embed: 'own'},
    summary: 'Run an import',
    description: `Starts a run, a dry run (\`dryRun\`) or a retry (\`retryOf\`). The run uses a snapshot of the import; later changes to the import do not affect it. A run that deletes records needs \`confirmDeletes\`. The job
ends with the run. To follow the run, use \`GET …/events\`.`,
    answers: {200: QueuedRun, 202: QueuedRun},
    refusals: [
      ...(['IMPORT_NOT_FOUND', 'IMPORT_RUNNING', 'FILE_GONE', 'NOT_READY', 'WRITES_PAUSED', 'NO_DISCOVERY', 'RUN_NOT_FOUND'] as const),
      ...(['MODULE_DISABLED', 'LIMIT_MODULES', 'FILE_NOT_HELD'] as const),
      ...(['ENCODING_REQUIRED', 'BAD_BYTES', 'FIELD_NOT_UNIQUE', 'FIELD_MAPPED'] as const),
      ...([
        'NOT_YOUR_RUN',
        'RUN_USED',
        'RUN_CONNECTOR_MISMATCH',
        'RUN_RETRIED',
        'RUN_UNDONE',
        'DRY_RUN',
        'NO_FILE',
        'SNAPSHOT_CHANGED',
      ] as const),
      ...(['FROM_FUTURE', 'UNREADABLE', 'DELETES_UNCONFIRMED', 'ROLE_REQUIRED', 'EMBED_LIMIT'] as const),
      ...(['NOT_A_DRY_RUN', 'PLAN_CHANGED', 'PLAN_EXPIRED', 'APPROVAL_REQUIRED'] as const),
      ...ofPlan,
    ],
    example: {
      body: {declaredRows: 1_200},
      answer: {run: begun, job: job('import.run')},
    },
    params: OfImport,
    body: StartBody,
    async handle(input) {
      const {db, queue, caller, params, body} = input
      const {org, person, role, embed} = caller
      if (embed && (body.runId !== undefined || body.guard !== undefined)) throw refuseInEmbed()
      const start = {org, person, role, embed, importId: params.id, ...body}
      const {runId, job} = await db.transaction(tx => startRun(tx, queue, start))
      return answerJob(input, job, runImport.name, {run: describeRun(await findImportRun(db, {org, importId: params.id, runId}))})
    },
  }),
  route({
    method: 'get',
    path: '/orgs/:org/imports/:id/runs',
    operationId: 'listImportRuns',
    tag: 'Runs',
    access: {role: 'operator', embed: 'own'},
    summary: 'List the runs of an import',
    answers: {200: Answer({runs: z.array(Run).describe('Newest first')})},
    refusals: ['IMPORT_NOT_FOUND'],
    example: {query: {limit: '50'}, answer: {runs: [run]}},
    params: OfImport,
    query: RunsFilter.pick({dryRun: true}).extend({limit: limitOf({usual: 50, most: 200})}),
    async handle({db, caller: {org, embed}, params: {id}, query: {limit, dryRun}}) {
      const found = await findImport(db, {org, id})
      if (!found) throw new Refusal('IMPORT_NOT_FOUND', 'There is no such import')
      const runs = await listRuns(db, {importNo: found.no, limit, withUndos: !embed, dryRun})
      return {
        runs: await Promise.all(runs.map(async run => describeRun({run, importId: id, ...(await readRun(db, run))}))),
      }
    },
  }),
  route({
    method: 'get',
    path: '/orgs/:org/imports/:id/runs/:run',
    operationId: 'readImportRun',
    tag: 'Runs',
    access: {role: 'operator', embed: 'own'},
    summary: 'Read a run',
    answers: {200: RunAnswer},
    refusals: ['IMPORT_NOT_FOUND', 'RUN_NOT_FOUND'],
    example: {answer: {run}},
    params: OfImportRun,
    async handle({db, caller: {org}, params}) {
      return {run: describeRun(await findImportRun(db, {org, importId: params.id, runId: params.run}))}
    },
  }),
  route({
    method: 'post',
    path: '/orgs/:org/imports/:id/runs/:run/cancel',
    operationId: 'cancelImportRun',
    tag: 'Runs',
    access: {role: 'operator', embed: 'own'},
    summary: 'Cancel a run',
    description: 'Stops the run, which ends once batches in flight are settled. An ended run is left unchanged.',
    answers: {200: RunAnswer},
    refusals: ['IMPORT_NOT_FOUND', 'RUN_NOT_FOUND'],
    example: {answer: {run: {...run, stop: {stopped: 'CANCELLED', message: 'The run was cancelled. Retry this run to continue'}}}},
    params: OfImportRun,
    async handle({db, caller, params, request}) {
      const named = {org: caller.org, importId: params.id, runId: params.run}
      await cancelRun(db, actorOf(caller, request), (await findImportRun(db, named)).run)
      return {run: describeRun(await findImportRun(db, named))}
    },
  }),
  route({
    method: 'post',
    path: '/orgs/:org/imports/:id/runs/:run/resume',
    operationId: 'resumeRun',
    tag: 'Runs',
    access: {role: 'builder'},
    summary: 'Resume a held run',
    description: 'Ends the hold of a run that its guard paused. The guard counts anew from here.',
    answers: {200: RunAnswer},
    refusals: ['IMPORT_NOT_FOUND', 'RUN_NOT_FOUND', 'RUN_NOT_HELD'],
    example: {answer: {run: {...run, state: 'queued'}}},
    params: OfImportRun,
    async handle({db, queue, caller, params, request}) {
      const named = {org: caller.org, importId: params.id, runId: params.run}
      await resumeRun(db, queue, actorOf(caller, request), (await findImportRun(db, named)).run)
      return {run: describeRun(await findImportRun(db, named))}
    },
  }),
]
