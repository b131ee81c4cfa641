import {atPoint} from '../../shared/fault-point.ts'
import {HOW} from '../../sql/chain-rows.ts'
import {type Lost, listLost} from '../../sql/unsettled.ts'
import {answerSecondsOf, lagSecondsOf, spareSecondsOf} from './admission.ts'
import {findRecords, holdersOf, type Window} from './candidates.ts'
import {claimForRows, waitForOtherRuns} from './claims.ts'
import type {Context} from './context.ts'
import {sentDigestOf} from './digest.ts'
import {type Group, matchLostCreates, type RowMatch} from './match-lost-creates.ts'
import {waitInPass} from './pass-wait.ts'
import {KINDS, type Row, type Track} from './row.ts'
import {nothingSettled, type Settled} from './settler.ts'
import {enter, mostSilences, noteTwice, questionOf} from './verdict.ts'

/** Resolves unanswered creates that carry no unique value. */
export type UnansweredCreates = {
  /** Removes and starts resolving rows with an unanswered create of an earlier owner or run. Returns the other rows. */
  takeUp(rows: Row[]): Row[]
  /** Rows of one batch, logged as unanswered. Resolves when each has its end or is sent again. */
  settle(rows: Row[]): Promise<void>
  /** Rows that wait here, and about how much memory they take. */
  count(): number
  size(): number
  /** Steps of the pass that wait here, and hold no slot. */
  steps(): number
}

/** What it needs of the pass. `flying`: the batches whose creates have left, until each is settled. */
type Pass = {
  ctx: Context
  track: Track
  flying: ReadonlySet<Promise<void>>
  /** Aborts when the pass is over. */
  over: AbortSignal
  assertGoing(): void
  follow(work: Promise<void>): void
  leave(row: Row): void
  end(rows: Row[]): void
  again(rows: Row[]): void
}

type Room = Pass & {waiting: Map<Row, number>; steps: number; alone<T>(work: () => Promise<T>): Promise<T>}

/**
 * If nothing unique went with a create, sending it again may make a second record. So the CRM is searched for an equal record that our
 * user made meanwhile: such a record is the row's. The search begins once the CRM cannot execute the request any more. It proves that there is
 * none only after the CRM's lag, and only if it finds a record that the chain is known to have created. Then the row is sent again under
 * the same admission, and the log says that its record may exist twice. If the chain has created none yet, one row is sent again first.
 */
export const openUnansweredCreates = (pass: Pass): UnansweredCreates => {
  let last: Promise<unknown> = Promise.resolve()
  const alone = <T>(work: () => Promise<T>): Promise<T> => {
    const done = last.then(work, work)
    last = done.catch(() => {})
    return done
  }
  const room: Room = {...pass, waiting: new Map(), steps: 0, alone}
  return {
    takeUp: rows => takeUp(room, rows),
    settle: rows => settleRows(room, rows),
    count: () => room.waiting.size,
    size: () => room.waiting.values().reduce((sum, size) => sum + size, 0),
    steps: () => room.steps,
  }
}

const takeUp = (room: Room, rows: Row[]): Row[] => {
  const lost = rows.filter(({sentDigest}) => sentDigest)
  if (lost.length === 0) return rows
  const isSame = (row: Row) => sentDigestOf(room.track, row).equals(row.sentDigest!)
  const [same, changed] = [lost.filter(isSame), lost.filter(row => !isSame(row))]
  // Rows of another run of the chain stay in the window: this run has logged nothing of them yet.
  for (const row of same) if (row.silences > 0) room.leave(row)
  if (changed.length) room.follow(endChanged(room, changed))
  if (same.length) room.follow(settleRows(room, same))
  return rows.filter(row => !row.sentDigest)
}

const PAYLOAD_CHANGED =
  'The CRM did not respond when this row was sent earlier with other values. Restore the mappings and retry, or check the CRM'

const endChanged = async (room: Room, rows: Row[]) => {
  const settled = nothingSettled(null)
  for (const row of rows) stay(room, settled, row, {code: 'PAYLOAD_CHANGED', message: PAYLOAD_CHANGED})
  await conclude(room, settled, rows)
}

const settleRows = async (room: Room, rows: Row[]) => {
  if (!room.ctx.connection.findMade) return void (await giveUp(room, rows))
  for (const row of rows) room.waiting.set(row, weigh(row))
  const sentAt = new Map((await factsOf(room, rows)).map(({key, sentAt}) => [key, sentAt]))
  const batches = Map.groupBy(rows, ({key}) => sentAt.get(key))
  room.steps++
  await Promise.all([...batches.values()].map(batch => settleBatch(room, batch))).finally(() => room.steps--)
}

