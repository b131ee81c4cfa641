import {type BulkRows, openBulkBatches} from './bulk/bulk-batches.ts'
import type {BulkRoute} from './bulk/choose-write.ts'
import {prepareBulk, prepareUnsent} from './bulk/prepare-bulk.ts'
import {sendBulk} from './bulk/send-bulk.ts'
import {bulkFor, countBehindCanary, holdBehindCanary} from './canary/behind-canary.ts'
import {linkToParents} from './compose/link-to-parents.ts'
import type {Context} from './context.ts'
import {planBatch} from './dry-run/dry-run.ts'
import {keepEdits} from './edits/keep-edits.ts'
import {keepImages} from './images/before-images.ts'
import {findRowDecisions} from './match/match-decisions.ts'
import {findChainMatches, matchRows} from './match/match-rows.ts'
import {planUnfilled, unansweredUpdateMs, updateUnlessUnchanged} from './match/needed-updates.ts'
import {planStep} from './match/plan-rows.ts'
import {dropChanged} from './match/unchanged-records.ts'
import type {CompiledFlow, ImportRow, StepKind} from './model.ts'
import {emptyPipeline, type PreparedChunk, type RowPipeline} from './pipeline-state.ts'
import {assertRunning, batchHooks, isFull, trackBatch, trackWork, waitInPipeline} from './pipeline-work.ts'
import {openRowWindow} from './read/window.ts'
import {remarkOlderValues} from './recover/older-values.ts'
import {openUnansweredCreates} from './recover/unanswered-creates.ts'
import {chooseOps} from './sealed-plan/choose-planned.ts'
import {keepToPlan} from './sealed-plan/keep-to-plan.ts'
import {batchesAfterLoss, isBatchFull, listLateKinds, stepKinds, takeBatch} from './send/batch-size.ts'
import {backOffMs} from './send/crm-retry.ts'
import {forgetNested, nestRows} from './send/nested-rows.ts'
import {type BatchResult, sendBatch} from './send/send-batch.ts'
import {trackInFlight} from './send/track-in-flight.ts'
import {LEDGERED, logOutcome} from './settle/log-entries.ts'
import {emptySettlement, type SettlementParts} from './settle/settler.ts'
import {logSkipped} from './settle/skipped-rows.ts'
import {failedRowOf, settleFailures, settleInherited, settleRows} from './settle/unsent-rows.ts'
import {groupByStep, type Op} from './settle/verdict.ts'

export const openRowPipeline = (ctx: Context, flow: CompiledFlow, lowWater: number, route: BulkRoute | null = null): RowPipeline => {
  const started = emptyPipeline()
  const unanswered = openUnansweredCreates({
    ctx,
    flow,
    flying: started.inFlight,
    over: started.closing.signal,
    assertGoing: () => assertRunning(pipeline),
    follow: work => trackWork(pipeline, work),
    leave: row => pipeline.window.leave(row.number),
    end: rows => releaseRows(pipeline, rows),
    again: rows => {
      resendCreates(pipeline, rows)
      // Wakes `waitForChange`, which sends a part-filled batch although other rows are still being searched for.
      pipeline.change.notify()
    },
  })
  const pipeline: RowPipeline = {
    ...started,
    ctx,
    flow,
    bulk: route && openBulkBatches(route, flow),
    window: openRowWindow(lowWater, route?.rowsPerJob),
    unanswered,
  }
  return pipeline
}

/** Settles failures and inherited rows of a chunk. Plans the rows that get all their locks; the others wait. */
export const planChunk = async (pipeline: RowPipeline, {rows, failures, unmatched, inherited}: PreparedChunk) => {
  assertRunning(pipeline)
  const lost = new Set(unmatched.map(({row}) => row))
  const failed = [...failures.map(failedRowOf), ...unmatched]
  if (failed.length) trackWork(pipeline, settleFailures(pipeline, failed))
  if (inherited.length) trackWork(pipeline, settleInherited(pipeline, inherited))
  const ready = rows.filter(row => !lost.has(row) && pipeline.locks.acquire(row))
  if (ready.length) await planRows(pipeline, ready)
}

