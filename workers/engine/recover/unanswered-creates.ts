import {openLimiter} from '../../../shared/concurrency/limiter.ts'
import {atPoint} from '../../../shared/fault-point.ts'
import {madeEarlier} from '../../../shared/runs/made-earlier.ts'
import {HOW} from '../../../sql/chain-rows.ts'
import {type LostCreate, listLostCreates} from '../../../sql/unsettled.ts'
import type {Context} from '../context.ts'
import {markWritten} from '../edits/mark-written.ts'
import {type CompiledFlow, type ImportRow, STEP_CODES} from '../model.ts'
import {waitInPass} from '../pass-wait.ts'
import {measureNestable} from '../read/nested-reader.ts'
import {answerSecondsOf, lagSecondsOf, spareSecondsOf} from '../send/admission.ts'
import {sentDigestOf} from '../send/payload-digest.ts'
import {logMayExistTwice, logOutcome} from '../settle/log-entries.ts'
import {emptySettlement, type SettlementParts} from '../settle/settler.ts'
import {closeUnsettled, mostUnansweredSends, unsettledEntryOf} from '../settle/verdict.ts'
import {noteWritten} from '../verify/written-rows.ts'
import {type CreateInterval, findCandidateRecords, holdersOf} from './candidates.ts'
import {type Group, matchLostCreates, type RowMatch} from './match-lost-creates.ts'
import {claimForRows, waitForOtherRuns} from './record-claims.ts'

/** Resolves unanswered creates without a unique key. */
export type UnansweredCreates = {
  /** Starts to resolve the rows with an unanswered create of an earlier owner or run. Returns the other rows. */
  takeUp(rows: ImportRow[]): ImportRow[]
  /** Resolves the rows of one batch, which are logged as unanswered. Fulfils when each row is settled or queued to be sent again. */
  settle(rows: ImportRow[]): Promise<void>
  count(): number
  /** Returns the estimated bytes of the values of all rows that are being resolved. */
  size(): number
  /** Returns how many calls of `takeUp` and `settle` still resolve rows. Such a call mostly waits without a slot. */
  steps(): number
}

/**
 * `flying`: batches that were sent, until each is settled. `follow`: registers work until it ends. `leave`: removes a row from the window.
 * `end`: called with rows that ended. `again`: called with rows to send again.
 */
type Pass = {
  ctx: Context
  flow: CompiledFlow
  flying: ReadonlySet<Promise<void>>
  over: AbortSignal
  assertGoing(): void
  follow(work: Promise<void>): void
  leave(row: ImportRow): void
  end(rows: ImportRow[]): void
  again(rows: ImportRow[]): void
}

type Room = Pass & {waiting: Map<ImportRow, number>; steps: number; alone<T>(work: () => Promise<T>): Promise<T>}

/**
 * Resolves unanswered creates by a search, because a second send may make a second record. The search begins when the CRM can no longer
 * execute the request. An equal record that this connection's CRM user created meanwhile is assigned to the row. An empty search proves
 * that no record exists only after the CRM's lag, and only if it finds a control record of the chain; the row is then sent again. If the
 * chain has no control record yet, one row is sent again alone.
 */
export const openUnansweredCreates = (pass: Pass): UnansweredCreates => {
  const room: Room = {...pass, waiting: new Map(), steps: 0, alone: openLimiter(1)}
  return {
    takeUp: rows => startWaiting(room, rows),
    settle: rows => settleRows(room, rows),
    count: () => room.waiting.size,
    size: () => room.waiting.values().reduce((sum, size) => sum + size, 0),
    steps: () => room.steps,
  }
}

const startWaiting = (room: Room, rows: ImportRow[]): ImportRow[] => {
  const lost = rows.filter(({sentDigest}) => sentDigest)
  if (lost.length === 0) return rows
  const isSame = (row: ImportRow) => sentDigestOf(room.flow, row).equals(row.sentDigest!)
  const [same, changed] = [lost.filter(isSame), lost.filter(row => !isSame(row))]
  // A row stays in the window if only an earlier run of the chain sent its create, because this run has not logged it yet.
  for (const row of same) if (row.unansweredSends > 0) room.leave(row)
  if (changed.length) room.follow(endChanged(room, changed))
  if (same.length) room.follow(settleRows(room, same))
  return rows.filter(row => !row.sentDigest)
}

