import type {RecordAnswer, WriteAnswer} from '../../../shared/crm/crm.ts'
import {type CrmProblem, isCrowded, isModified} from '../../../shared/crm/error.ts'
import {mostOfSmall} from '../../../shared/crm/record-calls.ts'
import {atPoint} from '../../../shared/fault-point.ts'
import {batchSent} from '../../../shared/telemetry/metrics/rows.ts'
import {traced} from '../../../shared/telemetry/tracing.ts'
import {isPassing} from '../../../sql/database.ts'
import {isOutage} from '../../../sql/outage.ts'
import type {Context} from '../context.ts'
import {voidPatchImages} from '../images/before-images.ts'
import type {BatchKind, CompiledFlow, ImportRow} from '../model.ts'
import {waitInPass} from '../pass-wait.ts'
import {RunPaused, RunStopped} from '../run-endings.ts'
import {type Answers, putBack, settleAnswers} from '../settle/settle-answers.ts'
import type {NextStep, Op} from '../settle/verdict.ts'
import {countRecords} from '../subform/send.ts'
import {isFresh} from '../subform/subform-verdict.ts'
import {type AdmissionHooks, type AdmittedBatches, admitOps} from './admission.ts'
import {type BatchSlot, queueForSlot} from './batch-slot.ts'
import {assertWritable, backOffMs, classifyRefusal, quotaExhausted, retryLimitsOf} from './crm-retry.ts'
import {enterSlot} from './enter-slot.ts'
import {endByRefusal, isCallRefused} from './request-refusal.ts'
import {writeOps} from './write-ops.ts'

export type BatchResult = {
  next: Map<ImportRow, NextStep>
  /** Operations that were not sent. The caller sends them again unchanged. */
  unsent: Op[]
  /** The error that pauses or stops the run. Null: the pass continues. */
  ending: Error | null
}

/**
 * The result of one request. `unsent`: the CRM did nothing; the error that ends the run, or null. `refused`: the CRM refused the request as a
 * whole, because of its size or of one of its records.
 */
type TransmitResult = LimitedAnswers | {unsent: Error | null} | {refused: CrmProblem}

/** `limited`: the CRM's rate limit refused some of the records. They are sent again after the wait, or the error pauses the run. */
type LimitedAnswers = Answers & {limited?: {waitMs: number} | Error}

const mostTries = 10

/**
 * The callbacks of a batch. `leave`: called for each row that ended, or whose record must be searched for in the CRM. `heard`: called after each
 * sent request; `anything`: whether the CRM answered for at least one record. `leaving`: called immediately before each try of the request.
 */
export type BatchHooks = {leave(row: ImportRow): void; heard(anything: boolean): void; leaving(): void}

/**
 * Sends and settles one batch. Stores the intent while the batch waits for its slot, sends the request, gives the slot back and commits the
 * settlement.
 */
export const sendBatch = (
  ctx: Context,
  flow: CompiledFlow,
  kind: BatchKind,
  ops: Op[],
  on: AdmissionHooks & BatchHooks,
): Promise<BatchResult> =>
  traced(`batch ${purposeOf(flow, kind)}`, {attributes: {'lading.rows': ops.length}}, () => sendUnderSlot(ctx, flow, kind, ops, on))

const purposeOf = ({patchPlan, tags}: CompiledFlow, kind: BatchKind) => (tags ? 'tag' : patchPlan ? 'patch' : kind)