export const waitForRoom = async (pipeline: RowPipeline) => {
  flushPartFilled(pipeline, listLateKinds(pipeline))
  const late = pipeline.window.isStretched() && pipeline.bulk?.takeLate(pipeline.window.lowWater() + 1)
  if (late) trackWork(pipeline, sendPipelineBulk(pipeline, late))
  // At the row limit, open batches wait until resent rows are settled. So resent rows must not wait for rows that fill their batch.
  const areSlotsFree = () =>
    pipeline.underWay.size - pipeline.unanswered.steps() - countBehindCanary(pipeline) < pipeline.ctx.config.CRM_SLOTS
  while (isFull(pipeline)) await waitForChange(pipeline, pipeline.resending.size > 0 || areSlotsFree())
}

export const finishRows = async (pipeline: RowPipeline) => {
  const {window, underWay, partBatches} = pipeline
  while (window.count() > 0 || underWay.size > 0 || partBatches.create.length > 0) await waitForChange(pipeline)
}

/** Ends the waits of the pass. Resolves when no work is in progress, whether the work succeeded or failed. */
export const drainPipeline = async ({underWay, closing}: RowPipeline) => {
  closing.abort()
  while (underWay.size) await Promise.allSettled(underWay)
}

/** Waits for a change. `goPartFilled`: sends part-filled batches first, so that slots do not idle. If false, they wait for further rows. */
const waitForChange = async (pipeline: RowPipeline, goPartFilled = true) => {
  assertRunning(pipeline)
  const changed = pipeline.change.next()
  if (goPartFilled) flushPartFilled(pipeline)
  flushBulk(pipeline, goPartFilled && pipeline.underWay.size === 0)
  if (goPartFilled) flushPartFilled(pipeline)
  if (pipeline.underWay.size === 0)
    throw new Error(`The row pipeline stalled: ${pipeline.window.count()} rows are open and no step is in progress`)
  await changed
}

const flushPartFilled = (pipeline: RowPipeline, some: readonly StepKind[] = stepKinds) => {
  for (const kind of some) while (pipeline.partBatches[kind].length) flushBatch(pipeline, kind)
}

/** Plans rows that hold their locks. Looks up the chain's own writes while the locks are held, so that the result cannot change. */
const planRows = async (pipeline: RowPipeline, held: ImportRow[]) => {
  const {ctx, flow, locks} = pipeline
  const linked = await linkToParents(pipeline, held)
  releaseRows(pipeline, linked.ended)
  const rows = pipeline.unanswered.takeUp(linked.rows)
  const ours = await findChainMatches(ctx, flow, rows)
  const decisions = await findRowDecisions(ctx, flow, rows)
  const settled = emptySettlement()
  const skipped: ImportRow[] = []
  const [updates, uncompared, unread]: [Op[], Op[], Op[]] = [[], [], []]
  const creates: ImportRow[] = []
  await dropChanged(ctx, flow, rows)
  for (const row of rows) {
    const found = row.matchKey ? ours.get(row.matchKey.toString('latin1')) : undefined
    const planned = keepToPlan(row, planStep(row, flow, found, decisions.get(row)))
    if (planned.do === 'create') creates.push(row)
    else if (planned.do === 'wait') {
      logOutcome({flow, settled}, row, 'unanswered', {...planned, attempt: row.attempt})
      skipped.push(row)
    } else if (planned.do === 'skip') {
      logSkipped(ctx, flow, settled, row, planned)
      skipped.push(row)
    } else if (planned.do === 'delete') {
      if (locks.acquireRecord(row, planned.target)) addToBatch(pipeline, 'delete', {row, target: planned.target})
    } else {
      // The subform's own flow replaces the subform rows of an existing record, so they are not nested.
      if (flow.nestedFlows) forgetNested(row)
      // An update that this run sent without an answer is sent again. A comparison would report the sent values as unchanged.
      const isUncompared = flow.comparedFields !== null && !flow.edits && row.unchanged === undefined && row.unansweredSends === 0
      if (locks.acquireRecord(row, planned.target))
        (row.onlyAbsent ? unread : isUncompared ? uncompared : updates).push({row, target: planned.target})
    }
  }
  if (creates.length) await addCreates(pipeline, creates)
  const on = updateHooksOf(pipeline)
  if (unread.length) await planUnfilled(pipeline, unread, on)
  if (uncompared.length) trackWork(pipeline, updateUnlessUnchanged(pipeline, uncompared, on))
  // The records of bulk updates are read when their file is prepared.
  const forBulk = new Set(flow.edits ? updates.filter(op => bulkFor(pipeline, 'update')?.holds('update', op)) : [])
  const forRecords = updates.filter(op => !forBulk.has(op))
  const kept = await keepEdits(ctx, flow, forRecords, {ours, settled})
  skipped.push(...kept.skipped)
  await addUpdates(pipeline, [...kept.updates, ...forBulk])
  if (skipped.length > 0) trackWork(pipeline, settleSkipped(pipeline, settled, skipped))
}

