import {hostname} from 'node:os'
import type {Crm} from '../../shared/crm/crm.ts'
import {Refusal} from '../../shared/errors.ts'
import {emptySnapshot} from '../../shared/mapping/flows/snapshot.ts'
import {announceHeld} from '../../shared/notifications/run-ended.ts'
import {readSnapshot} from '../../shared/runs/names.ts'
import {adviseToContinue} from '../../shared/runs/stop.ts'
import type {Log} from '../../shared/telemetry/log.ts'
import {runEnded} from '../../shared/telemetry/metrics/rows.ts'
import {listOpenBulkJobs} from '../../sql/bulk-jobs.ts'
import {findWriteStatus} from '../../sql/connectors.ts'
import {admit} from '../../sql/ledger.ts'
import {isOpenOrg} from '../../sql/orgs.ts'
import {isOutage} from '../../sql/outage.ts'
import {type RunHead, takeLease, writeStop} from '../../sql/run-heads.ts'
import {listLateUpdates, outcomeNo, outcomeNoAt} from '../../sql/run-log.ts'
import {beginRun, findRun, pauseRun, type Run} from '../../sql/runs.ts'
import type {WorkerDeps} from '../deps.ts'
import {awaitAbandonedJobs} from './bulk/await-job.ts'
import {compileFlows} from './compose/compiled-flow.ts'
import {openExpressions} from './compose/expressions.ts'
import {openLookups} from './compose/lookups.ts'
import type {Context, LedgerContext, OfflineContext} from './context.ts'
import {openValueStore} from './dry-run/plan-values.ts'
import {openImageStore} from './images/before-images.ts'
import {executeIsolated, mostCrashes, needsIsolation} from './recover/crash-isolation.ts'
import {openCrmClock} from './recover/crm-clock.ts'
import {findFieldStop} from './recover/field-stop.ts'
import {openIdempotency} from './recover/idempotency-value.ts'
import {openLateUpdates} from './recover/late-updates.ts'
import {handoverSecondsOf, holdLease, type Lease} from './recover/lease.ts'
import {settleOpenSends} from './recover/settle-open-sends.ts'
import {openRunCost, type RunCost} from './run-cost.ts'
import {Drained, LeaseLost, RunPaused, RunStopped} from './run-endings.ts'
import {openPlan} from './sealed-plan/open-plan.ts'
import {answerSecondsOf, overSecondsOf} from './send/admission.ts'
import {classifyRefusal, findWriteBlock, probeQuota, runHeld} from './send/crm-retry.ts'
import {openIntents} from './send/intents.ts'
import {closeRun} from './settle/close-run.ts'
import {openSettler} from './settle/settler.ts'
import {runUndo} from './undo/undo.ts'
import {writeFlows} from './write-flows.ts'

/**
 * The result of an execution. `ended`: nothing is left to do. `held`: another owner has the run, or another run uses the child process.
 * `released`: the run continues later, in this or another process.
 */
export type RunState = 'ended' | 'held' | 'released'

export type EngineDeps = Pick<WorkerDeps, 'config' | 'db' | 'hot' | 'storage' | 'crm' | 'budget'>
type RunRef = {org: string; id: string}
/** `onLeased`: called when this process has the run's lease. */
export type ExecuteOptions = {signal: AbortSignal; log: Log; onLeased?: () => void}

/**
 * Executes the run from its current state until it ends, pauses, is drained or loses its lease. A run that may have crashed its workers
 * executes in a child process. A run of a closed org is not executed.
 */
export const executeRun = async (deps: EngineDeps, name: RunRef, options: ExecuteOptions): Promise<RunState> => {
  const found = await findRun(deps.db, name)
  if (!found || hasEnded(found)) return 'ended'
  if (!(await isOpenOrg(deps.db, name.org))) return 'released'
  return (await needsIsolation(deps, found.no)) ? executeIsolated(deps, found, options) : executeUnderLease(deps, found, options)
}

/** Executes the run in this process, without crash isolation. */
export const executeRunInProcess = async (deps: EngineDeps, name: RunRef, options: ExecuteOptions): Promise<RunState> => {
  const found = await findRun(deps.db, name)
  return found ? executeUnderLease(deps, found, options) : 'ended'
}

const executeUnderLease = async (
  deps: EngineDeps,
  {no, org, id}: Run,
  {signal, log, onLeased: onTaken}: ExecuteOptions,
): Promise<RunState> => {
  const {config, db, hot} = deps
  const head = await takeLease(db, {run: no, owner: `${hostname()}:${process.pid}`, seconds: config.LEASE_SECONDS})
  if (!head) return 'held'
  onTaken?.()
  const lease = holdLease({db, hot, run: no, head, seconds: config.LEASE_SECONDS, leaveSeconds: handoverSecondsOf(config), log})
  let crashed = false
  try {
    // Another owner may have continued or ended the run before this process got the lease.
    const run = await findRun(db, {org, id})
    return !run || hasEnded(run) ? 'ended' : await execute(openLedgerContext(deps, run, {head, lease, drain: signal, log}), deps, head)
  } catch (error) {
    // An outage of Postgres is not a crash that the run causes.
    crashed = !isOutage(error)
    throw error
  } finally {
    await lease.release(crashed)
  }
}