const PAYLOAD_CHANGED =
  'The CRM did not respond when this row was sent earlier with other values. Restore the mappings and retry, or check the CRM'

const endChanged = async (room: Room, rows: ImportRow[]) => {
  const settled = emptySettlement()
  for (const row of rows) settleUnanswered(room, settled, row, {code: 'PAYLOAD_CHANGED', message: PAYLOAD_CHANGED})
  await settleAndEnd(room, settled, rows)
}

const settleRows = async (room: Room, rows: ImportRow[]) => {
  if (!room.ctx.connection.findMade) return void (await endUnproven(room, rows))
  for (const row of rows) room.waiting.set(row, measureRow(row))
  const sentAt = new Map((await factsOf(room, rows)).map(({key, sentAt}) => [key, sentAt]))
  const batches = Map.groupBy(rows, ({key}) => sentAt.get(key))
  room.steps++
  await Promise.all([...batches.values()].map(batch => settleBatch(room, batch))).finally(() => room.steps--)
}

const measureRow = ({payload, nestable, nested = []}: ImportRow): number =>
  measureNestable(nestable) +
  [payload, ...nested.flatMap(({rows}) => rows.map(row => row.payload))]
    .flatMap(values => Object.values(values))
    .reduce<number>((sum, value) => sum + (typeof value === 'string' ? value.length : 0), 0)

/** Searches at growing intervals until each row of the batch is resolved. Rows that are not resolved in time end as unanswered. */
const settleBatch = async (room: Room, rows: ImportRow[]) => {
  const {ctx} = room
  const graceMs = (lagSecondsOf(ctx) + 3 * spareSecondsOf(ctx)) * 1000
  let until = performance.now() + answerSecondsOf(ctx) * 1000 + graceMs
  const spareMs = spareSecondsOf(ctx) * 1000
  let betweenMs = spareMs
  let canSendFirst = true
  for (let open = rows; open.length > 0; ) {
    const isInTime = await waitUntilDue(room, open, until)
    const {
      resolved,
      isFirst,
      waitedMs = 0,
    } = isInTime && performance.now() < until ? await searchRecords(room, open, canSendFirst) : await endUnproven(room, open)
    until += waitedMs
    open = open.filter(row => !resolved.has(row))
    const again = [...resolved].flatMap(([row, {is}]) => (is === 'none' ? [row] : []))
    for (const row of resolved.keys()) room.waiting.delete(row)
    if (again.length) room.again(again)
    if (open.length === 0) return
    if (isFirst) {
      canSendFirst = false
      betweenMs = spareMs
      until = performance.now() + answerSecondsOf(ctx) * 1000 + graceMs
    }
    const overInMs = await untilOver(room, open)
    await waitForSearch(room, overInMs > 1 ? Math.min(betweenMs, overInMs) : betweenMs)
    betweenMs = Math.min(betweenMs * 2, 3 * spareMs)
  }
}

const factsOf = ({ctx, flow}: Pass, rows: ImportRow[]): Promise<readonly LostCreate[]> => {
  const digests = new Map(rows.map(row => sentDigestOf(flow, row)).map(digest => [digest.toString('latin1'), digest]))
  return listLostCreates(ctx.db, {chain: ctx.chain, module: flow.module.no, digests: [...digests.values()]})
}

/** Waits until the CRM can no longer execute any create with these payloads. Returns false if `until` comes first. */
const waitUntilDue = async (room: Room, rows: ImportRow[], until: number): Promise<boolean> => {
  for (;;) {
    const dueInMs = (await factsOf(room, rows)).reduce((most, fact) => Math.max(most, fact.dueInMs), 0)
    if (dueInMs === 0) return true
    if (performance.now() >= until) return false
    await waitForSearch(room, Math.min(dueInMs + 1, until - performance.now() + 1))
  }
}

/** Returns the ms until an empty search can prove that no record exists. */
const untilOver = async (room: Room, rows: ImportRow[]): Promise<number> =>
  (await factsOf(room, rows)).reduce((most, fact) => Math.max(most, leftMs(room, fact)), 0) + 1

