import {hostname} from 'node:os'
import {Snapshot} from '../../shared/flows/snapshot.ts'
import type {Log} from '../../shared/log.ts'
import {finishFlow, listCursors} from '../../sql/run-cursors.ts'
import {type Head, takeLease, writeStop} from '../../sql/run-heads.ts'
import {findSnapshot} from '../../sql/run-snapshots.ts'
import {beginRun, findChainStart, findRun, pauseRun, type Run} from '../../sql/runs.ts'
import type {Tools} from '../tools.ts'
import {answerSecondsOf} from './admission.ts'
import {closeRun} from './close.ts'
import type {Context} from './context.ts'
import {Drained, LeaseLost, RunPaused, RunStopped} from './ending.ts'
import {holdLease} from './lease.ts'
import {runPass} from './pass.ts'
import {layTrack, type Track} from './row.ts'
import {openSettler} from './settler.ts'
import {openSlots} from './slots.ts'
import {closeOpenSends} from './takeover.ts'

/** `ended`: nothing is left to do. `held`: another owner has it. `released`: it goes on later, here or elsewhere. */
export type Carried = 'ended' | 'held' | 'released'

/** Takeovers in a row without a single settlement: the run itself kills its workers, and is stopped instead. */
const mostFruitlessTakeovers = 6

/** Takes the run's lease and carries it on from wherever it stands, to its end or until something ends it early. */
export const carryRun = async (
  tools: Tools,
  {org, id}: {org: string; id: string},
  {signal, log}: {signal: AbortSignal; log: Log},
): Promise<Carried> => {
  const run = await findRun(tools.db, {org, id})
  if (!run || run.state === 'ended' || run.state === 'authorised') return 'ended'
  const owner = `${hostname()}:${process.pid}`
  const head = await takeLease(tools.db, {run: run.no, owner, seconds: tools.config.LEASE_SECONDS})
  if (!head) return 'held'
  const ctx = await openContext(tools, run, head, signal, log)
  log.info({fence: head.fence, state: run.state}, 'run taken')
  try {
    return await carry(ctx, head)
  } finally {
    await ctx.lease.release()
  }
}

const openContext = async (tools: Tools, run: Run, head: Head, drain: AbortSignal, log: Log): Promise<Context> => {
  const {config, db, hot, storage, crm} = tools
  const leaseSeconds = config.LEASE_SECONDS
  const lease = holdLease({db, hot, run: run.no, head, seconds: leaseSeconds, log})
  try {
    const chain = run.chainNo ?? run.no
    const stored = await findSnapshot(db, run.snapshotNo!)
    const chainStart = await findChainStart(db, chain)
    let batch = head.nextBatch
    return {
      config,
      db,
      hot,
      storage,
      connection: await crm.open(run.connectorId!),
      run,
      chain,
      chainStart: Date.parse(chainStart ?? run.authorisedAt),
      snapshot: Snapshot.parse(stored!.document),
      lease,
      settler: openSettler({db, hot, run: run.no, chain, lease, leaseSeconds, answerSeconds: answerSecondsOf({config}), log}),
      slots: openSlots(config.CRM_SLOTS),
      nextBatch: () => batch++,
      signal: AbortSignal.any([lease.lost, drain]),
      log,
    }
  } catch (error) {
    await lease.release()
    throw error
  }
}

const carry = async (ctx: Context, head: Head): Promise<Carried> => {
  const tracks = ctx.snapshot.flows.map(flow => layTrack(flow, ctx.snapshot))
  try {
    const rows = await closeOpenSends(ctx, tracks)
    if (rows) ctx.log.warn({rows}, 'rows left in flight by the last owner')
    await writeRows(ctx, tracks, head)
  } catch (error) {
    const ending = endingOf(ctx, error)
    if (ending instanceof RunStopped) await writeStop(ctx.db, {run: ctx.run.no, stop: ending.stop})
    else return lieDown(ctx, ending)
    ctx.log.info({stop: ending.stop}, 'run stopped')
  }
  await closeRun(ctx)
  ctx.log.info('run ended')
  return 'ended'
}

/** Flow after flow: a flow ends when nothing of it is open. */
const writeRows = async (ctx: Context, tracks: Track[], head: Head) => {
  if (ctx.run.state === 'closing') return
  if (head.stop) throw new RunStopped(head.stop)
  if (head.takeovers > mostFruitlessTakeovers) {
    throw new RunStopped({
      stopped: 'ENGINE_FAILED',
      message: 'Worker after worker failed at this run without a row settled; their logs say why',
    })
  }
  if (!(await beginRun(ctx.db, {no: ctx.run.no, fence: ctx.lease.fence}))) throw new LeaseLost('Another owner took the run')
  const cursors = await listCursors(ctx.db, ctx.run.no)
  for (const {flow, lowWater, done} of cursors) {
    if (done) continue
    await runPass(ctx, tracks.find(({no}) => no === flow)!, lowWater)
    await finishFlow(ctx.db, {run: ctx.run.no, flow})
  }
}

/** Waits under way end with the signal's own error, so the signal says what happened. */
const endingOf = ({lease, signal}: Context, error: unknown) => {
  if (lease.lost.aborted) return lease.lost.reason
  if (signal.aborted && !(error instanceof RunStopped)) return new Drained('The process was asked to stop')
  return error
}

const lieDown = async ({db, run, lease, log}: Context, ending: unknown): Promise<Carried> => {
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