const settleSkipped = (pipeline: RowPipeline, settled: SettlementParts, rows: ImportRow[]) =>
  settleRows(pipeline, settled, rows).then(() => releaseRows(pipeline, rows))

const addUpdates = async (pipeline: RowPipeline, ops: Op[]) => {
  await remarkOlderValues(pipeline.ctx, pipeline.flow, ops)
  for (const op of ops) addUpdate(pipeline, op)
}

const updateHooksOf = (pipeline: RowPipeline) => ({
  update: (ops: Op[]) => addUpdates(pipeline, ops),
  plan: (rows: ImportRow[]) => planRows(pipeline, rows),
  end: (rows: ImportRow[]) => releaseRows(pipeline, rows),
})

/** Releases the locks of rows that ended. Plans the rows that now hold all their locks. */
const releaseRows = (pipeline: RowPipeline, rows: ImportRow[]) => {
  pipeline.ctx.canary?.end(rows)
  const freed = rows.flatMap(row => pipeline.locks.release(row)).sort((a, b) => a.number - b.number)
  if (freed.length === 0) return
  for (const row of freed) Object.assign(row, {known: undefined, isKnownById: false})
  const isKnown = rows.every(({counted}) => counted !== null && LEDGERED.has(counted))
  trackWork(pipeline, isKnown ? planRows(pipeline, freed) : replanRows(pipeline, freed))
}

/** Matches rows again and plans them, because the earlier lock holder may have created a record that the ledger does not know. */
const replanRows = async (pipeline: RowPipeline, rows: ImportRow[]) => {
  const unmatched = await matchRows(pipeline.ctx, pipeline.flow, rows)
  const failed = new Set(unmatched.map(({row}) => row))
  if (failed.size > 0) await settleFailures(pipeline, unmatched)
  releaseRows(pipeline, [...failed])
  const ready = rows.filter(row => !failed.has(row))
  if (ready.length > 0) await planRows(pipeline, ready)
}

/** Adds an update once the CRM can no longer execute an unanswered update of the same record by another row. */
const addUpdate = (pipeline: RowPipeline, op: Op): void => {
  const waitMs = unansweredUpdateMs(pipeline, op)
  const addLater = () => waitInPipeline(pipeline, waitMs).then(() => addUpdate(pipeline, op))
  if (waitMs === 0) addToBatch(pipeline, 'update', op)
  else trackWork(pipeline, addLater())
}

const addCreates = async (pipeline: RowPipeline, rows: ImportRow[]) => {
  const {ready, ended} = pipeline.flow.nestedFlows ? await nestRows(pipeline, rows) : {ready: rows, ended: []}
  for (const row of ended) pipeline.resending.delete(row)
  for (const row of ready) addToBatch(pipeline, 'create', {row, target: null})
  releaseRows(pipeline, ended)
}

const addToBatch = (pipeline: RowPipeline, kind: StepKind, op: Op) => {
  if (bulkFor(pipeline, kind)?.add(kind, op)) return flushBulk(pipeline)
  pipeline.partBatches[kind].push(op)
  if (isBatchFull(pipeline, kind)) flushBatch(pipeline, kind)
}

/** Queues creates to be sent again, because a search found no record of them. */
const resendCreates = (pipeline: RowPipeline, rows: ImportRow[]) => {
  for (const row of rows) if (row.unansweredSends > 0) pipeline.resending.add(row)
  if (pipeline.flow.nestedFlows) return trackWork(pipeline, addCreates(pipeline, rows))
  for (const row of rows) addToBatch(pipeline, 'create', {row, target: null})
}

