import {setTimeout as sleep} from 'node:timers/promises'
import {loseEarlier, loseParents, releaseParents} from '../../sql/replacements.ts'
import {filteredAt} from '../../sql/run-log.ts'
import {answerSecondsOf} from './admission.ts'
import {type Change, openChange} from './change.ts'
import type {Context} from './context.ts'
import {RunStopped} from './ending.ts'
import {type End, endAll} from './family.ts'
import {assertOpen, backOffMs, noAnswers} from './patience.ts'
import {sendBatch} from './sender.ts'
import {nothingSettled} from './settler.ts'
import {readFamilies} from './subform-families.ts'
import {openPlaces, readByParent, type SubformTrack} from './subform-order.ts'
import {fitting, gather, holderOf, type Kept} from './subform-pack.ts'
import {rehearseFamilies} from './subform-rehearsal.ts'
import type {Unit} from './subform-verdict.ts'
import {enter, type Op} from './verdict.ts'

/** Requests of at most 2,000 rows that are read for, sent and settled at the same time: the bound on memory. */
const lanes = 4
const endsTogether = 500
/** Somebody may ask the run to stop while nothing else happens. */
const longestSleepMs = 1_000

type Yard = {
  ctx: Context
  track: SubformTrack
  underWay: Set<Promise<void>>
  change: Change
  /** Families counted already that wait to be sent again. */
  resending: Set<Kept>
  /** Families of which nobody knows whether they were sent. */
  inFlight: Set<Kept>
  /** Requests in a row of which the CRM said nothing at all. */
  silent: number
  failure: {error: unknown} | null
}

/**
 * A flow of subform rows: the file is sorted by the records its rows belong to, and record after record has its rows replaced by the file's,
 * all of them or none. There is no mark inside it: an owner that takes the run over sorts again, and what the log has the end of is over.
 */
export const runSubformPass = async (ctx: Context, track: SubformTrack, lowWater: number): Promise<void> => {
  const {rows} = track.source
  if (lowWater >= rows) return
  await loseEarlier(ctx.db, {...holderOf(ctx), seconds: answerSecondsOf(ctx)})
  const yard = openYard(ctx, track)
  const sorting = openPlaces()
  ctx.settler.follow(() => ({flow: track.no, lowWater: 0}))
  try {
    const filtered = await carryAll(yard, readFamilies(ctx, track, readByParent(ctx, track, sorting)))
    while (yard.underWay.size) await waitForChange(yard)
    assertGoing(yard)
    // They are counted with the mark that says the flow is over, so once.
    ctx.settler.follow(() => ({flow: track.no, lowWater: rows}))
    await ctx.settler.settle({...nothingSettled(null), counts: new Map(filtered ? [[filteredAt(track.module.no), filtered]] : [])})
  } catch (error) {
    yard.failure ??= {error}
  } finally {
    while (yard.underWay.size) await Promise.allSettled(yard.underWay)
    await sorting.close()
  }
  if (yard.failure) throw yard.failure.error
}

const openYard = (ctx: Context, track: SubformTrack): Yard => ({
  ...{ctx, track, underWay: new Set(), change: openChange(), resending: new Set(), inFlight: new Set(), silent: 0, failure: null},
})

/** Answers how many rows the filter keeps back. */
const carryAll = async (yard: Yard, families: ReturnType<typeof readFamilies>): Promise<number> => {
  let filtered = 0
  const ends: End[] = []
  let pack: Kept[] = []
  const launch = async (work: Promise<void>) => {
    begin(yard, work)
    while (yard.underWay.size >= lanes) await waitForChange(yard)
  }
  for await (const family of families) {
    filtered += family.filtered
    ends.push(...family.ends)
    if (ends.length >= endsTogether) await launch(settleEnds(yard, ends.splice(0)))
    if (family.rows.length === 0) continue
    pack.push(family as Kept)
    const whole = fitting(pack)
    if (whole.length === pack.length) continue
    pack = pack.slice(whole.length)
    await launch(carry(yard, whole))
  }
  if (ends.length) await launch(settleEnds(yard, ends))
  if (pack.length) await launch(carry(yard, pack))
  return filtered
}

const assertGoing = ({failure, ctx, silent}: Yard) => {
  if (failure) throw failure.error
  assertOpen(ctx)
  if (silent > lanes) throw noAnswers()
}

const waitForChange = async (yard: Yard) => {
  assertGoing(yard)
  await yard.change.next()
}

const begin = (yard: Yard, work: Promise<void>) => {
  const tracked = work
    .catch(error => {
      yard.failure ??= {error}
    })
    .finally(() => {
      yard.underWay.delete(tracked)
      yard.change.happened()
    })
  yard.underWay.add(tracked)
}

const settleEnds = ({ctx, track}: Yard, ends: End[]): Promise<void> => {
  const settled = nothingSettled(null)
  for (const {row, outcome, asks, ...said} of ends) {
    if (asks) settled.asked.push(asks)
    enter({track, settled}, row, outcome, {...said, attempt: row.attempt})
  }
  return ctx.settler.settle(settled)
}

