import {endEmptyBulkJobs, listOpenBulkJobs} from '../../../sql/bulk-jobs.ts'
import {keepWriteRoute} from '../../../sql/run-routes.ts'
import {listSends} from '../../../sql/sends.ts'
import type {Context} from '../context.ts'
import type {CompiledFlow} from '../model.ts'
import {awaitJob, sayFailedJob} from './await-job.ts'
import {composeBulk} from './bulk-batches.ts'
import {findKeyColumn} from './choose-write.ts'
import {settleJob} from './settle-job.ts'
import {readStoredRows} from './stored-rows.ts'

/**
 * Waits for the requested jobs of the run that still have rows in flight, and settles their rows. Unanswered rows keep unsettled entries,
 * so the pass of the flow sends them again. The pass plans again the rows that the CRM did not write.
 */
export const finishBulkJobs = async (passContext: Context, flows: readonly CompiledFlow[]): Promise<void> => {
  const ctx: Context = {...passContext, readsResults: passContext.readsResults ?? true}
  const {db, run, lease} = ctx
  await endEmptyBulkJobs(db, {run: run.no, fence: lease.fence})
  for (const job of await listOpenBulkJobs(db, run.no)) {
    const flow = flows.find(({no}) => no === job.flow)!
    const sends = (await listSends(db, run.no)).filter(({bulkJob}) => bulkJob === job.no)
    const stored = new Map((await readStoredRows(ctx, job)).map(op => [op.row.key, op]))
    const ops = sends.flatMap(({keys}) => keys.map(key => stored.get(key)!))
    const {keys} = composeBulk({keyColumn: findKeyColumn(flow)}, flow, {kind: job.operation, ops})
    ctx.log.info({job: job.job, rows: ops.length}, 'continuing a bulk job')
    const awaited = await awaitJob(ctx, job, job.job)
    const why = sayFailedJob(awaited)
    if (why !== null) await keepWriteRoute(db, {run: run.no, flow: flow.no, write: 'records', why})
    const batches = sends.map(({batch}) => batch)
    await settleJob(ctx, flow, {no: job.no, kind: job.operation, ...awaited}, {batches, ops, keys}, () => {})
  }
}
