import {setTimeout as sleep} from 'node:timers/promises'
import {limitStop} from '../../../shared/runs/stop.ts'
import {findWriteStatus} from '../../../sql/connectors.ts'
import {isFateUnknown, isPassing, sqlStateOf} from '../../../sql/database.ts'
import {GATE_SHUT, type Intent} from '../../../sql/ledger.ts'
import {listFreshRows, lockHead, type RunStop, writeStop} from '../../../sql/run-heads.ts'
import {findSend} from '../../../sql/sends.ts'
import type {Context} from '../context.ts'
import {packMarks} from '../edits/mark-written.ts'
import {type BatchKind, type CompiledFlow, type ImportRow, STEP_CODES} from '../model.ts'
import {waitForChange} from '../pass-wait.ts'
import {handoverSecondsOf} from '../recover/lease.ts'
import {LeaseLost, RunStopped} from '../run-endings.ts'
import type {Op} from '../settle/verdict.ts'
import type {BatchSlot} from './batch-slot.ts'
import {assertWritable, findWriteBlock, runHeld} from './crm-retry.ts'
import {sentDigestOf} from './payload-digest.ts'

/**
 * Operations whose intent is stored. `batches`: the batch numbers, of the rows and of the rows nested in them. `left`: operations for which
 * the row limit has no room. `since`: when the statement that stored the intent began, in monotonic ms.
 */
export type AdmittedBatches = {batches: number[]; ops: Op[]; left: Op[]; since: number}

/**
 * Returns for how many seconds after its intent a request may still take effect. It is the time until the send, the time for the answer, and
 * a reserve.
 */
export const answerSecondsOf = ({config}: Pick<Context, 'config'>) => config.CRM_TIMEOUT_SECONDS + spareSecondsOf({config})

/** Returns the seconds that are added to the timeout of a call: ten, or twice the timeout if it is under five seconds. */
export const spareSecondsOf = ({config}: Pick<Context, 'config'>) => 2 * handoverSecondsOf(config)

/** Returns for how many seconds after a request's deadline a query may miss what the request created. */
export const lagSecondsOf = ({config}: Pick<Context, 'config'>) => config.CRM_LAG_SECONDS

/** Returns the seconds after an intent until its request can have no further effect and queries find every record that it wrote. */
export const overSecondsOf = (ctx: Pick<Context, 'config'>) => answerSecondsOf(ctx) + lagSecondsOf(ctx)

/** What an admission needs from the pass at the row limit. `bulkJob`: the number of the bulk job that writes the rows. */
export type AdmissionHooks = {
  bulkJob?: number
  /** Resolves when a step of the pass has ended; throws the cause if the pass ended. */
  change(): Promise<void>
  /** Whether rows other than `rows` count towards the row limit and wait to be sent again. `rows`: the rows that wait for room under the limit. */
  resending(rows: ImportRow[]): boolean
}

/**
 * Commits the intent to send these operations. If the run's row limit has room for fewer, the others are returned in `left`. While rows in
 * flight use up the limit, the batch gives up its slot and waits for them. Throws `RunStopped`, `RunPaused`, `LeaseLost` or an AbortError.
 */
export const admitOps = async (
  ctx: Context,
  flow: CompiledFlow,
  kind: BatchKind,
  ops: Op[],
  slot: BatchSlot,
  admissionHooks: AdmissionHooks,
): Promise<AdmittedBatches> => {
  const sorted = ops.toSorted((a, b) => Number(isCounted(b)) - Number(isCounted(a)) || placeOf(a) - placeOf(b))
  let take = sorted.length
  for (;;) {
    const change = admissionHooks.change()
    const chosen = sorted.slice(0, take)
    const intents = intentsOf(ctx, flow, kind, chosen, admissionHooks.bulkJob)
    const since = performance.now()
    if (await intend(ctx, intents)) {
      ctx.lease.renewedSince(since)
      return {batches: intents.map(({batch}) => batch), ops: chosen, left: sorted.slice(take), since}
    }
    const room = await findRoom(ctx, flow, sorted, admissionHooks)
    if (typeof room === 'object') throw new RunStopped(room)
    if (room === 0) {
      slot.give()
      await waitForChange(change, {signal: ctx.signal, over: ctx.signal, assertGoing: () => assertWritable(ctx)})
      await slot.again()
    } else take = room
  }
}

/** Returns the number by which operations are sorted. It is equal for all rows of one record. */
const placeOf = ({row, unit}: Op) => unit?.at ?? row.number

/** Whether the row already counts towards the limit, because it has an unanswered send. */
const isCounted = ({row}: Op) => row.unansweredSends > 0

/**
 * Stores the intents. Returns false if the statement refuses them (`GATE_SHUT`). If the answer of a statement is lost, looks the intents
 * up, so that they are stored once.
 */
const intend = async (ctx: Context, intents: Intent[]): Promise<boolean> => {
  const {hot, lease, run, log} = ctx
  const [{batch}] = intents as [Intent]
  for (let delayMs = 50; ; delayMs = Math.min(delayMs * 2, 1_000)) {
    try {
      await ctx.intend(...intents)
      return true
    } catch (error) {
      lease.lost.throwIfAborted()
      if (sqlStateOf(error) === GATE_SHUT) return false
      // The batch number exists already: an earlier try of this statement stored it.
      if (sqlStateOf(error) === '23505') return true
      if (!isFateUnknown(error) && !isPassing(error)) throw error
      log.warn({err: error}, 'retrying intent')
    }
    await sleep(delayMs, undefined, {signal: lease.lost})
    if (await findSend(hot, {run: run.no, batch}).catch(() => false)) return true
  }
}

