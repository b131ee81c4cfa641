import {hostname} from 'node:os'
import type {Crm} from '../../shared/crm/crm.ts'
import {Refusal} from '../../shared/errors.ts'
import type {Log} from '../../shared/log.ts'
import {runEnded} from '../../shared/metrics/rows.ts'
import {readSnapshot} from '../../shared/runs/names.ts'
import {findStanding} from '../../sql/connectors.ts'
import {admit} from '../../sql/ledger.ts'
import {isOpenOrg} from '../../sql/orgs.ts'
import {isOutage} from '../../sql/outage.ts'
import {finishFlow, listCursors} from '../../sql/run-cursors.ts'
import {type Head, takeLease, writeStop} from '../../sql/run-heads.ts'
import {listLateUpdates, outcomeNo, outcomeNoAt} from '../../sql/run-log.ts'
import {beginRun, findRun, pauseRun, type Run} from '../../sql/runs.ts'
import type {Tools} from '../tools.ts'
import {answerSecondsOf, overSecondsOf} from './admission.ts'
import {closeRun} from './close.ts'
import type {Context, Held, Offline} from './context.ts'
import {executeIsolated, mostCrashes, needsIsolation} from './crash-isolation.ts'
import {openCrmClock} from './crm-clock.ts'
import {Drained, LeaseLost, RunPaused, RunStopped} from './ending.ts'
import {openExpressions} from './expressions.ts'
import {openIntents} from './intents.ts'
import {openLateUpdates} from './late-updates.ts'
import {holdLease, type Lease, leaveSecondsOf} from './lease.ts'
import {openLookups} from './lookups.ts'
import {indexParents} from './parent-index.ts'
import {runPass} from './pass.ts'
import {runPatchPass} from './patch-pass.ts'
import {layPatching} from './patching.ts'
import {meaningOf, shutBy} from './patience.ts'
import {openValueStore} from './plan-values.ts'
import {layTrack} from './row.ts'
import {openSettler} from './settler.ts'
import {isSubform} from './subform-order.ts'
import {runSubformPass} from './subform-pass.ts'
import {closeOpenSends} from './takeover.ts'

/** `ended`: nothing is left to do. `held`: another owner has it. `released`: it goes on later, here or elsewhere. */
export type RunState = 'ended' | 'held' | 'released'

export type EngineTools = Pick<Tools, 'config' | 'db' | 'hot' | 'storage' | 'crm' | 'budget'>
type RunName = {org: string; id: string}
/** `onTaken`: called when this process has the run's lease. */
export type ExecuteOptions = {signal: AbortSignal; log: Log; onTaken?: () => void}

/** Executes the run from wherever it stands, to its end or until something ends it early; in a child process if it may crash its process. */
export const carryRun = async (tools: EngineTools, name: RunName, options: ExecuteOptions): Promise<RunState> => {
  const found = await findRun(tools.db, name)
  if (!found || isOver(found)) return 'ended'
  if (!(await isOpenOrg(tools.db, name.org))) return 'released'
  return (await needsIsolation(tools, found.no)) ? executeIsolated(tools, found, options) : takeRun(tools, found, options)
}

/** The same, always in this process. */
export const executeRun = async (tools: EngineTools, name: RunName, options: ExecuteOptions): Promise<RunState> => {
  const found = await findRun(tools.db, name)
  return found ? takeRun(tools, found, options) : 'ended'
}

const takeRun = async (tools: EngineTools, {no, org, id}: Run, {signal, log, onTaken}: ExecuteOptions): Promise<RunState> => {
  const {config, db, hot} = tools
  const head = await takeLease(db, {run: no, owner: `${hostname()}:${process.pid}`, seconds: config.LEASE_SECONDS})
  if (!head) return 'held'
  onTaken?.()
  const lease = holdLease({db, hot, run: no, head, seconds: config.LEASE_SECONDS, leaveSeconds: leaveSecondsOf(config), log})
  let crashed = false
  try {
    // Another owner may have moved the run on, or ended it, while its lease was waited for.
    const run = await findRun(db, {org, id})
    return !run || isOver(run) ? 'ended' : await carry(hold(tools, run, {head, lease, drain: signal, log}), tools, head)
  } catch (error) {
    // The run does not cause an outage of Postgres.
    crashed = !isOutage(error)
    throw error
  } finally {
    await lease.release(crashed)
  }
}

const isOver = ({state}: Run) => state === 'ended' || state === 'authorised'

type Taken = {head: Head; lease: Lease; drain: AbortSignal; log: Log}

const hold = ({config, db, hot, storage}: EngineTools, run: Run, {head, lease, drain, log}: Taken): Held => {
  const chain = run.chainNo ?? run.no
  const leaseSeconds = config.LEASE_SECONDS
  let batch = head.nextBatch
  log.info({fence: head.fence, state: run.state}, 'run taken')
  return {
    ...{config, db, hot, storage, run, chain, lease, log},
    retried: run.retryChain,
    planned: {count: plannedOf(head)},
    settler: openSettler({db, hot, run: run.no, chain, lease, leaseSeconds, answerSeconds: answerSecondsOf({config}), log}),
    intend: openIntents(([first, ...others]) => admit(hot, first!, ...others)),
    nextBatch: () => batch++,
    signal: AbortSignal.any([lease.lost, drain]),
  }
}

/** Module after module, as they are counted. */
const plannedOf = ({counts}: Head) => counts.reduce((sum, count, at) => sum + (outcomeNoAt(at) === outcomeNo('planned') ? count : 0), 0)

type Reach = Pick<Tools, 'crm' | 'budget'>

