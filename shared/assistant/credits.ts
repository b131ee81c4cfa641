import {findReservation, holdAccount} from '../../sql/ai-credits.ts'
import {type AiFeature, addAiUsage} from '../../sql/ai-usage.ts'
import type {Pool, Tx} from '../../sql/database.ts'
import type {Balance} from '../billing/credits/balance.ts'
import {raiseReservation, releaseCredits, reserveCredits, settleCredits} from '../billing/credits/reserve.ts'
import type {Config} from '../config.ts'
import {newId} from '../ids.ts'
import {processEnd} from '../process-end.ts'
import type {Queue} from '../queue.ts'
import {addUsage, nothing, type Usage} from './model.ts'
import {ModelFailure} from './model-failure.ts'

/**
 * Credits per 1,000 tokens. Output costs more, because every provider charges more for output. A request that used tokens costs at least one credit,
 * and only whole credits. Mapping the columns of a file costs one to four credits, a formula one or two.
 */
export const PRICES: Record<AiFeature, {input: number; output: number}> = {
  auto_map: {input: 0.25, output: 1},
  formula: {input: 0.25, output: 1},
  chat: {input: 0.25, output: 1},
}

const priceOf = (feature: AiFeature, {inputTokens, outputTokens}: Usage): number => {
  const {input, output} = PRICES[feature]
  return Math.ceil((inputTokens * input + outputTokens * output) / 1000)
}

type HeldCredits = {
  org: string
  feature: AiFeature
  /** The usage reserved at the start. `mayCost` can raise the reservation. Usage beyond the reservation is not charged. */
  hold: Usage
  /** The caller's signal. If it aborts, the usage reported to `spent` is charged, unless the reason is `processEnd`. */
  signal: AbortSignal
}
type CreditsDeps = {db: Pool; queue: Queue; config: Pick<Config, 'MODEL_TIMEOUT_SECONDS'>}

/**
 * The result of work that costs credits. `keep` runs in the settling transaction, so its writes are committed only if the work is charged.
 * `uncharged`: the usage of failed parts, which is counted and not charged.
 */
type BillableWork<T> = {value: T; usage: Usage; uncharged?: Usage; keep?: (tx: Tx) => Promise<unknown>}

type ChargedWork<T> = {value: T; usage: Usage; credits: number; balance: Balance}

/**
 * Runs work of a model in three steps: reserves credits in one transaction, runs the work, and settles the actual cost in another transaction. Work
 * reports its total usage so far to `spent`. Work with several steps calls `mayCost` before each further step and stops if the result is false.
 * Failed work costs nothing, unless the caller aborted it. If the credits do not suffice or the plan status forbids the use, throws before the model
 * is called.
 */
export const withCredits = async <T>(
  deps: CreditsDeps,
  heldCredits: HeldCredits,
  work: (spent: (usage: Usage) => void, mayCost: (total: Usage) => Promise<boolean>) => Promise<BillableWork<T>>,
): Promise<ChargedWork<T>> => {
  const {db, queue} = deps
  const {org, feature} = heldCredits
  const ref = newId('aiu')
  const amount = Math.max(1, priceOf(feature, heldCredits.hold))
  const {balance} = await db.transaction(tx => reserveCredits(tx, queue, {org, feature, amount, ref, seconds: longest(deps)}))
  const open = {...heldCredits, ref, periodStart: balance.periodStart}
  let seen = nothing
  const failed = async (error: unknown): Promise<never> => {
    await end(deps, open, {error, seen})
    throw error
  }
  const spent = (usage: Usage) => {
    seen = usage
  }
  const mayCost = (total: Usage) => db.transaction(tx => raiseReservation(tx, queue, {org, ref, amount: priceOf(feature, total)}))
  const {value, usage, uncharged = nothing, keep} = await work(spent, mayCost).catch(failed)
  seen = usage
  const settling = db.transaction(async tx => {
    await keep?.(tx)
    const {spent: credits, balance} = await settle(tx, queue, open, {
      usage: addUsage(usage, uncharged),
      credits: priceOf(feature, usage),
      failed: false,
    })
    return {value, usage, credits, balance}
  })
  return settling.catch(failed)
}

/**
 * Returns the lifetime of a reservation in seconds: the maximum time of a conversation plus a minute. After a crash, the reservation expires then.
 */
const longest = ({config}: CreditsDeps) => Math.ceil(config.MODEL_TIMEOUT_SECONDS * 5) + 60

/** An open reservation. Its usage is counted in the period in which the reservation was made. */
type Open = HeldCredits & {ref: string; periodStart: string}
type SettledUse = {usage: Usage; credits: number; failed: boolean}

const settle = async (tx: Tx, queue: Queue, {org, feature, ref, periodStart}: Open, {usage, credits, failed}: SettledUse) => {
  // The answer to the commit of an earlier settlement may have been lost. That settlement has counted the usage.
  await holdAccount(tx, org)
  const isRepeated = ['settled', 'released'].includes((await findReservation(tx, {org, ref}))?.state ?? '')
  const ended =
    credits === 0 ? {spent: 0, balance: await releaseCredits(tx, {org, ref})} : await settleCredits(tx, queue, {org, ref, amount: credits})
  if (!isRepeated) await addAiUsage(tx, {org, periodStart, feature, failed, ...usage, credits: ended.spent})
  return ended
}

/**
 * Settles failed work. If the caller aborted, the used tokens are charged, because the provider charges for them. Other failures, and the end of
 * this process, are free. The tokens are counted in all cases.
 */
const end = ({db, queue}: CreditsDeps, open: Open, {error, seen}: {error: unknown; seen: Usage}) => {
  const isBrokenOff = open.signal.aborted && open.signal.reason !== processEnd
  const usage = error instanceof ModelFailure && !isBrokenOff ? larger(error.usage, seen) : seen
  const credits = isBrokenOff ? priceOf(open.feature, usage) : 0
  return db.transaction(tx => settle(tx, queue, open, {usage, credits, failed: true}))
}

/** Returns the larger of two usages, because a failure may report only the usage of its last step. */
const larger = (one: Usage, other: Usage): Usage => ({
  inputTokens: Math.max(one.inputTokens, other.inputTokens),
  outputTokens: Math.max(one.outputTokens, other.outputTokens),
})
