import {setTimeout as sleep} from 'node:timers/promises'
import type {RecordAnswer, WriteAnswer} from '../../shared/crm/crm.ts'
import {type CrmProblem, isCrowded} from '../../shared/crm/error.ts'
import {mostOfSmall} from '../../shared/crm/records.ts'
import {atPoint} from '../../shared/fault-point.ts'
import {batchSent} from '../../shared/metrics/rows.ts'
import {traced} from '../../shared/tracing.ts'
import {isFateUnknown, isPassing} from '../../sql/database.ts'
import {moveDeadline} from '../../sql/sends.ts'
import {type Admitted, admitOps, answerSecondsOf, type Beside, lagSecondsOf} from './admission.ts'
import type {Context} from './context.ts'
import {RunPaused} from './ending.ts'
import {judgePatch} from './patch-verdict.ts'
import {backOffMs, meaningOf, spent} from './patience.ts'
import {endByRefusal, isCallRefused} from './request-refusal.ts'
import type {Row, Track, Way} from './row.ts'
import {nothingSettled} from './settler.ts'
import {holdSlot, type Slot} from './slots.ts'
import {countRecords, replaceRows} from './subform-send.ts'
import {isFresh, judgeReplaced} from './subform-verdict.ts'
import {type Candidate, judgeTakes, type Take} from './take.ts'
import {judgeAnswer, type Next, type Op, takeCandidate} from './verdict.ts'

export type Sent = {
  /** Where each row goes next. */
  next: Map<Row, Next>
  /** Ops that were not sent: they go again as they are. */
  unsent: Op[]
  /** Why no more can be sent for now. */
  ending: Error | null
}

type Answers = {answers: RecordAnswer[]; clockOffsetMs: number | null}
/** `refused`: the CRM refused the request as a whole, because of its size or of one of its records. */
type Answered = Answers | {unsent: Error | null} | {refused: CrmProblem}

const longestWaitMs = 10_000
const mostTries = 10

/**
 * `leave`: of each row as its end is written, or that its end is looked for. `heard`: of each batch whether the CRM said anything of it.
 * `leaving`: of one that is about to be sent.
 */
type Told = {leave(row: Row): void; heard(anything: boolean): void; leaving(): void}

/** The life of one batch: slot, intent, request, slot back, settlement. */
export const sendBatch = (ctx: Context, track: Track, kind: Way, ops: Op[], on: Beside & Told): Promise<Sent> =>
  traced(`batch ${track.patching ? 'patch' : kind}`, {attributes: {'lading.rows': ops.length}}, () => carryBatch(ctx, track, kind, ops, on))

const carryBatch = async (ctx: Context, track: Track, kind: Way, ops: Op[], on: Beside & Told): Promise<Sent> => {
  const slot = await holdSlot(countRecords(ops) > mostOfSmall ? ctx.slots.large : ctx.slots.small, ctx.signal)
  try {
    const admitted = await admitOps(ctx, track, kind, ops, slot, on)
    atPoint('after_intent')
    const answered = await transmit(ctx, track, kind, admitted, {slot, leaving: on.leaving})
    slot.give()
    atPoint('after_send')
    if ('answers' in answered) batchSent(track.patching ? 'patch' : kind)
    if ('unsent' in answered) {
      await putBack(ctx, track, admitted.batch, admitted.ops)
      return {next: new Map(), unsent: ops, ending: answered.unsent}
    }
    if ('refused' in answered) {
      on.heard(true)
      await putBack(ctx, track, admitted.batch, admitted.ops)
      return await sendHalves(ctx, track, kind, admitted, on)
    }
    on.heard(answered.answers.some(isHeard))
    const {next, ending} = await settleAnswers(ctx, track, kind, admitted, answered, on.leave)
    return {next, unsent: admitted.left, ending}
  } finally {
    slot.give()
  }
}

const isHeard = (answer: RecordAnswer) => answer.ok || (answer.sent && !answer.crm.unanswered)

type Leaving = {slot: Slot; leaving(): void}