/** Characters of its values, which stand for bytes. */
const weigh = ({payload}: Row) =>
  Object.values(payload).reduce<number>((sum, value) => sum + (typeof value === 'string' ? value.length : 0), 0)

/** Looks again at growing intervals until each row is resolved or its time is up. */
const settleBatch = async (room: Room, rows: Row[]) => {
  const {ctx} = room
  const graceMs = (lagSecondsOf(ctx) + 3 * spareSecondsOf(ctx)) * 1000
  let until = performance.now() + answerSecondsOf(ctx) * 1000 + graceMs
  const spareMs = spareSecondsOf(ctx) * 1000
  let betweenMs = spareMs
  let canSendFirst = true
  for (let open = rows; open.length > 0; ) {
    const isInTime = await waitUntilDue(room, open, until)
    const {resolved, isFirst} = isInTime && performance.now() < until ? await look(room, open, canSendFirst) : await giveUp(room, open)
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
    await wait(room, overInMs > 1 ? Math.min(betweenMs, overInMs) : betweenMs)
    betweenMs = Math.min(betweenMs * 2, 3 * spareMs)
  }
}

const factsOf = ({ctx, track}: Pass, rows: Row[]): Promise<readonly Lost[]> => {
  const digests = new Map(rows.map(row => sentDigestOf(track, row)).map(digest => [digest.toString('latin1'), digest]))
  return listLost(ctx.db, {chain: ctx.chain, module: track.module.no, digests: [...digests.values()]})
}

/** Waits until the CRM can no longer execute any create with these payloads. Returns false at `until`. */
const waitUntilDue = async (room: Room, rows: Row[], until: number): Promise<boolean> => {
  for (;;) {
    const dueInMs = (await factsOf(room, rows)).reduce((most, fact) => Math.max(most, fact.dueInMs), 0)
    if (dueInMs === 0) return true
    if (performance.now() >= until) return false
    await wait(room, Math.min(dueInMs + 1, until - performance.now() + 1))
  }
}

/** Returns the ms until an empty search proves that no record exists. */
const untilOver = async (room: Room, rows: Row[]): Promise<number> =>
  (await factsOf(room, rows)).reduce((most, fact) => Math.max(most, leftMs(room, fact)), 0) + 1

const leftMs = ({ctx}: Pass, {dueInMs}: Lost) => dueInMs + lagSecondsOf(ctx) * 1000

const wait = ({ctx, over, assertGoing}: Pass, ms: number) => waitInPass(ms, {signal: ctx.signal, over, assertGoing})

/** `isFirst`: one row is sent again alone, because the chain has created no record that could prove a search. */
type Looked = {resolved: Map<Row, RowMatch>; isFirst: boolean}

/**
 * Searches the CRM once and returns the rows it resolved. A batch in flight during the search, in any run at the CRM org, may have made a found
 * record. So all such batches settle before a record is assigned.
 */
const look = async (room: Room, rows: Row[], canSendFirst: boolean): Promise<Looked> => {
  const {ctx, track} = room
  const isOver = (await untilOver(room, rows)) <= 1
  const spreadMs = await ctx.crmClock.spreadMs()
  const found = await findRecords(ctx, track, rows, underOf(ctx, await factsOf(room, rows), spreadMs))
  if (!found) return isOver ? giveUp(room, rows) : {resolved: new Map(), isFirst: false}
  await Promise.all(room.flying)
  if (found.records.length > 0) await waitForOtherRuns(ctx, track, ms => wait(room, ms))
  atPoint('after_search')
  return room.alone(async () => {
    const groups = groupsOf(room, rows, {facts: await factsOf(room, rows), spreadMs})
    const candidates = await holdersOf(ctx, track, found.records)
    const {fields, namingField} = track.module
    const matches = matchLostCreates({fields, telling: [found.field, namingField], groups, candidates})
    for (const [row, match] of matches) if (!isOver && !isComplete(row, match)) matches.delete(row)
    const first = found.isProven ? null : keepFirst(matches, canSendFirst && !found.hasControl)
    await claimForRows(ctx, track, matches)
    await settleMatches(room, matches)
    return {resolved: matches, isFirst: first !== null}
  })
}

/** Without proof no row has no record. Returns the one that may be sent again all the same. */
const keepFirst = (matches: Map<Row, RowMatch>, mayOne: boolean): Row | null => {
  const unproven = [...matches].flatMap(([row, {is}]) => (is === 'none' ? [row] : []))
  const first = (mayOne && unproven.find(({silences}) => silences < mostSilences)) || null
  for (const row of unproven) if (row !== first) matches.delete(row)
  return first
}