const leftMs = ({ctx}: Pass, {dueInMs}: LostCreate) => dueInMs + lagSecondsOf(ctx) * 1000

const waitForSearch = ({ctx, over, assertGoing}: Pass, ms: number) => waitInPass(ms, {signal: ctx.signal, over, assertGoing})

/**
 * The rows that a search resolved. `isFirst`: the chain has no control record yet, so the pass sends one row again, alone, to create it. `waitedMs`:
 * how long the search waited for batches in flight of this pass and for creates of other runs. A bulk job may last for hours, so this time does not
 * count towards the limit of the searches.
 */
type SearchResult = {resolved: Map<ImportRow, RowMatch>; isFirst: boolean; waitedMs?: number}

/**
 * Searches the CRM once and returns the rows that this search resolved. A batch in flight during the search may have made a found record,
 * so records are assigned only after the batches of this pass are settled. If records were found, the creates in flight of other runs must
 * also be answered or past their deadline.
 */
const searchRecords = async (room: Room, rows: ImportRow[], canSendFirst: boolean): Promise<SearchResult> => {
  const {ctx, flow} = room
  const isOver = (await untilOver(room, rows)) <= 1
  const spreadMs = await ctx.crmClock.spreadMs()
  const found = await findCandidateRecords(ctx, flow, rows, searchWindowOf(ctx, await factsOf(room, rows), spreadMs))
  if (!found) return isOver ? endUnproven(room, rows) : {resolved: new Map(), isFirst: false}
  const since = performance.now()
  await Promise.all(room.flying)
  if (found.records.length > 0) await waitForOtherRuns(ctx, flow, ms => waitForSearch(room, ms))
  const waitedMs = performance.now() - since
  atPoint('after_search')
  return room.alone(async () => {
    const groups = groupsOf(room, rows, {facts: await factsOf(room, rows), spreadMs})
    const candidates = await holdersOf(ctx, flow, found.records)
    const {fields, namingField} = flow.module
    const matches = matchLostCreates({fields, telling: [found.field, namingField], groups, candidates})
    for (const [row, match] of matches) if (!isOver && !isComplete(row, match)) matches.delete(row)
    const first = found.isProven ? null : keepFirst(matches, canSendFirst && !found.hasControl)
    await claimForRows(ctx, flow, matches)
    await settleMatches(room, matches)
    return {resolved: matches, isFirst: first !== null, waitedMs}
  })
}

/**
 * Removes the rows without a record from the matches, because an unproven search may miss a record. If `mayOne`, keeps and returns one of
 * them, which may be sent again without proof.
 */
const keepFirst = (matches: Map<ImportRow, RowMatch>, mayOne: boolean): ImportRow | null => {
  const unproven = [...matches].flatMap(([row, {is}]) => (is === 'none' ? [row] : []))
  const first = (mayOne && unproven.find(({unansweredSends: silences}) => silences < mostUnansweredSends)) || null
  for (const row of unproven) if (row !== first) matches.delete(row)
  return first
}

/** Whether a record was found for each create of the row, so that later searches change nothing. */
const isComplete = (row: ImportRow, match: RowMatch) => match.is === 'equal' && 1 + match.others.length >= row.unansweredCreates

/**
 * Returns the interval in which the CRM may have executed these creates, by this process's clock. It ends one lag after the last deadline,
 * because the network may delay a request. `spreadMs`: how far the CRM's clock was moved while the chain ran. `Math.max` cannot take as
 * many arguments as a file has rows.
 */
const searchWindowOf = (ctx: Context, facts: readonly LostCreate[], spreadMs: number): CreateInterval => {
  const now = Date.now()
  const most = (of: (fact: LostCreate) => number) => facts.reduce((most, fact) => Math.max(most, of(fact)), Number.NEGATIVE_INFINITY)
  const lastMs = now + most(({dueInMs}) => dueInMs) + lagSecondsOf(ctx) * 1000
  return {fromMs: now - most(({sentAgoMs}) => sentAgoMs) - spreadMs, toMs: lastMs + spreadMs}
}

