import {finishFlow, listCursors} from '../../sql/run-cursors.ts'
import type {RunHead} from '../../sql/run-heads.ts'
import {finishBulkJobs} from './bulk/finish-jobs.ts'
import {openCanary, openCanaryGates} from './canary/canary.ts'
import {indexParents} from './compose/parent-index.ts'
import type {Context} from './context.ts'
import {openMarks} from './edits/record-marks.ts'
import type {CompiledFlow} from './model.ts'
import {runPass} from './pass.ts'
import {compilePatchPlan} from './patch/build-patches.ts'
import {type CompiledPatchFlow, runPatchPass} from './patch/patch-pass.ts'
import {RunStopped} from './run-endings.ts'
import {knowsChanges} from './sealed-plan/describe-steps.ts'
import {orderSteps} from './sealed-plan/order-steps.ts'
import {isSubform} from './subform/record-order.ts'
import {runSubformPass} from './subform/subform-pass.ts'
import {compileTagFlow, runTagPass} from './tag/tag-pass.ts'
import {openVerifier, type Verifier} from './verify/verify.ts'

/** Executes the passes of a run that imports rows, one after another. Verifies the written rows if the run has a verification. */
export const writeFlows = async (ctx: Context, flows: CompiledFlow[], head: RunHead): Promise<void> => {
  await indexParents(ctx, flows)
  await openMarks(ctx, flows)
  const patches = ctx.snapshot.flows.flatMap(flow => compilePatchPlan(flow, ctx.snapshot, ctx.retried !== null) ?? [])
  await openMarks(ctx, patches)
  const gates = ctx.run.dryRun ? null : openCanaryGates(head)
  const verifier = await openVerifier({...ctx, readsResults: true}, {flows: [...flows, ...patches], hasCanary: gates !== null})
  ctx.canary = gates && verifier && openCanary(ctx, gates, verifier)
  try {
    await runPasses(ctx, flows, patches, head.stop)
    await verifier?.finish()
  } catch (error) {
    if (error instanceof RunStopped) await endStopped(ctx, flows, verifier)
    throw error
  } finally {
    await verifier?.close()
  }
}

/**
 * `stop`: why the run was stopped before this process became its owner; null if it was not stopped. A stopped run only finishes the bulk jobs
 * that the CRM may execute.
 */
const runPasses = async (ctx: Context, flows: CompiledFlow[], patches: CompiledPatchFlow[], stop: RunHead['stop']) => {
  const {db, run} = ctx
  await finishBulkJobs(stop ? {...ctx, readsResults: 'afterStop'} : ctx, flows)
  if (stop) throw new RunStopped(stop)
  const cursors = await listCursors(db, run.no)
  for (const compiled of flows) {
    const {lowWater, done} = cursors.find(({flow}) => flow === compiled.no)!
    if (done) continue
    await (isSubform(compiled) ? runSubformPass(ctx, compiled, lowWater) : runPass(ctx, compiled, lowWater))
    await finishFlow(db, {run: run.no, flow: compiled.no})
  }
  // Patches need the records of all flows.
  for (const compiled of patches) await runPatchPass(ctx, compiled)
  await tagRecords(ctx)
  if (run.dryRun && knowsChanges(ctx)) await orderSteps(ctx)
}

/** Runs the tag passes. They come last, so a failed tag pass leaves no row unwritten. A dry run has no records to tag. */
const tagRecords = async (ctx: Context) => {
  if (ctx.run.dryRun || !ctx.connection.addTags) return
  for (const compiled of ctx.snapshot.flows.flatMap(flow => compileTagFlow(flow, ctx.snapshot) ?? [])) await runTagPass(ctx, compiled)
}

/**
 * Settles the bulk jobs whose wait ended early, because the CRM may execute them. Then verifies the written rows. If the verification
 * fails, the run ends nevertheless and counts the rows that were not read back.
 */
const endStopped = async (ctx: Context, flows: CompiledFlow[], verifier: Verifier | null) => {
  const {log, lease} = ctx
  await finishBulkJobs({...ctx, readsResults: 'afterStop'}, flows)
  try {
    await verifier?.finish({isStopped: true})
  } catch (error) {
    lease.lost.throwIfAborted()
    log.warn({err: error}, 'rows of a stopped run were not verified')
  }
}
