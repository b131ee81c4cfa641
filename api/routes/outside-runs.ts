import {describeRun} from '../../shared/runs/describe.ts'
import {findOrgRun} from '../../shared/runs/find.ts'
import {takeLease} from '../../shared/runs/outside.ts'
import {ProgressBody, tellProgress} from '../../shared/runs/progress.ts'
import {assertEntries, EntriesBody, logEntries} from '../../shared/writes/entries.ts'
import {outsideRun, runId} from '../answers/examples.ts'
import {Lease, RunAnswer} from '../answers/runs.ts'
import {Logged} from '../answers/writes.ts'
import {runAskerOf} from '../askers.ts'
import {OfRunId} from '../params.ts'
import {ofOutsideRun} from '../refusal-lists.ts'
import {route} from '../route.ts'

/** What an engine outside this service tells of its run, which lives by these calls and by its writes. */
export default [
  route({
    method: 'post',
    path: '/entitlements/runs/:runId/lease',
    access: {role: 'operator'},
    summary: 'Take the lease of a run, or renew it',
    description: `An engine of your own holds its import by this. Every call of the run renews it; one that was silent for longer takes it again, while no other
run has the import.`,
    answers: {200: Lease},
    refusals: ['RUN_NOT_FOUND', 'NOT_YOUR_RUN', 'RUN_USED', 'RUN_ENDED', 'FILE_GONE', 'IMPORT_RUNNING'],
    example: {answer: {runId, leaseUntil: '2026-03-01T08:32:00.000Z', leaseSeconds: 120}},
    params: OfRunId,
    async handle({db, caller, params: {runId}}) {
      return {runId, ...(await db.transaction(tx => takeLease(tx, runAskerOf(caller), runId)))}
    },
  }),

  route({
    method: 'post',
    path: '/entitlements/runs/:runId/entries',
    access: {role: 'operator'},
    summary: 'Log rows that were settled without writing them',
    description: 'A row that failed or was left as it is counts as that in the run, unless it has been sent.',
    answers: {200: Logged},
    refusals: [...(['BATCH_SIZE', 'WRITE_ID_REUSED', 'CONNECTION_REQUIRED', 'MODULE_NOT_FOUND'] as const), ...ofOutsideRun],
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
    body: EntriesBody,
    handle({db, caller, params: {runId}, body}) {
      assertEntries(body)
      return db.transaction(tx => logEntries(tx, runAskerOf(caller), {runId, ...body}))
    },
  }),

  route({
    method: 'post',
    path: '/entitlements/runs/:runId/progress',
    access: {role: 'operator'},
    summary: 'Say how far a run is, or that it is over',
    description:
      'A run of an engine of your own that writes nothing through this service is metered by what this says: past its rows it is stopped.',
    answers: {200: RunAnswer},
    refusals: ofOutsideRun,
    example: {body: {rowsWritten: 400}, answer: {run: outsideRun}},
    params: OfRunId,
    body: ProgressBody,
    async handle({db, caller, params: {runId}, body}) {
      await db.transaction(tx => tellProgress(tx, runAskerOf(caller), {runId, ...body}))
      return {run: describeRun(await findOrgRun(db, {org: caller.org, runId}))}
    },
  }),
]
