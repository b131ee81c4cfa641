import {askAbout, findDecided} from './asking.ts'
import {type Change, openChange} from './change.ts'
import type {Context} from './context.ts'
import {type Holds, openHolds} from './holds.ts'
import {findOurs, matchRows, type Unmatched} from './match.ts'
import {remarkOlderValues} from './older-values.ts'
import {joinParents} from './parents.ts'
import {waitInPass} from './pass-wait.ts'
import {assertOpen, backOffMs, noAnswers} from './patience.ts'
import {plan} from './plan.ts'
import {rehearse} from './rehearsal.ts'
import {type Failure, isRow, type Kind, type Row, type Track} from './row.ts'
import {sendBatch} from './sender.ts'
import {nothingSettled} from './settler.ts'
import type {Standing} from './standing.ts'
import {openUnansweredCreates, type UnansweredCreates} from './unanswered-creates.ts'
import {matchedOf, settleFailures, settleRows, settleStanding} from './unsent-rows.ts'
import {bySteps, enter, type Op} from './verdict.ts'
import {openWindow, type Window} from './window.ts'

const rowsPerBatch = 100
/** A batch that is lost and has nothing unique in it is dear to settle: for a while after one, they are smaller. */
const rowsAfterLoss = 10
const batchesAfterLoss = 20
/** Rows past the low-water mark that may be under way: the bound on memory and on what a new owner reads again. */
const windowRows = 5_000
/** And, for rows that are large: the characters of their cells, which stand for bytes. */
const windowSize = 32 * 1024 ** 2

/** Where the rows of one pass lie between being read and having their end. */
export type Desk = {
  ctx: Context
  track: Track
  window: Window
  holds: Holds
  filling: Record<Kind, Op[]>
  underWay: Set<Promise<void>>
  /** Rows counted already that wait to be sent again. */
  resending: Set<Row>
  unanswered: UnansweredCreates
  /** Batches that have left, until each is settled. */
  flying: Set<Promise<void>>
  /** Small batches to come. */
  careful: number
  over: AbortController
  /** Batches in a row of which the CRM said nothing at all. */
  silent: number
  change: Change
  failure: {error: unknown} | null
}

/** `standing`: rows that end as their chain left them. */
export type Prepared = {rows: Row[]; failures: Failure[]; unmatched: Unmatched[]; standing: Standing[]}

export const openDesk = (ctx: Context, track: Track, lowWater: number): Desk => {
  const flying = new Set<Promise<void>>()
  const over = new AbortController()
  const unanswered = openUnansweredCreates({
    ...{ctx, track, flying, over: over.signal},
    assertGoing: () => assertGoing(desk),
    follow: work => begin(desk, work),
    leave: row => desk.window.leave(row.number),
    end: rows => free(desk, rows),
    again: rows => {
      sendAgain(desk, rows)
      // A part-filled batch leaves although other rows of the same step wait on.
      desk.change.happened()
    },
  })
  const desk: Desk = {
    ...{ctx, track, window: openWindow(lowWater), holds: openHolds(), filling: {create: [], update: []}},
    ...{underWay: new Set(), resending: new Set(), unanswered, flying, careful: 0, over, silent: 0, change: openChange(), failure: null},
  }
  return desk
}

/**
 * Throws what ended the pass, if anything did. A CRM that answers nothing is not sent the rest of the file: the run lies down and
 * looks again.
 */
export const assertGoing = ({failure, ctx, silent, window}: Desk) => {
  if (failure) throw failure.error
  assertOpen(ctx)
  if (silent > ctx.config.CRM_SLOTS && window.count() > 0) throw noAnswers()
}

/** Rows that hold what they need are planned; the others wait for it. */
export const place = async (desk: Desk, {rows, failures, unmatched, standing}: Prepared) => {
  assertGoing(desk)
  const lost = new Set(unmatched.map(({row}) => row))
  const failed = [
    ...failures.map(failure => ({...failure, row: {...failure, counted: null, attempt: 0, open: false}})),
    ...unmatched.map(one => ({...one, target: null})),
  ]
  if (failed.length) begin(desk, settleFailures(desk, failed))
  if (standing.length) begin(desk, settleStanding(desk, standing))
  const ready = rows.filter(row => !lost.has(row) && desk.holds.take(row))
  if (ready.length) await planRows(desk, ready)
}

