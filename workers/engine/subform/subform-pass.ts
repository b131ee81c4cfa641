import {setTimeout as sleep} from 'node:timers/promises'
import {loseEarlier, loseParents, releaseParents} from '../../../sql/replacements.ts'
import {filteredAt} from '../../../sql/run-log.ts'
import type {UnmappedCells} from '../../../sql/unmapped-cells.ts'
import {type ChangeSignal, openChangeSignal} from '../change-signal.ts'
import type {Context} from '../context.ts'
import {keepRowImages} from '../images/row-images.ts'
import type {ComparedField} from '../match/compare-values.ts'
import {openUnmappedCount} from '../read/pass-counts.ts'
import {RunStopped} from '../run-endings.ts'
import {answerSecondsOf} from '../send/admission.ts'
import {assertWritable, backOffMs, crmUnavailable} from '../send/crm-retry.ts'
import {sendBatch} from '../send/send-batch.ts'
import {logOutcome} from '../settle/log-entries.ts'
import {emptySettlement} from '../settle/settler.ts'
import {staleFailure} from '../settle/unsent-rows.ts'
import type {Op} from '../settle/verdict.ts'
import {gatherPack, holderOf, type ParentedGroup, selectFitting} from './pack.ts'
import {readSubformGroups} from './read-groups.ts'
import {type CompiledSubformFlow, openSubformRowSort, readByParent} from './record-order.ts'
import {listRowFields} from './row-values.ts'
import {planGroups} from './subform-dry-run.ts'
import {endAll, type MemberEnd} from './subform-group.ts'
import type {ReplaceUnit} from './subform-verdict.ts'

/**
 * While this many requests and settlements are in progress, no new groups are sent. Each request has at most 2,000 rows, so the limit bounds
 * memory.
 */
const lanes = 4
const endsTogether = 500
/** The maximum sleep in ms. A longer wait is split, so that a stop of the run is noticed. */
const longestSleepMs = 1_000

type SubformPipeline = {
  ctx: Context
  flow: CompiledSubformFlow
  /** The row fields that before images need. Empty for a run that stores none. */
  rowFields: ComparedField[]
  underWay: Set<Promise<void>>
  change: ChangeSignal
  /** Groups that are already counted and wait to be sent again. */
  resending: Set<ParentedGroup>
  /** Groups that may have been sent. */
  inFlight: Set<ParentedGroup>
  silentBatches: number
  failure: {error: unknown} | null
}

/**
 * Runs a flow of subform rows. Sorts the file by parent record and replaces the rows of each record, all of them or none. The cursor does not
 * move within the flow: a new owner sorts again and skips the records whose rows all have a final log entry.
 */
export const runSubformPass = async (ctx: Context, flow: CompiledSubformFlow, lowWater: number): Promise<void> => {
  const {rows} = flow.source
  if (lowWater >= rows) return
  await loseEarlier(ctx.db, {...holderOf(ctx), seconds: answerSecondsOf(ctx)})
  const pipeline = await openSubformPipeline(ctx, flow)
  const sorting = openSubformRowSort()
  ctx.settler.follow(() => ({flow: flow.no, lowWater: 0}))
  try {
    const {filtered, unmapped} = await processGroups(pipeline, readSubformGroups(ctx, flow, readByParent(ctx, flow, sorting)))
    while (pipeline.underWay.size) await waitForChange(pipeline)
    assertRunning(pipeline)
    // The settlement that ends the flow counts the filtered rows and the unmapped cells, so they are counted once.
    ctx.settler.follow(() => ({flow: flow.no, lowWater: rows}))
    await ctx.settler.settle({...emptySettlement(), counts: new Map(filtered ? [[filteredAt(flow.module.no), filtered]] : []), unmapped})
  } catch (error) {
    pipeline.failure ??= {error}
  } finally {
    while (pipeline.underWay.size) await Promise.allSettled(pipeline.underWay)
    await sorting.close()
  }
  if (pipeline.failure) throw pipeline.failure.error
}

const openSubformPipeline = async (ctx: Context, flow: CompiledSubformFlow): Promise<SubformPipeline> => ({
  rowFields: ctx.images ? await listRowFields(ctx.db, {connector: ctx.connection.connector.id, module: flow.module.apiName}) : [],
  ctx,
  flow,
  underWay: new Set(),
  change: openChangeSignal(),
  resending: new Set(),
  inFlight: new Set(),
  silentBatches: 0,
  failure: null,
})