/** Sends, and waits and sends again while the CRM says that nothing was done and asks to come back soon. */
const transmit = async (
  ctx: Context,
  track: Track,
  kind: Way,
  {batch, ops, since}: Admitted,
  {slot, leaving}: Leaving,
): Promise<Answered> => {
  let intendedAt = since
  for (let tried = 1; ; tried++) {
    const last = lastCheck(ctx, intendedAt, ops)
    if (!last.mayLeave()) return {unsent: null}
    leaving()
    const written = await write(ctx, track, kind, ops, last.mayLeave).catch(notSent)
    if (written instanceof Error) return {unsent: written}
    const {results, clockOffsetMs, whole} = written
    if (last.isTooLate() && !isSent(results)) return {unsent: null}
    // What fails there fails over a batch of which nothing was done.
    const declined = await declinedWhole(ctx, results, tried).catch((error: Error) => error)
    if (!declined) return readRefusal(ctx, ops, whole?.crm) ?? {answers: results, clockOffsetMs}
    if (declined instanceof Error) return {unsent: declined}
    slot.give()
    try {
      await sleep(declined.waitMs, undefined, {signal: ctx.signal})
      await slot.again()
      intendedAt = performance.now()
      const mayGo = await moveDeadline(ctx.hot, {run: ctx.run.no, batch, fence: ctx.lease.fence, answerSeconds: answerSecondsOf(ctx)})
      if (!mayGo) return {unsent: null}
    } catch (error) {
      if (!ctx.signal.aborted) ctx.log.warn({err: error}, 'batch put back')
      return {unsent: null}
    }
  }
}

/** `mayLeave` is asked once more as the request leaves: renewing the access and connecting take their time. */
const write = (ctx: Context, track: Track, kind: Way, ops: Op[], mayLeave: () => boolean): Promise<WriteAnswer> => {
  const {connection, lease} = ctx
  const {module} = track
  const options = {signal: lease.lost, mayLeave}
  if (kind === 'replace') return replaceRows(ctx, track, ops, options)
  return kind === 'create'
    ? connection.createRecords(
        module.apiName,
        ops.map(({row}) => row.payload),
        options,
      )
    : connection.updateRecords(
        module.apiName,
        ops.map(({row, target}) => ({...row.payload, id: target!})),
        options,
      )
}

const lastCheck = ({lease}: Context, intendedAt: number, ops: Op[]) => {
  let isTooLate = false
  const mayLeave = () => {
    isTooLate = !lease.maySend(intendedAt) || !ops.every(({unit}) => !unit || isFresh(unit))
    return !isTooLate
  }
  return {mayLeave, isTooLate: () => isTooLate}
}

const isSent = (results: RecordAnswer[]) => results.some(answer => answer.ok || answer.sent)

/** A write fails whole only for what comes before it: Postgres could not be asked for the connection's access. */
const notSent = (error: unknown): Error => {
  if (isFateUnknown(error) || isPassing(error)) return error as Error
  throw error
}

/** Nothing of the batch was done and all of it may be sent again: how long to wait first, or why to lie down. Null: there are answers to settle. */
const declinedWhole = async (ctx: Context, results: RecordAnswer[], tried: number): Promise<{waitMs: number} | Error | null> => {
  const [first] = results
  if (!first || first.ok) return null
  if (!first.sent) return meaningOf(ctx, first.refusal)
  if (!results.every(answer => !answer.ok && answer.sent && answer.crm.rateLimited)) return null
  if (first.crm.quotaSpent) return spent()
  if (isCrowded(first.crm)) await ctx.slots.cut()
  const waitMs = backOffMs(tried, first.crm.retryAfterMs)
  if (waitMs <= longestWaitMs && tried < mostTries) return {waitMs}
  return new RunPaused('RATE_LIMITED', 'The CRM asks to slow down', Math.max(10, waitMs / 1000))
}

/** After so many in a row the refusals are not about single records, and the run stops. */
const mostRefusedSingles = 100