/** Groups rows by payload. Leaves out a payload while the CRM may still execute a create that sent it. */
const groupsOf = ({ctx, flow}: Pass, rows: ImportRow[], {facts, spreadMs}: {facts: readonly LostCreate[]; spreadMs: number}): Group[] => {
  const lost = Map.groupBy(facts, ({digest}) => digest.toString('latin1'))
  const sent = Map.groupBy(rows, row => sentDigestOf(flow, row).toString('latin1'))
  return [...sent].flatMap(([digest, rows]) => {
    const group = lost.get(digest) ?? []
    if (group.some(({dueInMs}) => dueInMs > 0)) return []
    const creates = new Map(group.map(({key, creates}) => [key, creates]))
    return [{keys: group.map(({key}) => key), creates, rows, under: searchWindowOf(ctx, group, spreadMs)}]
  })
}

const settleMatches = async (room: Room, matches: Map<ImportRow, RowMatch>) => {
  const settled = emptySettlement()
  const over: ImportRow[] = []
  for (const [row, match] of matches) {
    if (match.is === 'equal') settleFound(room, settled, row, match)
    else if (match.is === 'unclear') settleUnanswered(room, settled, row, {code: 'MAYBE_MADE', message: match.message})
    else if (row.unansweredSends >= mostUnansweredSends)
      settleUnanswered(room, settled, row, {code: 'SENT_BEFORE', message: `Sent ${row.unansweredSends} times and never answered`})
    else continue
    over.push(row)
    if (match.is === 'none') matches.set(row, ENDED)
  }
  if (over.length) await settleAndEnd(room, settled, over)
}

const ENDED: RowMatch = {is: 'unclear', message: ''}

const endUnproven = async (room: Room, rows: ImportRow[]): Promise<SearchResult> => {
  const settled = emptySettlement()
  for (const row of rows) settleUnanswered(room, settled, row, {code: 'SENT_BEFORE', message: UNDETERMINED})
  await settleAndEnd(room, settled, rows)
  return {resolved: new Map(rows.map(row => [row, ENDED])), isFirst: false}
}

const UNDETERMINED = 'The CRM did not respond, so the record of this row may exist. Check the CRM before you import the row again'

/**
 * Settles a row whose record was found. The record accounts for one create. If more creates were sent, a further log entry says that the
 * record may exist twice and names the equal records that were found.
 */
const settleFound = ({flow}: Pass, settled: SettlementParts, row: ImportRow, {recordId, others}: Extract<RowMatch, {is: 'equal'}>) => {
  row.attempt++
  logOutcome({flow, settled}, row, 'created', {recordId, ...madeEarlier, attempt: row.attempt})
  const name = {module: flow.module.no, key: row.key}
  const mayExistTwice = row.unansweredCreates > 1
  if (mayExistTwice) logMayExistTwice({flow, settled}, row, {recordId, message: sayOthers(others)})
  settled.kept.push({...name, recordId, how: HOW.taken, matchKey: row.matchKey, mayExistTwice, flow: flow.no, emptyLinks: row.emptyLinks})
  markWritten({flow, settled}, row, recordId)
  noteWritten({flow, settled}, row, {recordId})
  closeUnsettled({flow, settled}, row, recordId)
}

const sayOthers = (others: string[]) =>
  others.length ? `Equal records exist: ${others.join(', ')}` : 'A further create of this row was sent and never answered'

/** The unsettled entry of the row stays open for another run of the chain. */
const settleUnanswered = ({flow}: Pass, settled: SettlementParts, row: ImportRow, reason: {code: string; message: string}) => {
  const {attempt} = row
  logOutcome({flow, settled}, row, 'unanswered', {...reason, attempt})
  settled.opened.push({...unsettledEntryOf(flow, row, {kind: STEP_CODES.create, target: null, attempt}), ended: true})
}

const settleAndEnd = async (room: Room, settled: SettlementParts, rows: ImportRow[]) => {
  settled.leave = () => {
    for (const row of rows) room.leave(row)
  }
  room.ctx.lease.lost.throwIfAborted()
  await room.ctx.settler.settle(settled)
  for (const row of rows) room.waiting.delete(row)
  room.end(rows)
}
