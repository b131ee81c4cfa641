import {setTimeout as sleep} from 'node:timers/promises'
import {limitStop} from '../../shared/runs/stop.ts'
import {findStanding} from '../../sql/connectors.ts'
import {isFateUnknown, isPassing, sqlStateOf} from '../../sql/database.ts'
import {GATE_SHUT, type Intent} from '../../sql/ledger.ts'
import {listFreshKeys, lockHead, type Stop, writeStop} from '../../sql/run-heads.ts'
import {findSend} from '../../sql/sends.ts'
import type {Context} from './context.ts'
import {sentDigestOf} from './digest.ts'
import {LeaseLost, RunStopped} from './ending.ts'
import {leaveSecondsOf} from './lease.ts'
import {shutBy} from './patience.ts'
import {KINDS, type Track, type Way} from './row.ts'
import type {Slot} from './slots.ts'
import type {Op} from './verdict.ts'

export type Admitted = {batch: number; ops: Op[]; left: Op[]; since: number}

/** Seconds a dead owner's last request may still be under way: to leave, to be answered, and some. */
export const answerSecondsOf = ({config}: Pick<Context, 'config'>) => config.CRM_TIMEOUT_SECONDS + spareSecondsOf({config})

/** What is waited for beyond the time that a call may take: ten seconds, and less only where calls are given less than five. */
export const spareSecondsOf = ({config}: Pick<Context, 'config'>) => 2 * leaveSecondsOf(config)

/** After its deadline the CRM executes a request no more; for so long after that, a query of the CRM may not find what the request made. */
export const lagSecondsOf = ({config}: Pick<Context, 'config'>) => config.CRM_LAG_SECONDS

/** Seconds after which nothing that a request may have done is still to come or to be seen. */
export const overSecondsOf = (ctx: Pick<Context, 'config'>) => answerSecondsOf(ctx) + lagSecondsOf(ctx)

/** What a batch at the limit has to know of the rest of the pass. */
export type Beside = {
  /** Resolves when a step of the pass has ended; throws what ended the pass. */
  change(): Promise<void>
  /** Whether rows that are counted already are yet to be sent again. */
  resending(): boolean
}

/**
 * Commits the intent to send these rows, or fewer of them where the run's limit leaves room for fewer: then the rest stand in
 * `left`. While the limit is used up by rows still in flight it waits for them, and leaves its slot to them. Throws RunStopped or
 * LeaseLost.
 */
export const admitOps = async (ctx: Context, track: Track, kind: Way, ops: Op[], slot: Slot, beside: Beside): Promise<Admitted> => {
  const sorted = ops.toSorted((a, b) => Number(isCounted(b)) - Number(isCounted(a)) || placeOf(a) - placeOf(b))
  let take = sorted.length
  for (;;) {
    const change = beside.change()
    const chosen = sorted.slice(0, take)
    const batch = ctx.nextBatch()
    const since = performance.now()
    if (await intend(ctx, track, kind, chosen, batch)) {
      ctx.lease.renewedSince(since)
      return {batch, ops: chosen, left: sorted.slice(take), since}
    }
    const room = await findRoom(ctx, track, sorted, beside)
    if (typeof room === 'object') throw new RunStopped(room)
    if (room === 0) {
      slot.give()
      await change
      await slot.again()
    } else take = room
  }
}

/** Rows of one record stay together. */
const placeOf = ({row, unit}: Op) => unit?.at ?? row.number

/** A row sent before and not answered takes no more room. */
const isCounted = ({row}: Op) => row.silences > 0

/** True when the intent is kept; false when its gate was shut. A lost answer is looked up, so the batch is kept once. */
const intend = async (ctx: Context, track: Track, kind: Way, ops: Op[], batch: number): Promise<boolean> => {
  const {hot, lease, run, log} = ctx
  const intent = intentOf(ctx, track, kind, ops, batch)
  for (let delayMs = 50; ; delayMs = Math.min(delayMs * 2, 1_000)) {
    try {
      await ctx.intend(intent)
      return true
    } catch (error) {
      lease.lost.throwIfAborted()
      if (sqlStateOf(error) === GATE_SHUT) return false
      // Only this statement, said before, can have kept the batch.
      if (sqlStateOf(error) === '23505') return true
      if (!isFateUnknown(error) && !isPassing(error)) throw error
      log.warn({err: error}, 'intent again')
    }
    await sleep(delayMs, undefined, {signal: lease.lost})
    if (await findSend(hot, {run: run.no, batch}).catch(() => false)) return true
  }
}

const intentOf = (ctx: Context, track: Track, kind: Way, ops: Op[], batch: number): Intent => ({
  ...{run: ctx.run.no, fence: ctx.lease.fence, batch, flow: track.no, module: track.module.no},
  kind: KINDS[track.patching ? 'patch' : kind],
  rows: ops.map(({row, target, unit}) => ({
    ...{key: row.key, number: row.number, attempt: row.attempt + 1, target, witness: row.witness},
    digest: kind === 'create' ? sentDigestOf(track, row) : null,
    isMetered: row.isMetered !== false,
    parent: unit?.parent ?? null,
  })),
  answerSeconds: answerSecondsOf(ctx),
  leaseSeconds: ctx.config.LEASE_SECONDS,
})

/**
 * Why the gate was shut, read under the head's lock so that it stays true: how many of the rows fit (0: wait for what is in
 * flight). With no room, nothing in flight and nothing to be sent again the run has reached its limit: the stop is written here,
 * once.
 */
const findRoom = (ctx: Context, track: Track, ops: Op[], {resending}: Beside): Promise<number | Stop> =>
  ctx.db.transaction(async tx => {
    const head = await lockHead(tx, {run: ctx.run.no, fence: ctx.lease.fence})
    if (!head) throw new LeaseLost('Another owner took the run')
    if (head.stop) throw new RunStopped(head.stop)
    const shut = shutBy(await findStanding(tx, ctx.run.no), ctx.run)
    if (shut) throw shut
    const metered = ops.filter(({row}) => row.isMetered !== false).map(({row}) => row.key)
    const fresh = new Set(await listFreshKeys(tx, {run: ctx.run.no, module: track.module.no, keys: metered}))
    const room = head.rowsLimit - head.counted
    const fitting = countFitting(ops, fresh, room)
    if (fitting > 0) return fitting
    if (head.sendsOpen > 0 || resending()) return 0
    const stop = limitStop({...ctx.run, ...head})
    await writeStop(tx, {run: ctx.run.no, stop})
    return stop
  })

/** How many there is room for, in their order; of the rows of one record all or none. */
const countFitting = (ops: Op[], fresh: Set<string>, room: number): number => {
  let counted = 0
  const past = ops.findIndex(({row}) => fresh.has(row.key) && ++counted > room)
  if (past < 0) return ops.length
  const {unit} = ops[past]!
  return unit ? ops.findIndex(one => one.unit === unit) : past
}