/** Waits until the window has room for more rows. */
export const makeRoom = async (desk: Desk) => {
  while (isFull(desk)) await waitForChange(desk, desk.underWay.size - desk.unanswered.steps() < desk.ctx.config.CRM_SLOTS)
}

const isFull = ({window, unanswered, resending}: Desk) =>
  window.count() + unanswered.count() + resending.size >= windowRows || window.size() + unanswered.size() >= windowSize

/** Waits until every row has its end. */
export const finish = async (desk: Desk) => {
  const {window, underWay, filling} = desk
  while (window.count() > 0 || underWay.size > 0 || filling.create.length > 0) await waitForChange(desk)
}

/** Waits until nothing is under way, whatever came of it. */
export const rest = async ({underWay, over}: Desk) => {
  over.abort()
  while (underWay.size) await Promise.allSettled(underWay)
}

/** Part-filled batches go first, where that keeps a slot from idling: rows that are read later would fill them. */
const waitForChange = async (desk: Desk, goPartFilled = true) => {
  assertGoing(desk)
  const changed = desk.change.next()
  if (goPartFilled) for (const kind of ['create', 'update'] as const) while (desk.filling[kind].length) flush(desk, kind)
  if (desk.underWay.size === 0) throw new Error(`${desk.window.count()} rows have no step under way`)
  await changed
}

const begin = (desk: Desk, work: Promise<void>) => {
  const tracked = work
    .catch(error => {
      desk.failure ??= {error}
    })
    .finally(() => {
      desk.underWay.delete(tracked)
      desk.change.happened()
    })
  desk.underWay.add(tracked)
}

/** The chain's own writes are looked up once the rows hold their keys: nothing can change them any more. */
const planRows = async (desk: Desk, held: Row[]) => {
  const {ctx, track, holds} = desk
  const rows = desk.unanswered.takeUp(await joinRows(desk, held))
  const ours = await findOurs(ctx, track, rows)
  const decisions = await findDecided(ctx, track, rows)
  const settled = nothingSettled(null)
  const skipped: Row[] = []
  const updates: Op[] = []
  for (const row of rows) {
    const planned = plan(row, track, row.matchKey ? ours.get(row.matchKey.toString('latin1')) : undefined, decisions.get(row))
    if (planned.do === 'create') fill(desk, 'create', {row, target: null})
    else if (planned.do === 'wait') {
      enter({track, settled}, row, 'unanswered', {...planned, attempt: row.attempt})
      skipped.push(row)
    } else if (planned.do === 'skip') {
      enter({track, settled}, row, 'skipped', {...planned, attempt: row.attempt})
      if (planned.recordId && track.isNeeded) settled.kept.push(matchedOf(track, row, planned.recordId))
      if (planned.asks) askAbout(ctx, track, settled, row, planned.asks)
      if (row.open) settled.closed.push({module: track.module.no, key: row.key})
      skipped.push(row)
    } else if (holds.takeRecord(row, planned.target)) updates.push({row, target: planned.target})
  }
  await remarkOlderValues(ctx, track, updates)
  for (const op of updates) fillUpdate(desk, op)
  if (skipped.length === 0) return
  await settleRows(desk, settled, skipped)
  free(desk, skipped)
}

/** Rows that waited for their parents get their links, or end here; the others go on. */
const joinRows = async (desk: Desk, rows: Row[]): Promise<Row[]> => {
  const waited = rows.filter(({waitsFor}) => waitsFor)
  if (waited.length === 0) return rows
  const joined = await joinParents(desk.ctx, desk.track, waited)
  const over = rows.flatMap(row => {
    const end = joined.get(row)
    return end && !isRow(end) ? [{...end, row}] : []
  })
  if (over.length === 0) return rows
  await settleFailures(desk, over)
  const ended = new Set(over.map(({row}) => row))
  free(desk, [...ended])
  return rows.filter(row => !ended.has(row))
}

/** The rows' locks are released, and rows that waited for them are planned. */
const free = (desk: Desk, rows: Row[]) => {
  const freed = rows.flatMap(row => desk.holds.release(row)).sort((a, b) => a.number - b.number)
  if (freed.length === 0) return
  const isKnown = rows.every(({counted}) => counted !== null && KNOWN.has(counted))
  begin(desk, isKnown ? planRows(desk, freed) : planAgain(desk, freed))
}