const sendUnderSlot = async (
  ctx: Context,
  flow: CompiledFlow,
  kind: BatchKind,
  ops: Op[],
  on: AdmissionHooks & BatchHooks,
): Promise<BatchResult> => {
  const slot = await queueForSlot(countRecords(ops) > mostOfSmall ? ctx.slots.large : ctx.slots.small, ctx.signal)
  try {
    const admitted = await admitOps(ctx, flow, kind, ops, slot, on).catch(async error => {
      if (error instanceof RunStopped || error instanceof RunPaused) await voidPatchImages(ctx, flow, ops)
      throw error
    })
    atPoint('after_intent')
    const answered = await transmit(ctx, flow, kind, admitted, {slot, leaving: on.leaving})
    slot.give()
    atPoint('after_send')
    // The caller stores the images of unsent rows again before it sends them.
    await voidPatchImages(ctx, flow, admitted.left)
    if ('answers' in answered) batchSent(purposeOf(flow, kind))
    if ('unsent' in answered) {
      await voidPatchImages(ctx, flow, ops)
      await putBack(ctx, flow, admitted)
      return {next: new Map(), unsent: ops, ending: answered.unsent}
    }
    if ('refused' in answered) {
      on.heard(true)
      await putBack(ctx, flow, admitted)
      return await sendHalves(ctx, flow, kind, admitted, on)
    }
    on.heard(answered.answers.some(hasAnswer))
    return await settleAndRetry(ctx, flow, kind, admitted, answered, on)
  } finally {
    slot.give()
  }
}

/** Settles the answers. Records that the CRM's rate limit refused count as unsent. They are sent again after the wait. */
const settleAndRetry = async (
  ctx: Context,
  flow: CompiledFlow,
  kind: BatchKind,
  {batches, ops, left}: AdmittedBatches,
  {answers, clockOffsetMs, limited}: LimitedAnswers,
  on: AdmissionHooks & BatchHooks,
): Promise<BatchResult> => {
  const unsent = ops.filter((_, at) => isLimited(answers[at]!))
  const settled = {batches, ops: ops.filter(op => !unsent.includes(op)), unsent}
  const kept = {answers: answers.filter(answer => !isLimited(answer)), clockOffsetMs}
  if (limited instanceof Error) await voidPatchImages(ctx, flow, unsent)
  const {next, ending} = await settleAnswers(ctx, flow, kind, settled, kept, on.leave)
  const one = {next, unsent: left, ending: ending ?? (limited instanceof Error ? limited : null)}
  if (limited && 'waitMs' in limited && !ending) await waitToRetry(ctx, limited.waitMs)
  return unsent.length > 0 ? await sendRest(ctx, flow, kind, one, unsent, on) : one
}

const isLimited = (answer: RecordAnswer) => !answer.ok && answer.sent && answer.crm.rateLimited === true

const hasAnswer = (answer: RecordAnswer) => answer.ok || (answer.sent && !answer.crm.unanswered)

type TransmitOptions = {slot: BatchSlot; leaving(): void}

/** Sends the batch, up to ten times while the CRM's rate limit refuses all of it. Gives up earlier if a wait would be too long. */
const transmit = async (
  ctx: Context,
  flow: CompiledFlow,
  kind: BatchKind,
  admitted: AdmittedBatches,
  {slot, leaving}: TransmitOptions,
): Promise<TransmitResult> => {
  const {ops} = admitted
  for (let tried = 1; ; tried++) {
    const intendedAt = await enterSlot(ctx, admitted, slot, tried)
    if (intendedAt === null) return {unsent: null}
    const last = lastCheck(ctx, intendedAt, ops)
    if (!last.mayLeave()) return {unsent: null}
    leaving()
    const written = await writeOps(ctx, flow, kind, ops, last.mayLeave).catch(notSent)
    if (written instanceof Error) return {unsent: written}
    const {results, clockOffsetMs, whole} = written
    if (last.isTooLate() && !isSent(results)) return {unsent: null}
    const refused = results.filter(isLimited)
    const isPart = refused.length > 0 && refused.length < results.length
    // `declinedWhole` throws only if the CRM wrote none of these records, so they are then unsent.
    const declined = await declinedWhole(ctx, isPart ? {...written, results: refused} : written, tried).catch((error: Error) => error)
    if (!declined || isPart)
      return readRefusal(ctx, flow, ops, whole?.crm) ?? {answers: results, clockOffsetMs, ...(declined && {limited: declined})}
    if (declined instanceof Error) return {unsent: declined}
    slot.give()
    const waited = await waitToRetry(ctx, declined.waitMs, slot)
    if (!waited) return {unsent: null}
  }
}

