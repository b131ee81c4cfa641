import {type AiFeature, addAiUsage} from '../../sql/ai-usage.ts'
import type {Pool, Tx} from '../../sql/database.ts'
import type {Config} from '../config.ts'
import type {Balance} from '../credits/balance.ts'
import {raiseReservation, releaseCredits, reserveCredits, settleCredits} from '../credits/reserve.ts'
import {newId} from '../ids.ts'
import type {Queue} from '../queue.ts'
import {nothing, type Usage} from './model.ts'
import {ModelFailure} from './model-failure.ts'

/**
 * Credits for a thousand tokens, read and written. What is written is dearer at every provider. A request costs whole credits, one at least, so
 * that mapping a file's odd columns comes to one to four, a formula to one or two.
 */
export const PRICES: Record<AiFeature, {input: number; output: number}> = {
  auto_map: {input: 0.25, output: 1},
  formula: {input: 0.25, output: 1},
  chat: {input: 0.25, output: 1},
}

/** Nothing read and nothing written costs nothing. */
const priceOf = (feature: AiFeature, {inputTokens, outputTokens}: Usage): number => {
  const {input, output} = PRICES[feature]
  return Math.ceil((inputTokens * input + outputTokens * output) / 1000)
}

type Held = {
  org: string
  feature: AiFeature
  /** What the work may cost before it asks for more. Cost beyond what was set aside is not charged. */
  hold: Usage
  /** The caller's. An abort costs what `spent` was told. */
  signal: AbortSignal
}
type Tools = {db: Pool; queue: Queue; config: Pick<Config, 'MODEL_TIMEOUT_SECONDS'>}

/** `keep` is called in the transaction that settles: what is written there is there if and only if it was paid for. */
type Done<T> = {value: T; usage: Usage; keep?: (tx: Tx) => Promise<unknown>}

type Charged<T> = {value: T; usage: Usage; credits: number; balance: Balance}

/**
 * Work a model is asked for, in three steps that each stand alone: credits are set aside and committed, the work is done, what it came to is
 * settled. Work that goes on in steps asks `mayCost` before each further one and stops where it answers false. A failure costs nothing. Nor does a crash: what is set aside comes back by itself once no answer can come any more. Refuses with
 * CREDITS_EXHAUSTED before anything is asked.
 */
export const withCredits = async <T>(
  tools: Tools,
  held: Held,
  work: (spent: (usage: Usage) => void, mayCost: (total: Usage) => Promise<boolean>) => Promise<Done<T>>,
): Promise<Charged<T>> => {
  const {db, queue} = tools
  const {org, feature} = held
  const ref = newId('aiu')
  const amount = Math.max(1, priceOf(feature, held.hold))
  const {balance} = await db.transaction(tx => reserveCredits(tx, queue, {org, feature, amount, ref, seconds: longest(tools)}))
  const open = {...held, ref, periodStart: balance.periodStart}
  let seen = nothing
  const failed = async (error: unknown): Promise<never> => {
    await end(tools, open, {error, seen})
    throw error
  }
  const spent = (usage: Usage) => {
    seen = usage
  }
  const mayCost = (total: Usage) => db.transaction(tx => raiseReservation(tx, queue, {org, ref, amount: priceOf(feature, total)}))
  const {value, usage, keep} = await work(spent, mayCost).catch(failed)
  seen = usage
  const settling = db.transaction(async tx => {
    await keep?.(tx)
    const {spent: credits, balance} = await settle(tx, queue, open, {usage, credits: priceOf(feature, usage), failed: false})
    return {value, usage, credits, balance}
  })
  return settling.catch(failed)
}

/** A conversation's most, and a minute: then nobody comes back to settle. */
const longest = ({config}: Tools) => Math.ceil(config.MODEL_TIMEOUT_SECONDS * 5) + 60

/** Set aside. It counts as used in the period it was asked in, whose credits those are. */
type Open = Held & {ref: string; periodStart: string}
type Settled = {usage: Usage; credits: number; failed: boolean}

/** Without anything to charge it is given back whole. */
const settle = async (tx: Tx, queue: Queue, {org, feature, ref, periodStart}: Open, {usage, credits, failed}: Settled) => {
  const ended =
    credits === 0 ? {spent: 0, balance: await releaseCredits(tx, {org, ref})} : await settleCredits(tx, queue, {org, ref, amount: credits})
  await addAiUsage(tx, {org, periodStart, feature, failed, ...usage, credits: ended.spent})
  return ended
}

/** What its caller broke off costs what had come by then, which the provider charges for; what failed costs nothing. Both are counted. */
const end = ({db, queue}: Tools, open: Open, {error, seen}: {error: unknown; seen: Usage}) => {
  const isBrokenOff = open.signal.aborted
  const usage = error instanceof ModelFailure && !isBrokenOff ? larger(error.usage, seen) : seen
  const credits = isBrokenOff ? priceOf(open.feature, usage) : 0
  return db.transaction(tx => settle(tx, queue, open, {usage, credits, failed: true}))
}

/** A failure tells all it came to, or its own part alone. */
const larger = (one: Usage, other: Usage): Usage => ({
  inputTokens: Math.max(one.inputTokens, other.inputTokens),
  outputTokens: Math.max(one.outputTokens, other.outputTokens),
})