/** Outcomes after which the ledger knows every record under the row's keys. */
const KNOWN = new Set<Row['counted']>(['created', 'updated', 'skipped', 'planned'])

/** The row that held the keys may have made a record that the ledger does not know: the CRM is asked again which records match. */
const planAgain = async (desk: Desk, rows: Row[]) => {
  const unmatched = await matchRows(desk.ctx, desk.track, rows)
  const failed = new Set(unmatched.map(({row}) => row))
  const failures = unmatched.map(one => ({...one, target: null}))
  if (failed.size > 0) await settleFailures(desk, failures)
  free(desk, [...failed])
  const ready = rows.filter(row => !failed.has(row))
  if (ready.length > 0) await planRows(desk, ready)
}

/** An update waits until the CRM can no longer execute another row's unanswered update of the same record. */
const fillUpdate = (desk: Desk, op: Op) => {
  const {ctx} = desk
  const waitMs = ctx.run.dryRun ? 0 : ctx.lateUpdates.waitMs(op.target!, op.row.key)
  if (waitMs === 0) fill(desk, 'update', op)
  else
    begin(
      desk,
      pause(desk, waitMs).then(() => fillUpdate(desk, op)),
    )
}

const pause = (desk: Desk, ms: number) =>
  waitInPass(ms, {signal: desk.ctx.signal, over: desk.over.signal, assertGoing: () => assertGoing(desk)})

const fill = (desk: Desk, kind: Kind, op: Op) => {
  desk.filling[kind].push(op)
  if (desk.filling[kind].length >= sizeOfBatch(desk, kind)) flush(desk, kind)
}

const sizeOfBatch = ({careful, filling}: Desk, kind: Kind) =>
  careful > 0 && kind === 'create' && filling.create.some(({row}) => !row.witness) ? rowsAfterLoss : rowsPerBatch

/** Rows of which the CRM has no record, after all. */
const sendAgain = (desk: Desk, rows: Row[]) => {
  for (const row of rows) {
    if (row.silences > 0) desk.resending.add(row)
    fill(desk, 'create', {row, target: null})
  }
}

const flush = (desk: Desk, kind: Kind) => {
  const size = sizeOfBatch(desk, kind)
  const ops = desk.filling[kind].splice(0, size)
  if (size < rowsPerBatch) desk.careful--
  if (!desk.failure && ops.length) begin(desk, send(desk, kind, ops))
}

const send = async (desk: Desk, kind: Kind, ops: Op[]) => {
  const {ctx, track} = desk
  const on = besides(desk)
  const sending = ctx.run.dryRun
    ? rehearse(ctx, track, kind, ops, on.leave)
    : fly(desk, leaving => sendBatch(ctx, track, kind, ops, {...on, leaving}))
  const {next, unsent, ending} = await sending
  if (ending) throw ending
  for (const row of next.keys()) desk.resending.delete(row)
  for (const op of unsent) fill(desk, kind, op)
  const {end, replan, again, wait: lost} = bySteps(next)
  free(desk, end)
  if (replan.length) begin(desk, planRows(desk, replan))
  if (again.length) begin(desk, sendLater(desk, kind, again))
  if (lost.length === 0) return
  desk.careful = batchesAfterLoss
  begin(desk, desk.unanswered.settle(lost))
}

/** Among those in the air from the moment it leaves until it is settled. */
const fly = async <T>({flying}: Desk, send: (leaving: () => void) => Promise<T>): Promise<T> => {
  const {promise, resolve} = Promise.withResolvers<void>()
  try {
    return await send(() => void flying.add(promise))
  } finally {
    flying.delete(promise)
    resolve()
  }
}

const besides = (desk: Desk) => ({
  leave: (row: Row) => desk.window.leave(row.number),
  resending: () => desk.resending.size > 0 || desk.unanswered.count() > 0,
  heard: (anything: boolean) => {
    desk.silent = anything ? 0 : desk.silent + 1
  },
  change: () => {
    assertGoing(desk)
    return desk.change.next()
  },
})

const sendLater = async (desk: Desk, kind: Kind, rows: Row[]) => {
  for (const row of rows) desk.resending.add(row)
  await pause(desk, backOffMs(Math.max(...rows.map(({silences}) => silences))))
  for (const row of rows) fill(desk, kind, {row, target: row.decided!.target})
}