const hasEnded = ({state}: Run) => state === 'ended' || state === 'authorised'

type OpenContextInput = {head: RunHead; lease: Lease; drain: AbortSignal; log: Log}

const openLedgerContext = (
  {config, db, hot, storage}: EngineDeps,
  run: Run,
  {head, lease, drain, log}: OpenContextInput,
): LedgerContext => {
  const chain = run.chainNo ?? run.no
  const leaseSeconds = config.LEASE_SECONDS
  let batch = head.nextBatch
  log.info({fence: head.fence, state: run.state}, 'run taken')
  return {
    config,
    db,
    hot,
    storage,
    run,
    chain,
    lease,
    log,
    retried: run.retryChain,
    planned: {count: countPlanned(head)},
    settler: openSettler({db, hot, run: run.no, chain, lease, leaseSeconds, answerSeconds: answerSecondsOf({config}), log}),
    intend: openIntents(([first, ...others]) => admit(hot, first!, ...others)),
    nextBatch: () => batch++,
    signal: AbortSignal.any([lease.lost, drain]),
  }
}

const countPlanned = ({counts}: RunHead) =>
  counts.reduce((sum, count, at) => sum + (outcomeNoAt(at) === outcomeNo('planned') ? count : 0), 0)

type CrmDeps = Pick<WorkerDeps, 'crm' | 'budget'>

/**
 * Executes the run to its end. A pause, a drain or a lost lease ends the execution early, even while the run stops or closes. A pause is
 * stored. Any other error is thrown.
 */
const execute = (ctx: LedgerContext, reach: CrmDeps, head: RunHead): Promise<RunState> =>
  executeToEnd(ctx, reach, head).catch(error => pauseOrRelease(ctx, findEnding(ctx, error)))

const executeToEnd = async (ctx: LedgerContext, reach: CrmDeps, head: RunHead): Promise<RunState> => {
  // The run's data may cause the crashes, so the run reads no further data.
  const hasCrashed = head.crashes >= mostCrashes && ctx.run.state !== 'closing'
  let reason = head.stop?.stopped ?? 'done'
  try {
    if (hasCrashed) throw tooManyCrashes(ctx.run)
    await settleAbandonedBatches(ctx, {keepsJobs: true})
    await writeRows(ctx, reach, head)
  } catch (error) {
    const ending = findEnding(ctx, error)
    if (!(ending instanceof RunStopped)) throw ending
    await writeStop(ctx.db, {run: ctx.run.no, stop: ending.stop})
    await settleAbandonedBatches(ctx, {piecewise: hasCrashed})
    ctx.log.info({stop: ending.stop}, 'run stopped')
    reason = ending.stop.stopped
  }
  await closeRun(ctx)
  runEnded(reason)
  ctx.log.info('run ended')
  return 'ended'
}

const settleAbandonedBatches = async (ctx: LedgerContext, how: {piecewise?: boolean; keepsJobs?: boolean}) => {
  const rows = await settleOpenSends(ctx, how)
  if (rows) ctx.log.warn({rows}, 'settled rows that were left in flight')
}

/**
 * Executes the flows of the run, or the undo if the run is one. Throws a stop or a pause if the run must not write. Does nothing if the run
 * is already closing.
 */
const writeRows = async (ledgerContext: LedgerContext, {crm, budget}: CrmDeps, head: RunHead) => {
  const {db, run, lease} = ledgerContext
  if (run.state === 'closing') return
  // The CRM may still execute bulk jobs of a stopped run, so the run waits for their results.
  const hasBulkJobs = (await listOpenBulkJobs(db, run.no)).length > 0
  if (head.stop && !hasBulkJobs) throw new RunStopped(head.stop)
  if (head.held && !head.stop) throw runHeld(head.held)
  const offline = await readOfflineContext(ledgerContext)
  const compiledFlows = compileFlows(offline.snapshot)
  const stop = head.stop ?? (await findFieldStop(offline))
  const block = findWriteBlock(await findWriteStatus(db, run.no), run)
  // A stopped run only reads the results of its bulk jobs, so paused writes do not delay it.
  if (block && !(stop && hasBulkJobs && block instanceof RunPaused)) throw block
  if (!(await beginRun(db, {no: run.no, fence: lease.fence}))) throw new LeaseLost('Another owner took the run')
  // A run that began can be undone, even if it is stopped before it opens the connection.
  const images = await openImageStore(offline)
  if (stop && !hasBulkJobs) throw new RunStopped(stop)
  if (stop) await writeStop(db, {run: run.no, stop})
  const idempotencyValueOf = await openIdempotency(offline)
  const cost = openRunCost(offline)
  const opened: {close(): void | Promise<void>}[] = [cost]
  try {
    const connection = await openConnection(offline, crm, cost.note)
    const config = {...offline.config, CRM_LAG_SECONDS: Math.max(offline.config.CRM_LAG_SECONDS, connection.lagSeconds)}
    const slots = budget.open(connection.connector, run.no)
    const expressions = openExpressions(run)
    opened.push(slots, expressions)
    const earlier = await listEarlierChains(offline)
    const ctx: Context = {
      ...offline,
      canary: null,
      config,
      connection,
      idempotencyValueOf,
      slots,
      expressions,
      lookups: openLookups(),
      values: openValueStore(offline),
      images,
      plan: await openPlan(offline),
      refusedSingles: {count: 0},
      crmClock: openCrmClock(offline),
      lateUpdates: openLateUpdates(overSecondsOf({config}) * 1000, await listKnownUpdates({...offline, config}, head, earlier)),
    }
    await probeQuota(ctx)
    await awaitAbandonedJobs(ctx, earlier)
    if (run.undoOf !== null) return await runUndo(ctx)
    await writeFlows(ctx, compiledFlows, {...head, stop})
  } finally {
    await Promise.all(opened.map(one => one.close()))
  }
}

