import {setTimeout as sleep} from 'node:timers/promises'
import type {RecordAnswer, WriteAnswer} from '../../shared/crm/crm.ts'
import {moveDeadline} from '../../sql/ledger.ts'
import {admitOps, answerSecondsOf} from './admission.ts'
import type {Context} from './context.ts'
import {RunPaused} from './ending.ts'
import {atPoint} from './fault-point.ts'
import {backOffMs, endingOf, spent} from './patience.ts'
import type {Kind, Row, Track} from './row.ts'
import {nothingSettled} from './settler.ts'
import {judgeTakes} from './take.ts'
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

/**
 * The life of one batch: slot, intent, request, slot back, settlement. `leave` is told of each row as its end is written;
 * `settled` resolves when some other batch of the run has been settled.
 */
export const sendBatch = async (
  ctx: Context,
  track: Track,
  kind: Kind,
  ops: Op[],
  on: {leave(row: Row): void; settled(): Promise<void>},
): Promise<Sent> => {
  const slot = await holdSlot(ctx)
  try {
    const admitted = await admitOps(ctx, track, kind, ops, on.settled)
    atPoint('after_intent')
    const answered = await transmit(ctx, track, kind, admitted, slot)
    slot.give()
    atPoint('after_send')
    if ('unsent' in answered) {
      await putBack(ctx, track, admitted.batch, admitted.ops)
      return {next: new Map(), unsent: ops, ending: answered.unsent}
    }
    const next = await settleAnswers(ctx, track, kind, admitted, answered.answers, on.leave)
    return {next, unsent: admitted.left, ending: null}
  } finally {
    slot.give()
  }
}

type Slot = {give(): void; again(): Promise<void>}

const holdSlot = async ({slots, signal}: Context): Promise<Slot> => {
  await slots.take(signal)
  let held = true
  return {
    give() {
      if (held) slots.give()
      held = false
    },
    async again() {
      await slots.take(signal)
      held = true
    },
  }
}

type Admitted = {batch: number; ops: Op[]; since: number}

/** Sends, and waits and sends again while the CRM says that nothing was done and asks to come back soon. */
const transmit = async (ctx: Context, track: Track, kind: Kind, {batch, ops, since}: Admitted, slot: Slot): Promise<Answered> => {
  let intendedAt = since
  for (let tried = 1; ; tried++) {
    if (!ctx.lease.maySend(intendedAt)) return {unsent: null}
    const {results} = await write(ctx, track, kind, ops)
    const declined = await declinedWhole(ctx, results, tried)
    if (!declined) return {answers: results}
    if (declined instanceof Error) return {unsent: declined}
    slot.give()
    try {
      await sleep(declined.waitMs, undefined, {signal: ctx.signal})
      await slot.again()
    } catch {
      return {unsent: null}
    }
    intendedAt = performance.now()
    await moveDeadline(ctx.hot, {run: ctx.run.no, batch, fence: ctx.lease.fence, answerSeconds: answerSecondsOf(ctx)})
  }
}

const write = ({connection, lease}: Context, {module}: Track, kind: Kind, ops: Op[]): Promise<WriteAnswer> =>
  kind === 'create'
    ? connection.createRecords(
        module.apiName,
        ops.map(({row}) => row.payload),
        {signal: lease.lost},
      )
    : connection.updateRecords(
        module.apiName,
        ops.map(({row, target}) => ({...row.payload, id: target!})),
        {signal: lease.lost},
      )

/** Nothing of the batch was done and all of it may be sent again: how long to wait first, or why to lie down. Null: there are answers to settle. */
const declinedWhole = async (ctx: Context, results: RecordAnswer[], tried: number): Promise<{waitMs: number} | Error | null> => {
  const [first] = results
  if (!first || first.ok) return null
  if (!first.sent) return endingOf(ctx, first.refusal)
  if (!results.every(answer => !answer.ok && answer.sent && answer.crm.rateLimited)) return null
  if (first.crm.quotaSpent) return spent()
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
  const takes = await judgeTakes(ctx, track, candidates)
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
  return next
}
