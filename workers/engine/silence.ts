import {setTimeout as sleep} from 'node:timers/promises'
import {atPoint} from '../../shared/fault-point.ts'
import {HOW} from '../../sql/chain-rows.ts'
import {type Lost, listLost} from '../../sql/unsettled.ts'
import {answerSecondsOf, spareSecondsOf} from './admission.ts'
import {allot, type Group, type Lot} from './allotment.ts'
import {findRecords, holdersOf, type Window} from './candidates.ts'
import type {Context} from './context.ts'
import {sentDigestOf} from './digest.ts'
import {KINDS, type Row, type Track} from './row.ts'
import {nothingSettled, type Settled} from './settler.ts'
import {enter, mostSilences} from './verdict.ts'

/** What becomes of creates that nobody answered and that nothing unique tells. */
export type Silence = {
  /** Takes rows whose create an earlier owner or an earlier run lost out of these, and answers the others. */
  takeUp(rows: Row[]): Row[]
  /** Rows of one batch, written down as unanswered. Resolves when each has its end or is sent again. */
  settle(rows: Row[]): Promise<void>
  /** Rows that wait here, and what they take of memory, roughly. */
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

/** Somebody may ask the run to stop while nothing else happens. */
const longestSleepMs = 1_000

/**
 * Where nothing unique went with a create, sending it again may make a second record. So the CRM is asked first, once it cannot be at work on
 * the request any more, for an equal record that our user made meanwhile: such a one is the row's. Where there is none, and none a little
 * later, the row is sent again under the same admission, and the log says that its record may be there twice.
 */
export const openSilence = (pass: Pass): Silence => {
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
  // Those of another run of the chain stay where the pass counts them: nothing is written down of them yet.
  for (const row of same) if (row.silences > 0) room.leave(row)
  if (changed.length) room.follow(endChanged(room, changed))
  if (same.length) room.follow(settleRows(room, same))
  return rows.filter(row => !row.sentDigest)
}

const PAYLOAD_CHANGED = 'A create of this row was sent before and never answered, with other values: set the mappings back and retry'

const endChanged = async (room: Room, rows: Row[]) => {
  const settled = nothingSettled(null)
  for (const row of rows) stay(room, settled, row, {code: 'PAYLOAD_CHANGED', message: `${PAYLOAD_CHANGED}, or look for it in the CRM`})
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

/** Twice the CRM is asked, then the rows left go again; what cannot be told in time ends. */
const settleBatch = async (room: Room, rows: Row[]) => {
  const {ctx} = room
  const until = performance.now() + (answerSecondsOf(ctx) + 2 * spareSecondsOf(ctx)) * 1000
  const asked = new Set<Row>()
  for (let open = rows; open.length > 0; ) {
    const isInTime = await waitUntilDue(room, open, until)
    const lots = isInTime ? await look(room, open, asked) : await giveUp(room, open)
    open = open.filter(row => !lots.has(row))
    const again = [...lots].flatMap(([row, {is}]) => (is === 'none' ? [row] : []))
    for (const row of lots.keys()) room.waiting.delete(row)
    if (again.length) room.again(again)
    if (open.length) await wait(room, spareSecondsOf(ctx) * 1000)
  }
}

const factsOf = ({ctx, track}: Pass, rows: Row[]): Promise<readonly Lost[]> => {
  const digests = new Map(rows.map(row => sentDigestOf(track, row)).map(digest => [digest.toString('latin1'), digest]))
  return listLost(ctx.db, {chain: ctx.chain, module: track.module.no, digests: [...digests.values()]})
}

/** Until the CRM can be at work on none of the rows that sent these payloads. False once it takes too long. */
const waitUntilDue = async (room: Room, rows: Row[], until: number): Promise<boolean> => {
  for (;;) {
    const dueInMs = (await factsOf(room, rows)).reduce((most, fact) => Math.max(most, fact.dueInMs), 0)
    if (dueInMs === 0) return true
    if (performance.now() >= until) return false
    await wait(room, Math.min(dueInMs + 1, until - performance.now() + 1))
  }
}

const wait = async ({ctx, over, assertGoing}: Pass, ms: number) => {
  const signal = AbortSignal.any([ctx.signal, over])
  for (const end = performance.now() + ms; performance.now() < end; ) {
    await sleep(Math.min(longestSleepMs, end - performance.now()), undefined, {signal})
    assertGoing()
  }
}

/**
 * Asks the CRM once. Answers the rows that have their end and, of those asked about before, the ones without a record. What is in flight as
 * the CRM is asked may have made what it names, so its rows get their records before anything is given away.
 */
const look = async (room: Room, rows: Row[], asked: Set<Row>): Promise<Map<Row, Lot>> => {
  const {ctx, track} = room
  const found = await findRecords(ctx, track, rows, underOf(await factsOf(room, rows)))
  if (!found) return giveUp(room, rows)
  await Promise.all(room.flying)
  atPoint('after_search')
  return room.alone(async () => {
    const groups = groupsOf(track, rows, await factsOf(room, rows))
    const candidates = await holdersOf(ctx, track, found.records)
    const {fields, namingField} = track.module
    const lots = allot({fields, telling: [found.field, namingField], groups, candidates})
    for (const [row, {is}] of lots) if (is === 'none' && isUnasked(row, asked)) lots.delete(row)
    await settleLots(room, lots)
    return lots
  })
}

/** When the first of these creates may have been done, and the last: by this process's clock. There may be as many as rows of a file. */
const underOf = (facts: readonly Lost[]): Window => {
  const now = Date.now()
  const most = (of: (fact: Lost) => number) => facts.reduce((most, fact) => Math.max(most, of(fact)), Number.NEGATIVE_INFINITY)
  return {fromMs: now - most(({sentAgoMs}) => sentAgoMs), toMs: now + most(({dueInMs}) => dueInMs)}
}

const isUnasked = (row: Row, asked: Set<Row>) => !asked.has(row) && asked.add(row)

/** Without those whose payload another row has sent a moment ago. */
const groupsOf = (track: Track, rows: Row[], facts: readonly Lost[]): Group[] => {
  const lost = Map.groupBy(facts, ({digest}) => digest.toString('latin1'))
  const sent = Map.groupBy(rows, row => sentDigestOf(track, row).toString('latin1'))
  return [...sent].flatMap(([digest, rows]) => {
    const group = lost.get(digest) ?? []
    return group.some(({dueInMs}) => dueInMs > 0) ? [] : [{keys: group.map(({key}) => key), rows, under: underOf(group)}]
  })
}

const settleLots = async (room: Room, lots: Map<Row, Lot>) => {
  const settled = nothingSettled(null)
  const over: Row[] = []
  for (const [row, lot] of lots) {
    if (lot.is === 'equal') take(room, settled, row, lot.recordId)
    else if (lot.is === 'unclear') stay(room, settled, row, {code: 'MAYBE_MADE', message: `${lot.message}: look for it in the CRM`})
    else if (row.silences >= mostSilences)
      stay(room, settled, row, {code: 'SENT_BEFORE', message: `Sent ${row.silences} times and never answered`})
    else continue
    over.push(row)
    if (lot.is === 'none') lots.set(row, ENDED)
  }
  if (over.length) await conclude(room, settled, over)
}

const ENDED: Lot = {is: 'unclear', message: ''}

const giveUp = async (room: Room, rows: Row[]): Promise<Map<Row, Lot>> => {
  const settled = nothingSettled(null)
  for (const row of rows) stay(room, settled, row, {code: 'SENT_BEFORE', message: UNTOLD})
  await conclude(room, settled, rows)
  return new Map(rows.map(row => [row, ENDED]))
}

const UNTOLD = 'The create was never answered, and whether its record is there could not be found out: look for it in the CRM'

const take = ({track}: Pass, settled: Settled, row: Row, recordId: string) => {
  row.attempt++
  const said = {recordId, code: 'MADE_EARLIER', message: 'Made by the create that was sent before and never answered'}
  enter({track, settled}, row, 'created', {...said, attempt: row.attempt})
  const name = {module: track.module.no, key: row.key}
  settled.kept.push({...name, recordId, how: HOW.taken, matchKey: row.matchKey})
  settled.closed.push(name)
  row.open = false
}

/** The question stays open for another run of the chain. */
const stay = ({track}: Pass, settled: Settled, row: Row, said: {code: string; message: string}) => {
  const {key, number, attempt} = row
  enter({track, settled}, row, 'unanswered', {...said, attempt})
  const digest = row.sentDigest ?? sentDigestOf(track, row)
  settled.opened.push({
    ...{
      module: track.module.no,
      key,
      flow: track.no,
      number,
      kind: KINDS.create,
      target: null,
      witness: false,
      digest,
      attempt,
      ended: true,
    },
  })
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