const processGroups = async (pipeline: SubformPipeline, groups: ReturnType<typeof readSubformGroups>): Promise<GroupCounts> => {
  let filtered = 0
  const unmapped = openUnmappedCount(pipeline.flow)
  const ends: MemberEnd[] = []
  let pack: ParentedGroup[] = []
  const launch = async (work: Promise<void>) => {
    trackWork(pipeline, work)
    while (pipeline.underWay.size >= lanes) await waitForChange(pipeline)
  }
  for await (const group of groups) {
    filtered += group.filtered
    unmapped.add(group.unmapped)
    ends.push(...group.ends)
    if (ends.length >= endsTogether) await launch(settleEnds(pipeline, ends.splice(0)))
    if (group.rows.length === 0) continue
    pack.push(group as ParentedGroup)
    const whole = selectFitting(pipeline.flow, pack)
    if (whole.length === pack.length) continue
    pack = pack.slice(whole.length)
    await launch(processGroup(pipeline, whole))
  }
  if (ends.length) await launch(settleEnds(pipeline, ends))
  if (pack.length) await launch(processGroup(pipeline, pack))
  return {filtered, unmapped: unmapped.list()}
}

type GroupCounts = {filtered: number; unmapped: UnmappedCells[]}

const assertRunning = ({failure, ctx, silentBatches: silent}: SubformPipeline) => {
  if (failure) throw failure.error
  assertWritable(ctx)
  if (silent > lanes) throw crmUnavailable()
}

const waitForChange = async (pipeline: SubformPipeline) => {
  assertRunning(pipeline)
  await pipeline.change.next()
}

const trackWork = (pipeline: SubformPipeline, work: Promise<void>) => {
  const tracked = work
    .catch(error => {
      pipeline.failure ??= {error}
    })
    .finally(() => {
      pipeline.underWay.delete(tracked)
      pipeline.change.notify()
    })
  pipeline.underWay.add(tracked)
}

const settleEnds = ({ctx, flow}: SubformPipeline, ends: MemberEnd[]): Promise<void> => {
  const settled = emptySettlement()
  for (const {row, asks, ...given} of ends) {
    if (asks && row.step === undefined) settled.asked.push(asks)
    const isStale = row.attempt === 0 && row.step && (given.outcome === 'failed' || given.outcome === 'skipped')
    const {outcome, ...details} = isStale ? {...given, outcome: 'skipped' as const, ...staleFailure(given)} : given
    logOutcome({flow, settled}, row, outcome, {...details, attempt: row.attempt})
  }
  return ctx.settler.settle(settled)
}

/**
 * Sends the groups until each has ended, is to be sent again in a separate step, or the run ends. Waits for records that another holder has
 * reserved. In a dry run, plans the groups.
 */
const processGroup = async (pipeline: SubformPipeline, groups: ParentedGroup[]): Promise<void> => {
  const {ctx, flow} = pipeline
  if (ctx.run.dryRun) return planGroups(ctx, flow, groups)
  let left = groups
  try {
    for (let round = 1; left.length > 0; ) {
      assertRunning(pipeline)
      const {units, over, waitMs} = await gatherPack(ctx, flow, left, {round, fields: pipeline.rowFields.map(({apiName}) => apiName)})
      const gone = new Set(over.map(({group}) => group))
      if (gone.size) await endUnwritable(pipeline, over)
      const {done, again, ending} = units.size ? await sendGroups(pipeline, units) : emptySendResult
      for (const group of [...done, ...again]) gone.add(group)
      left = left.filter(group => !gone.has(group))
      if (again.length) resendGroups(pipeline, again)
      if (ending) throw ending
      round = gone.size > 0 || waitMs !== null ? 1 : round + 1
      if (waitMs !== null) await sleep(Math.min(longestSleepMs, waitMs), undefined, {signal: ctx.signal})
    }
  } finally {
    await releaseGroups(pipeline, left)
  }
}

const emptySendResult: SubformSendResult = {done: [], again: [], ending: null}

/**
 * Sends groups again in a separate step, after a delay. Their rows already count towards the row limit. While groups are in `resending`,
 * other groups wait for them at the limit.
 */
