import {z} from 'zod'
import {describeRun} from '../../shared/runs/describe.ts'
import {assertEntries, EntriesBody, logEntries} from '../../shared/runs/external/entries.ts'
import {ProgressBody, reportProgress} from '../../shared/runs/external/progress.ts'
import {takeLease} from '../../shared/runs/external/run.ts'
import {findOrgRun} from '../../shared/runs/find.ts'
import {Answer, Count, Id, Moment} from '../answers/common.ts'
import {run, runId} from '../answers/examples.ts'
import {RunAnswer} from '../answers/runs.ts'
import {runAskerOf} from '../callers.ts'
import {OfRunId} from '../params.ts'
import {ofExternalRun} from '../refusal-lists.ts'
import {route} from '../route.ts'

const Seconds = (what: string) => z.int().nonnegative().describe(`${what}, in seconds`)

const externalRun = {...run, engine: 'outside', importId: null, progress: null, questions: 0}

const Lease = Answer({
  runId: Id('run', 'The run'),
  leaseUntil: Moment('When the lease expires unless it is renewed'),
  leaseSeconds: Seconds('Duration of the lease from each call'),
})

/** Routes by which an external engine reports on its run. Each report and each write renews the lease. */
export default [
  route({
    method: 'post',
    path: '/entitlements/runs/:runId/lease',
    operationId: 'leaseRun',
    tag: 'Outside runs',
    access: {role: 'operator'},
    summary: 'Acquire or renew the lease of a run',
    description: `The lease reserves the import for the run of an external engine. Every call of the run renews it. An expired lease can be acquired again while no other
run has the import.`,
    answers: {200: Lease},
    refusals: ofExternalRun,
    example: {answer: {runId, leaseUntil: '2026-03-01T08:32:00.000Z', leaseSeconds: 120}},
    params: OfRunId,
    async handle({db, caller, params: {runId}}) {
      return {runId, ...(await db.transaction(tx => takeLease(tx, runAskerOf(caller), runId)))}
    },
  }),

  route({
    method: 'post',
    path: '/entitlements/runs/:runId/entries',
    operationId: 'logRunEntries',
    tag: 'Outside runs',
    access: {role: 'operator'},
    summary: 'Log rows that were settled without a write',
    description: 'Failed and unchanged rows are counted in the run, unless they have already been sent.',
    answers: {200: Answer({logged: Count('Entries that were logged')})},
    refusals: [...(['BATCH_SIZE', 'WRITE_ID_REUSED', 'CONNECTION_REQUIRED', 'MODULE_NOT_FOUND'] as const), ...ofExternalRun],
    example: {
      body: {
        writeId: 'settled-1',
        entries: [
          {rowKey: 'row-18', rowNumber: 18, module: 'Accounts', outcome: 'failed', code: 'NO_NAME', message: 'The row has no name'},
        ],
      },
      answer: {logged: 1},
    },
    params: OfRunId,
    // 1,000 entries with the longest messages in any script.
    mostBytes: 8 * 1024 ** 2,
    body: EntriesBody,
    handle({db, caller, params: {runId}, body}) {
      assertEntries(body)
      return db.transaction(tx => logEntries(tx, runAskerOf(caller), {runId, ...body}))
    },
  }),

  route({
    method: 'post',
    path: '/entitlements/runs/:runId/progress',
    operationId: 'tellRunProgress',
    tag: 'Outside runs',
    access: {role: 'operator'},
    summary: 'Report the progress or the end of a run',
    description:
      'For external runs that do not write through this service, usage is metered by these reports. The run is stopped when it exceeds its rows.',
    answers: {200: RunAnswer},
    refusals: ofExternalRun,
    example: {body: {rowsWritten: 400}, answer: {run: externalRun}},
    params: OfRunId,
    body: ProgressBody,
    async handle({db, caller, params: {runId}, body}) {
      await db.transaction(tx => reportProgress(tx, runAskerOf(caller), {runId, ...body}))
      return {run: describeRun(await findOrgRun(db, {org: caller.org, runId}))}
    },
  }),
]