/** Each create of the row has its record: later searches can change nothing. */
const isComplete = (row: Row, match: RowMatch) => match.is === 'equal' && 1 + match.others.length >= row.unansweredCreates

/**
 * When the first of these creates may have been executed, and the last: by this process's clock. A request that the network held back past its
 * deadline may be executed within the lag. `spreadMs`: by so much the CRM's clock was set while the chain ran. There may be as many facts as
 * rows of a file.
 */
const underOf = (ctx: Context, facts: readonly Lost[], spreadMs: number): Window => {
  const now = Date.now()
  const most = (of: (fact: Lost) => number) => facts.reduce((most, fact) => Math.max(most, of(fact)), Number.NEGATIVE_INFINITY)
  const lastMs = now + most(({dueInMs}) => dueInMs) + lagSecondsOf(ctx) * 1000
  return {fromMs: now - most(({sentAgoMs}) => sentAgoMs) - spreadMs, toMs: lastMs + spreadMs}
}

/** Groups rows by payload. Leaves a payload out while the CRM may still execute a create that sent it. */
const groupsOf = ({ctx, track}: Pass, rows: Row[], {facts, spreadMs}: {facts: readonly Lost[]; spreadMs: number}): Group[] => {
  const lost = Map.groupBy(facts, ({digest}) => digest.toString('latin1'))
  const sent = Map.groupBy(rows, row => sentDigestOf(track, row).toString('latin1'))
  return [...sent].flatMap(([digest, rows]) => {
    const group = lost.get(digest) ?? []
    if (group.some(({dueInMs}) => dueInMs > 0)) return []
    const creates = new Map(group.map(({key, creates}) => [key, creates]))
    return [{keys: group.map(({key}) => key), creates, rows, under: underOf(ctx, group, spreadMs)}]
  })
}

const settleMatches = async (room: Room, matches: Map<Row, RowMatch>) => {
  const settled = nothingSettled(null)
  const over: Row[] = []
  for (const [row, match] of matches) {
    if (match.is === 'equal') take(room, settled, row, match)
    else if (match.is === 'unclear') stay(room, settled, row, {code: 'MAYBE_MADE', message: match.message})
    else if (row.silences >= mostSilences)
      stay(room, settled, row, {code: 'SENT_BEFORE', message: `Sent ${row.silences} times and never answered`})
    else continue
    over.push(row)
    if (match.is === 'none') matches.set(row, ENDED)
  }
  if (over.length) await conclude(room, settled, over)
}

const ENDED: RowMatch = {is: 'unclear', message: ''}

const giveUp = async (room: Room, rows: Row[]): Promise<Looked> => {
  const settled = nothingSettled(null)
  for (const row of rows) stay(room, settled, row, {code: 'SENT_BEFORE', message: UNDETERMINED})
  await conclude(room, settled, rows)
  return {resolved: new Map(rows.map(row => [row, ENDED])), isFirst: false}
}

const UNDETERMINED = 'The CRM did not respond, so the record of this row may exist. Check the CRM before you import the row again'

/** A record accounts for one create. If more were sent, the log says that the record may exist twice, or which other records there are. */
const take = ({track}: Pass, settled: Settled, row: Row, {recordId, others}: Extract<RowMatch, {is: 'equal'}>) => {
  row.attempt++
  const said = {recordId, code: 'MADE_EARLIER', message: 'Created by an earlier request that the CRM did not answer'}
  enter({track, settled}, row, 'created', {...said, attempt: row.attempt})
  const name = {module: track.module.no, key: row.key}
  const mayExistTwice = row.unansweredCreates > 1
  if (mayExistTwice) noteTwice({track, settled}, row, {recordId, message: sayOthers(others)})
  settled.kept.push({...name, recordId, how: HOW.taken, matchKey: row.matchKey, mayExistTwice})
  settled.closed.push(name)
  row.open = false
}

const sayOthers = (others: string[]) =>
  others.length ? `Equal records exist: ${others.join(', ')}` : 'A further create of this row was sent and never answered'

/** The question stays open for another run of the chain. */
const stay = ({track}: Pass, settled: Settled, row: Row, said: {code: string; message: string}) => {
  const {attempt} = row
  enter({track, settled}, row, 'unanswered', {...said, attempt})
  settled.opened.push({...questionOf(track, row, {kind: KINDS.create, target: null, attempt}), ended: true})
}

const conclude = async (room: Room, settled: Settled, rows: Row[]) => {
  settled.leave = () => {
    for (const row of rows) room.leave(row)
  }
  room.ctx.lease.lost.throwIfAborted()
  await room.ctx.settler.settle(settled)
  for (const row of rows) room.waiting.delete(row)
  room.end(rows)
}