/**
 * Lists unanswered updates of earlier owners, of earlier runs and of the run to undo. Makes no query for the first owner of a run without
 * earlier runs.
 */
const listKnownUpdates = async (ctx: LedgerContext, {fence}: RunHead, earlier: readonly number[]) => {
  const {db, run, chain} = ctx
  if (fence === 1 && earlier.length === 0) return []
  return listLateUpdates(db, {run: run.no, chains: [...new Set([chain, ...earlier])], seconds: overSecondsOf(ctx)})
}

/**
 * Lists the chains whose earlier runs may have written the records of this run. These are the retried chain, and the chain of the run to undo.
 */
const listEarlierChains = async ({db, run, retried}: LedgerContext): Promise<number[]> => {
  const undone = run.undoOf === null ? null : await findRun(db, {org: run.org, id: run.undoOf})
  return [...(retried === null ? [] : [retried]), ...(undone ? [undone.chainNo ?? undone.no] : [])]
}

const readOfflineContext = async (ledgerContext: LedgerContext): Promise<OfflineContext> => {
  const {db, run} = ledgerContext
  // The undo of an external run has no snapshot.
  const snapshot = run.snapshotNo === null ? emptySnapshot(run) : await readSnapshot(db, run.snapshotNo).catch(pauseForNewerVersion)
  return {...ledgerContext, snapshot}
}

/**
 * Pauses a run whose snapshot has a newer format. During a rollout, old and new workers execute the same runs. Any other refusal becomes an
 * error.
 */
const pauseForNewerVersion = (error: unknown): never => {
  if (!(error instanceof Refusal)) throw error
  if (error.code !== 'FROM_FUTURE') throw new Error(error.message, {cause: error})
  throw new RunPaused('FROM_FUTURE', 'A newer version of this service started this run and will continue it. Update the workers', 30)
}

const tooManyCrashes = (run: Run) => {
  const why = `The run failed or crashed its process ${mostCrashes} times without settling a row. See the logs of the workers for the cause`
  return new RunStopped({stopped: 'ENGINE_FAILED', message: `${why}. ${adviseToContinue(run)}`})
}

const openConnection = async (ctx: LedgerContext, crm: Crm, onCall: RunCost['note']) => {
  try {
    return await crm.open(ctx.run.connectorId!, {slots: 'own', onCall})
  } catch (error) {
    throw error instanceof Refusal ? await classifyRefusal(ctx, error) : error
  }
}

/** Returns why the execution ended. An aborted wait rejects with an AbortError, so the cause is taken from the lease and the signal. */
const findEnding = ({lease, signal}: LedgerContext, error: unknown) => {
  if (lease.lost.aborted) return lease.lost.reason
  if (signal.aborted && !(error instanceof RunStopped)) return new Drained('The process was asked to stop')
  return error
}

const pauseOrRelease = async ({db, run, lease, log}: LedgerContext, ending: unknown): Promise<RunState> => {
  if (ending instanceof LeaseLost) {
    log.warn({err: ending}, 'lease lost')
    return 'held'
  }
  if (ending instanceof RunPaused) {
    const {code, message, seconds} = ending
    const pause = {no: run.no, fence: lease.fence, pause: {code, message}, seconds}
    const held = code === 'GUARD' ? lease.heldSeen() : null
    await db.transaction(async tx => {
      const isPaused = await pauseRun(tx, pause)
      if (isPaused && held && run.pause?.code !== 'GUARD') await announceHeld(tx, run, held)
    })
    log.warn({code, seconds}, 'run paused')
    return 'released'
  }
  if (ending instanceof Drained) return 'released'
  throw ending
}
