import type {Json} from '../../http.ts'
import {t} from '../text/plan.ts'
import {money, onDay, percent} from '../ui/format.ts'

type Interval = 'month' | 'year'
type Prices = {currency: string; month: number | null; year: number | null; taxBehavior: string | null} | null
/** `price`: such as "€90.00 per month". Empty if the price is not known. The payment provider's page always shows the price. */
type PlanOffer = {price: string; note: string; isOffered: boolean}

/**
 * Describes the price of a plan in the interval, and what yearly payment saves. If the plan is sold only in the other interval, describes the price
 * of the other interval.
 */
export const describeOffer = ({prices, intervals}: {prices: Prices; intervals: string[]}, interval: string): PlanOffer => {
  const isOffered = intervals.includes(interval)
  const other = interval === 'month' ? 'year' : 'month'
  if (!isOffered) return {price: priceOf(prices, other), note: t.onlyBilledPer[other], isOffered}
  return {price: priceOf(prices, interval as Interval), note: savingNote(prices, interval as Interval), isOffered}
}

/**
 * Describes the price and the next payment of a subscription. Says so if the plan costs nothing, or if the production org of a sandbox pays. Empty in
 * a trial without a subscription.
 */
export const describePayment = (summary: Json): string => {
  const {status, subscription, interval, cancelsAt, sandbox} = summary
  if (sandbox) return t.theProductionOrgPays
  if (!subscription) return status === 'trialing' ? '' : t.nothingIsChargedForThisPlan
  const price = priceOf(subscription.plan?.prices ?? null, interval)
  const end = onDay(subscription.period.end)
  if (subscription.trialEndsAt && Date.parse(subscription.trialEndsAt) > Date.now())
    return sentence(t.paidFrom(onDay(subscription.trialEndsAt)), price)
  return sentence(price || t.paidPer[interval as Interval], cancelsAt ? t.endsOn(onDay(cancelsAt)) : t.renewsOn(end))
}

const sentence = (...parts: string[]) => `${parts.filter(Boolean).join(', ')}.`

export const taxNote = (behavior: string | null): string => (behavior === null ? '' : behavior === 'inclusive' ? t.taxIncluded : t.plusTax)

const priceOf = (prices: Prices, interval: Interval): string => {
  const amount = prices?.[interval] ?? null
  return amount === null ? '' : t.per[interval](money(amount, prices!.currency)) + taxNote(prices!.taxBehavior)
}

/** Says how much yearly payment saves against twelve monthly payments. Empty if a price is not known or nothing is saved. */
const savingNote = (prices: Prices, interval: Interval): string => {
  const {month = null, year = null} = prices ?? {}
  if (month === null || year === null || year >= 12 * month) return ''
  const saved = t.savesAYear(money(12 * month - year, prices!.currency), percent(1 - year / (12 * month)))
  return interval === 'year' ? saved : t.perYear(money(year, prices!.currency), saved)
}