/** Stopping and closing a run can be taken from its owner, too. */
const carry = (ctx: Held, reach: Reach, head: Head): Promise<RunState> =>
  carryToEnd(ctx, reach, head).catch(error => lieDown(ctx, endingOf(ctx, error)))

const carryToEnd = async (ctx: Held, reach: Reach, head: Head): Promise<RunState> => {
  // The run's own data may cause the crashes, so nothing of it is read any more.
  const hasCrashed = head.crashes >= mostCrashes && ctx.run.state !== 'closing'
  let reason = head.stop?.stopped ?? 'done'
  try {
    if (hasCrashed) throw tooManyCrashes()
    await tellOpenSends(ctx)
    await writeRows(ctx, reach, head)
  } catch (error) {
    const ending = endingOf(ctx, error)
    if (!(ending instanceof RunStopped)) throw ending
    await writeStop(ctx.db, {run: ctx.run.no, stop: ending.stop})
    await tellOpenSends(ctx, {piecewise: hasCrashed})
    ctx.log.info({stop: ending.stop}, 'run stopped')
    reason = ending.stop.stopped
  }
  await closeRun(ctx)
  runEnded(reason)
  ctx.log.info('run ended')
  return 'ended'
}

/** Nothing is under way here: what is still open was left by the last owner, or by a step of ours that failed. */
const tellOpenSends = async (ctx: Held, how = {piecewise: false}) => {
  const rows = await closeOpenSends(ctx, how)
  if (rows) ctx.log.warn({rows}, 'rows left in flight')
}

/** Flow after flow: a flow ends when nothing of it is open. */
const writeRows = async (held: Held, {crm, budget}: Reach, head: Head) => {
  const {db, run, lease} = held
  if (run.state === 'closing') return
  if (head.stop) throw new RunStopped(head.stop)
  const offline = await readOffline(held)
  const tracks = offline.snapshot.flows.map(flow => layTrack(flow, offline.snapshot))
  const shut = shutBy(await findStanding(db, run.no), run)
  if (shut) throw shut
  if (!(await beginRun(db, {no: run.no, fence: lease.fence}))) throw new LeaseLost('Another owner took the run')
  const connection = await connect(offline, crm)
  const slots = budget.open(connection.connector, run.no)
  const expressions = openExpressions(run)
  const ctx = {
    ...offline,
    connection,
    slots,
    expressions,
    lookups: openLookups(),
    values: openValueStore(offline),
    refusedSingles: {count: 0},
    crmClock: openCrmClock(offline),
    lateUpdates: openLateUpdates(overSecondsOf(offline) * 1000, await listKnownUpdates(offline, head)),
  }
  try {
    await indexParents(ctx, tracks)
    const cursors = await listCursors(db, run.no)
    for (const track of tracks) {
      const {lowWater, done} = cursors.find(({flow}) => flow === track.no)!
      if (done) continue
      await (isSubform(track) ? runSubformPass(ctx, track, lowWater) : runPass(ctx, track, lowWater))
      await finishFlow(db, {run: run.no, flow: track.no})
    }
    await patchRows(ctx)
  } finally {
    await Promise.all([slots.close(), expressions.close()])
  }
}

/** The first owner of a run that is no retry is the first to send anything. */
const listKnownUpdates = async (ctx: Held, {fence}: Head) =>
  fence === 1 && ctx.retried === null ? [] : listLateUpdates(ctx.db, {run: ctx.run.no, chain: ctx.chain, seconds: overSecondsOf(ctx)})

/** What needs the records of all flows, in their order. */
const patchRows = async (ctx: Context) => {
  const {flows} = ctx.snapshot
  for (const track of flows.flatMap(flow => layPatching(flow, ctx.snapshot) ?? [])) await runPatchPass(ctx, track)
}

const readOffline = async (held: Held): Promise<Offline> => {
  const {db, run} = held
  const snapshot = await readSnapshot(db, run.snapshotNo!).catch(leaveToNewer)
  return {...held, snapshot}
}

/** While builds change, both work on the same runs: what this one cannot read yet is not a run that fails. */
const leaveToNewer = (error: unknown): never => {
  if (!(error instanceof Refusal)) throw error
  if (error.code !== 'FROM_FUTURE') throw new Error(error.message, {cause: error})
  throw new RunPaused('FROM_FUTURE', 'A newer version of this service started this run, and carries it on: update the workers', 30)
}

const tooManyCrashes = () =>
  new RunStopped({
    stopped: 'ENGINE_FAILED',
    message: `The run failed or crashed its process ${mostCrashes} times without a settled row. The logs of the workers say why. Retry the run to carry on`,
  })

/** A connection that is ended or disconnected ends the run; one that cannot be used just now lays it down. */
const connect = async (ctx: Held, crm: Crm) => {
  try {
    return await crm.open(ctx.run.connectorId!, {slots: 'own'})
  } catch (error) {
    throw error instanceof Refusal ? await meaningOf(ctx, error) : error
  }
}

/** Waits under way end with the signal's own error, so the signal says what happened. */
const endingOf = ({lease, signal}: Held, error: unknown) => {
  if (lease.lost.aborted) return lease.lost.reason
  if (signal.aborted && !(error instanceof RunStopped)) return new Drained('The process was asked to stop')
  return error
}

const lieDown = async ({db, run, lease, log}: Held, ending: unknown): Promise<RunState> => {
  if (ending instanceof LeaseLost) {
    log.warn({err: ending}, 'lease lost')
    return 'held'
  }
  if (ending instanceof RunPaused) {
    const {code, message, seconds} = ending
    await pauseRun(db, {no: run.no, fence: lease.fence, pause: {code, message}, seconds})
    log.warn({code, seconds}, 'run paused')
    return 'released'
  }
  if (ending instanceof Drained) return 'released'
  throw ending
}