/** Until each has its end, or something ends the run early. Records that somebody else is at are waited for: they are held for a time only. */
const carry = async (yard: Yard, families: Kept[]): Promise<void> => {
  const {ctx, track} = yard
  if (ctx.run.dryRun) return rehearseFamilies(ctx, track, families)
  let left = families
  try {
    for (let round = 1; left.length > 0; ) {
      assertGoing(yard)
      const {units, over, waitMs} = await gather(ctx, track, left, round)
      const gone = new Set(over.map(({family}) => family))
      if (gone.size) await giveUp(yard, over)
      const {done, again, ending} = units.size ? await send(yard, units) : nothingSent
      for (const family of [...done, ...again]) gone.add(family)
      left = left.filter(family => !gone.has(family))
      if (again.length) sendAgain(yard, again)
      if (ending) throw ending
      round = gone.size > 0 || waitMs !== null ? 1 : round + 1
      if (waitMs !== null) await sleep(Math.min(longestSleepMs, waitMs), undefined, {signal: ctx.signal})
    }
  } finally {
    await letGo(yard, left)
  }
}

const nothingSent: Sent = {done: [], again: [], ending: null}

/** By themselves: at the limit others wait for rows that are counted already. */
const sendAgain = (yard: Yard, families: Kept[]) => {
  for (const family of families) yard.resending.add(family)
  const waitMs = backOffMs(Math.max(...families.map(({rows}) => rows[0]!.silences)))
  begin(
    yard,
    sleep(waitMs, undefined, {signal: yard.ctx.signal})
      .then(() => carry(yard, families))
      .finally(() => {
        for (const family of families) yard.resending.delete(family)
      }),
  )
}

/** Of those that may be under way nobody knows, and what was not answered is held until it is known to be over. */
const letGo = async ({ctx, inFlight}: Yard, families: Kept[]) => {
  const parents = families.filter(family => !inFlight.has(family) && !family.rows.some(({open}) => open)).map(({parent}) => parent.recordId)
  if (parents.length === 0 || ctx.lease.lost.aborted) return
  await release(ctx, parents)
}

/** Whoever fails at it leaves them to expire. */
const release = (ctx: Context, parents: string[]) =>
  releaseParents(ctx.db, {holder: holderOf(ctx), parents}).catch(err => ctx.log.warn({err}, 'records left to expire'))

const giveUp = async (yard: Yard, over: Awaited<ReturnType<typeof gather>>['over']) => {
  await settleEnds(
    yard,
    over.flatMap(({family, why}) => endAll(family.rows, why)),
  )
  await letGo(
    yard,
    over.map(({family}) => family),
  )
}

/** `done`: families that have their end. `again`: those that were not answered. */
type Sent = {done: Kept[]; again: Kept[]; ending: Error | null}

const send = async (yard: Yard, units: Map<Kept, Unit>): Promise<Sent> => {
  const {ctx} = yard
  const ops = [...units].flatMap(([{rows}, unit]): Op[] => {
    const silences = Math.max(...rows.map(row => row.silences))
    return rows.map(row => ({row: Object.assign(row, {silences}), target: unit.record, unit}))
  })
  const {next, ending, leftAt} = await sendKnowing(yard, [...units.keys()], ops)
  const answered = [...units].filter(([{rows}]) => next.has(rows[0]!))
  const lost = answered.filter(([, unit]) => unit.isLost).map(([, {record}]) => record)
  const seconds = Math.max(1, answerSecondsOf(ctx) - (performance.now() - leftAt) / 1_000)
  if (lost.length) await loseParents(ctx.db, {holder: holderOf(ctx), parents: lost, seconds})
  const [again, done] = [true, false].map(is =>
    answered.filter(([{rows}]) => (next.get(rows[0]!) === 'again') === is).map(([family]) => family),
  ) as [Kept[], Kept[]]
  const over = done.map(({parent}) => parent.recordId)
  // Also of those that nobody answered for in the end: a call that may be under way yet keeps its record of itself.
  if (over.length) await release(ctx, over)
  return {done, again, ending}
}

/** `leftAt`: when it last left. A step that stops before anything is kept of it has sent nothing. */
const sendKnowing = async (yard: Yard, families: Kept[], ops: Op[]) => {
  for (const family of families) yard.inFlight.add(family)
  let leftAt = performance.now()
  const leaving = () => {
    leftAt = performance.now()
  }
  const known = () => {
    for (const family of families) yard.inFlight.delete(family)
  }
  try {
    const sent = await sendBatch(yard.ctx, yard.track, 'replace', ops, {...besides(yard), leaving})
    known()
    return {...sent, leftAt}
  } catch (error) {
    if (error instanceof RunStopped) known()
    throw error
  }
}

const besides = (yard: Yard) => ({
  leave: () => {},
  resending: () => yard.resending.size > 0,
  heard: (anything: boolean) => {
    yard.silent = anything ? 0 : yard.silent + 1
  },
  change: () => {
    assertGoing(yard)
    return yard.change.next()
  },
})