/** Rows nested in a create are stored and metered together with the create. */
const intentsOf = (ctx: Context, flow: CompiledFlow, kind: BatchKind, ops: Op[], bulkJob?: number): Intent[] => {
  const rows = ops.map(({row, target, unit}) => {
    // The rows of an undo already have the marks that the restored fields had before.
    if (flow.judge !== 'undo') row.marks = kind === 'update' ? packMarks(flow, row, target!) : null
    return {
      key: row.key,
      number: row.number,
      attempt: row.attempt + 1,
      target,
      hasUniqueKey: row.hasUniqueKey,
      digest: kind === 'create' ? sentDigestOf(flow, row) : null,
      marks: row.marks ?? null,
      isMetered: row.isMetered !== false,
      parent: unit?.parent ?? null,
    }
  })
  const code = STEP_CODES[flow.tags ? 'tag' : flow.patchPlan ? 'patch' : kind]
  if (bulkJob !== undefined) return inBatches(rows).map(some => ({...intentOf(ctx, flow, code, some), bulkJob}))
  const intents = [intentOf(ctx, flow, code, rows)]
  for (const nest of flow.nestedFlows ?? []) {
    const nested = nestedIn(ops, nest).map(({row, parent}) => ({
      key: row.key,
      number: row.number,
      attempt: row.attempt + 1,
      target: null,
      hasUniqueKey: parent.hasUniqueKey,
      parent: parent.key,
    }))
    if (nested.length) intents.push(intentOf(ctx, nest, STEP_CODES.replace, nested))
  }
  return intents
}

/** The maximum number of rows of a bulk job in one batch. Each batch is settled in one statement. */
const rowsPerPiece = 2_000

export const inBatches = <T>(rows: readonly T[]): T[][] =>
  Array.from({length: Math.ceil(rows.length / rowsPerPiece)}, (_, at) => rows.slice(at * rowsPerPiece, (at + 1) * rowsPerPiece))

const nestedIn = (ops: Op[], nest: CompiledFlow) =>
  ops.flatMap(({row: parent}) => (parent.nested ?? []).flatMap(({flow, rows}) => (flow === nest ? rows.map(row => ({row, parent})) : [])))

const intentOf = (ctx: Context, flow: CompiledFlow, kind: number, rows: Intent['rows']): Intent => ({
  run: ctx.run.no,
  fence: ctx.lease.fence,
  batch: ctx.nextBatch(),
  flow: flow.no,
  module: flow.module.no,
  kind,
  rows,
  answerSeconds: answerSecondsOf(ctx),
  leaseSeconds: ctx.config.LEASE_SECONDS,
})

/**
 * Finds out why an intent was refused, under a lock on the run's head. Returns how many of the operations fit; 0 means to wait for rows in
 * flight. If nothing fits, is in flight or waits to be sent again, the run has reached its limit, so the stop is stored and returned.
 * Throws if the cause is not the row limit but a lost lease, a stop, a hold or a block of writes.
 */
const findRoom = (ctx: Context, flow: CompiledFlow, ops: Op[], {resending}: AdmissionHooks): Promise<number | RunStop> =>
  ctx.db.transaction(async tx => {
    const head = await lockHead(tx, {run: ctx.run.no, fence: ctx.lease.fence})
    if (!head) throw new LeaseLost('Another owner took the run')
    if (head.stop) throw new RunStopped(head.stop)
    if (head.held) throw runHeld(head.held)
    const block = findWriteBlock(await findWriteStatus(tx, ctx.run.no), ctx.run)
    if (block) throw block
    const listFresh = ({no, module}: CompiledFlow, rows: ImportRow[]) =>
      listFreshRows(tx, {run: ctx.run.no, module: module.no, flow: no, rows})
    const metered = ops.flatMap(({row}) => (row.isMetered === false ? [] : row))
    const fresh = new Set(await listFresh(flow, metered))
    for (const nest of flow.nestedFlows ?? []) {
      const rows = nestedIn(ops, nest).map(({row}) => row)
      for (const key of await listFresh(nest, rows)) fresh.add(key)
    }
    const room = head.rowsLimit - head.counted
    const fitting = countFitting(ops, fresh, room)
    if (fitting > 0) return fitting
    if (head.sendsOpen > 0 || resending(ops.map(({row}) => row))) return 0
    const stop = limitStop({...ctx.run, ...head})
    await writeStop(tx, {run: ctx.run.no, stop})
    return stop
  })

/** Counts the leading operations that fit. The rows of one record fit all or none, as do a row and its nested rows. */
const countFitting = (ops: Op[], fresh: Set<string>, room: number): number => {
  let counted = 0
  const past = ops.findIndex(({row}) => {
    const keys = [row, ...(row.nested ?? []).flatMap(({rows}) => rows)].filter(({key}) => fresh.has(key))
    counted += keys.length
    return keys.length > 0 && counted > room
  })
  if (past < 0) return ops.length
  const {unit} = ops[past]!
  return unit ? ops.findIndex(one => one.unit === unit) : past
}