/** Null where the answer speaks of each record, the only record of a request included. */
const readRefusal = ({run, refusedSingles}: Context, ops: Op[], crm: CrmProblem | undefined): Answered | null => {
  if (!crm || crm.unanswered) {
    refusedSingles.count = 0
    return null
  }
  if (isCallRefused(crm)) return {unsent: endByRefusal(crm, run)}
  if (countRecords(ops) > 1) return {refused: crm}
  return ++refusedSingles.count > mostRefusedSingles ? {unsent: endByRefusal(crm, run)} : null
}

/** One half after the other, so a batch of n records takes fewer than 2n requests. Results of the first half survive a failure of the second. */
const sendHalves = async (ctx: Context, track: Track, kind: Way, {ops, left}: Admitted, on: Beside & Told): Promise<Sent> => {
  const [first, second] = halve(ops)
  const one = await carryBatch(ctx, track, kind, first, on)
  if (one.ending) return {...one, unsent: [...one.unsent, ...second, ...left]}
  const two = await carryBatch(ctx, track, kind, second, on).catch((ending: Error) => ({next: new Map(), unsent: second, ending}))
  return {next: new Map([...one.next, ...two.next]), unsent: [...one.unsent, ...two.unsent, ...left], ending: two.ending}
}

/** Rows of one record stay together. */
const halve = (ops: Op[]): [Op[], Op[]] => {
  const records = [...Map.groupBy(ops, op => op.unit ?? op).values()]
  const half = Math.ceil(records.length / 2)
  return [records.slice(0, half).flat(), records.slice(half).flat()]
}

/** The rows were not sent: the batch is struck and rows nobody else sent before are not counted any more. */
const putBack = (ctx: Context, track: Track, batch: number, ops: Op[]) =>
  ctx.settler.settle({
    ...nothingSettled(batch),
    released: ops
      .filter(({row}) => row.silences === 0 && row.isMetered !== false)
      .map(({row}) => ({module: track.module.no, key: row.key})),
  })

const settleAnswers = async (
  ctx: Context,
  track: Track,
  kind: Way,
  {batch, ops}: Admitted,
  {answers, clockOffsetMs}: Answers,
  leave: (row: Row) => void,
) => {
  const candidates = ops.flatMap((op, at) => {
    const recordId = takeCandidate(kind, op, answers[at]!)
    return recordId === null ? [] : [{row: op.row, recordId}]
  })
  await ctx.crmClock.note(clockOffsetMs)
  const {takes, ending} = await judgeOrPutOff(ctx, track, candidates, clockOffsetMs)
  const settled = nothingSettled(batch)
  const next = new Map<Row, Next>()
  for (const [at, op] of ops.entries()) {
    const answer = answers[at]!
    if (!answer.ok && !answer.sent) throw new Error('A batch came back partly unsent')
    const sent = {track, settled, patienceMs: lagSecondsOf(ctx) * 1000, lateUpdates: ctx.lateUpdates}
    if (kind === 'replace') next.set(op.row, judgeReplaced(sent, op, answer))
    else if (track.patching) next.set(op.row, judgePatch(sent, op, answer))
    else next.set(op.row, judgeAnswer({...sent, kind}, op, answer, takes.get(op.row)))
  }
  settled.leave = () => {
    for (const [row, step] of next) if (step === 'end' || step === 'wait') leave(row)
  }
  atPoint('before_settle')
  ctx.lease.lost.throwIfAborted()
  await ctx.settler.settle(settled)
  return {next, ending}
}

/** What ends the pass here must not lose the answers that are there: those whose record cannot be looked at are put off. */
const judgeOrPutOff = async (ctx: Context, track: Track, candidates: Candidate[], clockOffsetMs: number | null) => {
  try {
    return {takes: await judgeTakes(ctx, track, candidates, clockOffsetMs), ending: null}
  } catch (error) {
    return {takes: new Map<Row, Take | 'later'>(candidates.map(({row}) => [row, 'later'])), ending: error as Error}
  }
}