const flushBatch = (pipeline: RowPipeline, kind: StepKind) => {
  const ops = takeBatch(pipeline, kind)
  if (!pipeline.failure && ops.length) trackWork(pipeline, sendPipelineBatch(pipeline, kind, ops))
}

const sendPipelineBatch = async (pipeline: RowPipeline, kind: StepKind, chosen: Op[]) => {
  const {ctx, flow} = pipeline
  const {ops: planned, ended} = await chooseOps(pipeline, kind, chosen)
  for (const row of ended) pipeline.resending.delete(row)
  releaseRows(pipeline, ended)
  const ops = holdBehindCanary(pipeline, kind, planned, {
    follow: work => trackWork(pipeline, work),
    wait: ms => waitInPipeline(pipeline, ms),
    end: rows => releaseRows(pipeline, rows),
    send: op => addToBatch(pipeline, kind, op),
  })
  if (ops.length === 0) return
  if (kind !== 'delete') await keepImages(ctx, flow, ops)
  const on = batchHooks(pipeline)
  const result = ctx.run.dryRun
    ? await planBatch(ctx, flow, kind, ops, on.leave)
    : await trackBatch(pipeline, leaving => sendBatch(ctx, flow, kind, ops, {...on, leaving}))
  takeResult(pipeline, kind, result)
}

const takeResult = (pipeline: RowPipeline, kind: StepKind, {next, unsent, ending}: BatchResult) => {
  if (ending) throw ending
  for (const row of next.keys()) pipeline.resending.delete(row)
  for (const op of unsent) addToBatch(pipeline, kind, op)
  const {end, replan, again, wait: lost} = groupByStep(next)
  releaseRows(pipeline, end)
  if (replan.length) trackWork(pipeline, planRows(pipeline, replan))
  if (again.length) trackWork(pipeline, sendLater(pipeline, kind, again))
  if (lost.length === 0) return
  pipeline.smallBatchesLeft = batchesAfterLoss
  trackWork(pipeline, pipeline.unanswered.settle(lost))
}

/** Sends the next full bulk file, unless one is in progress. `isIdle`: no other work is in progress, so a part-filled file goes too. */
const flushBulk = (pipeline: RowPipeline, isIdle = false) => {
  const {bulk} = pipeline
  if (!bulk || bulk.isBusy || pipeline.failure) return
  const rows = bulk.takeFull() ?? (isIdle ? bulk.takeIdle() : null)
  if (!rows) return
  bulk.isBusy = true
  const sent = sendPipelineBulk(pipeline, rows).finally(() => Object.assign(bulk, {isBusy: false}))
  trackWork(pipeline, sent)
}

const writeByRecords = (pipeline: RowPipeline, {kind, ops}: BulkRows) => {
  for (const {row} of ops) row.isByRecords = true
  for (const op of ops) addToBatch(pipeline, kind, op)
}

const sendPipelineBulk = async (pipeline: RowPipeline, waiting: BulkRows) => {
  const {ctx, flow, bulk} = pipeline
  const {rows, ended, others} = await prepareBulk(pipeline, waiting)
  releaseRows(pipeline, ended)
  writeByRecords(pipeline, {kind: rows.kind, ops: others})
  if (rows.ops.length === 0 || waiting.isForRecords || !bulk!.isWorthIt(rows)) return writeByRecords(pipeline, rows)
  const send = (leaving: () => void) => sendBulk(ctx, flow, bulk!.route, rows, {...batchHooks(pipeline), leaving})
  // A job of updates creates no record, so a search for lost creates does not wait for it.
  const result = await (rows.kind === 'create' ? trackInFlight(pipeline.inFlight, send) : send(() => {}))
  if (result.offWhy !== null) await bulk!.switchOff(result.offWhy)
  const left = await prepareUnsent(pipeline, rows.kind, result)
  releaseRows(pipeline, left.ended)
  takeResult(pipeline, rows.kind, {...result, ...left})
}

const sendLater = async (pipeline: RowPipeline, kind: StepKind, rows: ImportRow[]) => {
  for (const row of rows) pipeline.resending.add(row)
  await waitInPipeline(pipeline, backOffMs(Math.max(...rows.map(({unansweredSends}) => unansweredSends))))
  for (const row of rows) addToBatch(pipeline, kind, {row, target: row.decided!.target})
}
