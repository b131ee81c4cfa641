import {setTimeout as sleep} from 'node:timers/promises'
import type {RecordAnswer} from '../../shared/crm/crm.ts'
import {isFateUnknown, isPassing} from '../../sql/database.ts'
import {moveDeadline} from '../../sql/ledger.ts'
import {admitOps, answerSecondsOf, type Beside} from './admission.ts'
import type {Context} from './context.ts'
import {RunPaused} from './ending.ts'
import {atPoint} from './fault-point.ts'
import {backOffMs, isCrowded, meaningOf, spent} from './patience.ts'
import type {Kind, Row, Track} from './row.ts'
import {nothingSettled} from './settler.ts'
import {holdSlot, type Slot} from './slots.ts'
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

type Answered = {answers: RecordAnswer[]} | {unsent: Error | null}

const longestWaitMs = 10_000
const mostTries = 10
/** A write of more records counts among the CRM's large calls. Source: wire reference 10. */
const mostOfSmall = 10

/** `leave`: of each row as its end is written. `heard`: of each batch whether the CRM said anything of it. */
type Told = {leave(row: Row): void; heard(anything: boolean): void}

/** The life of one batch: slot, intent, request, slot back, settlement. */
export const sendBatch = async (ctx: Context, track: Track, kind: Kind, ops: Op[], on: Beside & Told): Promise<Sent> => {
  const slot = await holdSlot(ops.length > mostOfSmall ? ctx.slots.large : ctx.slots.small, ctx.signal)
  try {
    const admitted = await admitOps(ctx, track, kind, ops, slot, on)
    atPoint('after_intent')
    const answered = await transmit(ctx, track, kind, admitted, slot)
    slot.give()
    atPoint('after_send')
    if ('unsent' in answered) {
      await putBack(ctx, track, admitted.batch, admitted.ops)
      return {next: new Map(), unsent: ops, ending: answered.unsent}
    }
    on.heard(answered.answers.some(isHeard))
    const {next, ending} = await settleAnswers(ctx, track, kind, admitted, answered.answers, on.leave)
    return {next, unsent: admitted.left, ending}
  } finally {
    slot.give()
  }
}

const isHeard = (answer: RecordAnswer) => answer.ok || (answer.sent && !answer.crm.unanswered)

type Admitted = {batch: number; ops: Op[]; since: number}

/** Sends, and waits and sends again while the CRM says that nothing was done and asks to come back soon. */
const transmit = async (ctx: Context, track: Track, kind: Kind, {batch, ops, since}: Admitted, slot: Slot): Promise<Answered> => {
  let intendedAt = since
  for (let tried = 1; ; tried++) {
    if (!ctx.lease.maySend(intendedAt)) return {unsent: null}
    const results = await write(ctx, track, kind, ops).catch(notSent)
    if (results instanceof Error) return {unsent: results}
    // What fails there fails over a batch of which nothing was done.
    const declined = await declinedWhole(ctx, results, tried).catch((error: Error) => error)
    if (!declined) return {answers: results}
    if (declined instanceof Error) return {unsent: declined}
    slot.give()
    try {
      await sleep(declined.waitMs, undefined, {signal: ctx.signal})
      await slot.again()
      intendedAt = performance.now()
      await moveDeadline(ctx.hot, {run: ctx.run.no, batch, fence: ctx.lease.fence, answerSeconds: answerSecondsOf(ctx)})
    } catch (error) {
      if (!ctx.signal.aborted) ctx.log.warn({err: error}, 'batch put back')
      return {unsent: null}
    }
  }
}

const write = async ({connection, lease}: Context, {module}: Track, kind: Kind, ops: Op[]): Promise<RecordAnswer[]> => {
  const options = {signal: lease.lost}
  const {results} =
    kind === 'create'
      ? await connection.createRecords(
          module.apiName,
          ops.map(({row}) => row.payload),
          options,
        )
      : await connection.updateRecords(
          module.apiName,
          ops.map(({row, target}) => ({...row.payload, id: target!})),
          options,
        )
  return results
}

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

/** The rows were not sent: the batch is struck and rows nobody else sent before are not counted any more. */
const putBack = (ctx: Context, track: Track, batch: number, ops: Op[]) =>
  ctx.settler.settle({
    ...nothingSettled(batch),
    released: ops.filter(({row}) => row.silences === 0).map(({row}) => ({module: track.module.no, key: row.key})),
  })

const settleAnswers = async (
  ctx: Context,
  track: Track,
  kind: Kind,
  {batch, ops}: Admitted,
  answers: RecordAnswer[],
  leave: (row: Row) => void,
) => {
  const candidates = ops.flatMap((op, at) => {
    const recordId = takeCandidate(kind, op, answers[at]!)
    return recordId === null ? [] : [{row: op.row, recordId}]
  })
  const {takes, ending} = await judgeOrPutOff(ctx, track, candidates)
  const settled = nothingSettled(batch)
  const next = new Map<Row, Next>()
  for (const [at, op] of ops.entries()) {
    const answer = answers[at]!
    if (!answer.ok && !answer.sent) throw new Error('A batch came back partly unsent')
    next.set(op.row, judgeAnswer({track, kind, settled}, op, answer, takes.get(op.row)))
  }
  settled.leave = () => {
    for (const [row, step] of next) if (step === 'end') leave(row)
  }
  atPoint('before_settle')
  ctx.lease.lost.throwIfAborted()
  await ctx.settler.settle(settled)
  return {next, ending}
}

/** What ends the pass here must not lose the answers that are there: those whose record cannot be looked at are put off. */
const judgeOrPutOff = async (ctx: Context, track: Track, candidates: Candidate[]) => {
  try {
    return {takes: await judgeTakes(ctx, track, candidates), ending: null}
  } catch (error) {
    return {takes: new Map<Row, Take | 'later'>(candidates.map(({row}) => [row, 'later'])), ending: error as Error}
  }
}