const resendGroups = (pipeline: SubformPipeline, groups: ParentedGroup[]) => {
  for (const group of groups) pipeline.resending.add(group)
  const waitMs = backOffMs(Math.max(...groups.map(({rows}) => rows[0]!.unansweredSends)))
  trackWork(
    pipeline,
    sleep(waitMs, undefined, {signal: pipeline.ctx.signal})
      .then(() => processGroup(pipeline, groups))
      .finally(() => {
        for (const group of groups) pipeline.resending.delete(group)
      }),
  )
}

/**
 * Releases the records of groups, except groups that may be in flight. The records of unanswered groups stay reserved until the CRM can no
 * longer execute the request.
 */
const releaseGroups = async ({ctx, inFlight}: SubformPipeline, groups: ParentedGroup[]) => {
  const parents = groups.filter(group => !inFlight.has(group) && !group.rows.some(({open}) => open)).map(({parent}) => parent.recordId)
  if (parents.length === 0 || ctx.lease.lost.aborted) return
  await releaseLocks(ctx, parents)
}

/** If the release fails, the reservations expire. */
const releaseLocks = (ctx: Context, parents: string[]) =>
  releaseParents(ctx.db, {holder: holderOf(ctx), parents}).catch(err => ctx.log.warn({err}, 'could not release reserved records'))

const endUnwritable = async (pipeline: SubformPipeline, over: Awaited<ReturnType<typeof gatherPack>>['over']) => {
  await settleEnds(
    pipeline,
    over.flatMap(({group, why}) => endAll(group.rows, why)),
  )
  await releaseGroups(
    pipeline,
    over.map(({group}) => group),
  )
}

/** The result of one request. `done`: groups that have ended. `again`: unanswered groups that are to be sent again. */
type SubformSendResult = {done: ParentedGroup[]; again: ParentedGroup[]; ending: Error | null}

const sendGroups = async (pipeline: SubformPipeline, units: Map<ParentedGroup, ReplaceUnit>): Promise<SubformSendResult> => {
  const {ctx} = pipeline
  const ops = [...units].flatMap(([{rows}, unit]): Op[] => {
    const unansweredSends = Math.max(...rows.map(row => row.unansweredSends))
    return rows.map(row => ({row: Object.assign(row, {unansweredSends}), target: unit.record, unit}))
  })
  await keepRowImages(ctx, pipeline.flow, pipeline.rowFields, units)
  const {next, ending, leftAt} = await sendAndTime(pipeline, [...units.keys()], ops)
  const answered = [...units].filter(([{rows}]) => next.has(rows[0]!))
  const lost = answered.filter(([, unit]) => unit.isLost).map(([, {record}]) => record)
  const seconds = Math.max(1, answerSecondsOf(ctx) - (performance.now() - leftAt) / 1_000)
  if (lost.length) await loseParents(ctx.db, {holder: holderOf(ctx), parents: lost, seconds})
  const [again, done] = [true, false].map(is =>
    answered.filter(([{rows}]) => (next.get(rows[0]!) === 'again') === is).map(([group]) => group),
  ) as [ParentedGroup[], ParentedGroup[]]
  const over = done.map(({parent}) => parent.recordId)
  // Some of these groups ended as unanswered. A record that `loseParents` marked stays reserved.
  if (over.length) await releaseLocks(ctx, over)
  return {done, again, ending}
}

/**
 * Sends a request. `leftAt`: when the request was last sent, in monotonic ms. `RunStopped` is thrown before an intent is stored, so nothing
 * was sent.
 */
const sendAndTime = async (pipeline: SubformPipeline, groups: ParentedGroup[], ops: Op[]) => {
  for (const group of groups) pipeline.inFlight.add(group)
  let leftAt = performance.now()
  const leaving = () => {
    leftAt = performance.now()
  }
  const known = () => {
    for (const group of groups) pipeline.inFlight.delete(group)
  }
  try {
    const sent = await sendBatch(pipeline.ctx, pipeline.flow, 'replace', ops, {...sendHooks(pipeline), leaving})
    known()
    return {...sent, leftAt}
  } catch (error) {
    if (error instanceof RunStopped) known()
    throw error
  }
}

const sendHooks = (pipeline: SubformPipeline) => ({
  leave: () => {},
  resending: () => pipeline.resending.size > 0,
  heard: (anything: boolean) => {
    pipeline.silentBatches = anything ? 0 : pipeline.silentBatches + 1
  },
  change: () => {
    assertRunning(pipeline)
    return pipeline.change.next()
  },
})