const waitToRetry = async (ctx: Context, ms: number, slot?: BatchSlot): Promise<boolean> => {
  try {
    await waitInPass(ms, {signal: ctx.signal, over: ctx.signal, assertGoing: () => assertWritable(ctx)})
    await slot?.again()
    return true
  } catch {
    return false
  }
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

/** Returns the error of a write that was not sent, because Postgres could not be queried for the access token. Rethrows any other error. */
const notSent = (error: unknown): Error => {
  if (isOutage(error) || isPassing(error)) return error as Error
  throw error
}

/**
 * Returns how long to wait before the retry, or the error that ends the run, if the CRM did nothing of the batch. Returns null if there are
 * answers to settle.
 */
const declinedWhole = async (ctx: Context, {results, whole}: WriteAnswer, tried: number): Promise<{waitMs: number} | Error | null> => {
  const [first] = results
  if (!first || first.ok) return null
  if (!first.sent) return classifyRefusal(ctx, first.refusal)
  if (!results.every(isLimited)) return null
  if (first.crm.quotaSpent) return quotaExhausted(whole)
  if (isCrowded(first.crm)) await ctx.slots.cut()
  const waitMs = backOffMs(tried, first.crm.retryAfterMs)
  if (waitMs <= retryLimitsOf(ctx.run, true).longestWaitMs && tried < mostTries) return {waitMs}
  return new RunPaused('RATE_LIMITED', 'The CRM limits the request rate. The run resumes automatically', Math.max(10, waitMs / 1000))
}

/**
 * The maximum number of consecutive requests with one record that the CRM may refuse as a whole. Beyond that, the cause is not a single
 * record, and the run stops.
 */
const mostRefusedSingles = 100

/**
 * Returns how to continue after the CRM refused the whole request. Null if each record has an answer to settle. The refusal is the answer
 * of each record in three cases: the request has one record, it is a tag call, or a record changed after `unmodifiedSince`.
 */
const readRefusal = (
  {run, refusedSingles}: Context,
  {tags}: CompiledFlow,
  ops: Op[],
  crm: CrmProblem | undefined,
): TransmitResult | null => {
  if (!crm || crm.unanswered) {
    refusedSingles.count = 0
    return null
  }
  if (isCallRefused(crm)) return {unsent: endByRefusal(crm, run)}
  if (tags || isModified(crm)) return null
  if (countRecords(ops) > 1) return {refused: crm}
  return ++refusedSingles.count > mostRefusedSingles ? {unsent: endByRefusal(crm, run)} : null
}

/** Sends the two halves of a refused batch in turn. A refused half is halved again, so a batch of n records takes fewer than 2n requests. */
const sendHalves = async (
  ctx: Context,
  flow: CompiledFlow,
  kind: BatchKind,
  {ops, left}: AdmittedBatches,
  on: AdmissionHooks & BatchHooks,
): Promise<BatchResult> => {
  const [first, second] = halve(ops)
  const one = await sendUnderSlot(ctx, flow, kind, first, on)
  return sendRest(ctx, flow, kind, {...one, unsent: [...one.unsent, ...left]}, second, on)
}

/** Sends the rest of a batch, unless the result `one` of its first part ends the run. The results of `one` survive a failure of the rest. */
const sendRest = async (
  ctx: Context,
  flow: CompiledFlow,
  kind: BatchKind,
  one: BatchResult,
  rest: Op[],
  on: AdmissionHooks & BatchHooks,
) => {
  if (one.ending) {
    await voidPatchImages(ctx, flow, rest)
    return {...one, unsent: [...one.unsent, ...rest]}
  }
  const two = await sendUnderSlot(ctx, flow, kind, rest, on).catch((ending: Error) => ({next: new Map(), unsent: rest, ending}))
  return {next: new Map([...one.next, ...two.next]), unsent: [...one.unsent, ...two.unsent], ending: two.ending}
}

/** Keeps all rows of one record in the same half. */
const halve = (ops: Op[]): [Op[], Op[]] => {
  const records = [...Map.groupBy(ops, op => op.unit ?? op).values()]
  const half = Math.ceil(records.length / 2)
  return [records.slice(0, half).flat(), records.slice(half).flat()]
}
