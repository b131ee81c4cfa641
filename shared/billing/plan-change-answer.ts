import type {Stripe} from 'stripe'
import type {ChangeTarget, PlanChange} from '../../sql/plan-changes.ts'
import type {Terms} from './plan-change-terms.ts'
import {type Interval, idOf, isoOf, type Pending} from './subscription.ts'

/** An amount in the currency's smallest unit. */
export type Money = {amount: number; currency: string}

/**
 * `change`: when the change applies. The withdrawal of a pending change is also `now`, and costs nothing; `cancel` ends the plan. `effectiveAt`: when
 * the change takes effect. `replaces`: the pending change that this change cancels. `due`: what is charged now, including `tax`. `next`: the next
 * charge and its time, before discounts and tax; null if the plan ends or the charge is unknown.
 */
export type PlanChangeAnswer = {
  change: 'now' | 'at_renewal' | 'cancel'
  planKey: string
  interval: Interval | null
  effectiveAt: string
  replaces: Pending | null
  due: Money
  /** The tax within `due`, whether or not prices include tax. */
  tax: Money
  next: (Money & {at: string}) | null
}

/** Describes a completed change, based on the subscription as read after the change. */
export const describeChange = ({kind, target, params}: PlanChange, terms: Terms, replaces: Pending | null): PlanChangeAnswer => ({
  change: wordOf(kind),
  planKey: target.planKey,
  interval: target.interval,
  effectiveAt: (waitsUntil(kind, terms) ?? isoOf(params.prorationDate))!,
  replaces,
  ...chargedFor(kind === 'now' ? invoiceSince(params.invoice, terms) : null, terms.found.currency),
  next: nextOf({kind, target}, terms),
})

export const wordOf = (kind: PlanChange['kind']): PlanChangeAnswer['change'] => (kind === 'take_back' ? 'now' : kind)

export const describePending = ({read, plan}: Terms) => ({
  planKey: plan?.key ?? null,
  interval: read.interval,
  pending: read.pending,
  periodEndsAt: read.periodEndsAt,
  scheduled: read.schedule !== null,
})

export const isPending = (pending: Pending | null, {planKey, planVersionId, interval}: ChangeTarget): boolean =>
  pending !== null &&
  (planKey === 'free' ? pending.planKey === 'free' : pending.planVersionId === planVersionId && pending.interval === interval)

const waitsUntil = (kind: PlanChange['kind'], terms: Terms) => {
  if (kind === 'now') return waitsForTrialUntil(terms)
  return kind === 'at_renewal' || kind === 'cancel' ? (terms.read.pending?.at ?? terms.read.periodEndsAt) : null
}

/**
 * For a plan that was bought to follow the org's trial, returns when the plan takes effect: at the end of the trial. Null for any other plan
 * and after the trial.
 */
export const waitsForTrialUntil = ({read}: Pick<Terms, 'read'>): string | null =>
  read.status === 'trialing' && read.metadata.after_trial === 'true' ? read.trialEndsAt : null

/** Returns the invoice that the change made. Null for a change without a charge, which makes no invoice. */
const invoiceSince = (before: string | null, {found: {latest_invoice: latest}}: Terms) =>
  latest === null || typeof latest === 'string' || latest.id === before ? null : latest

type ChargedInvoice = Pick<Stripe.Invoice, 'amount_due' | 'currency' | 'total_taxes'>

export const chargedFor = (invoice: ChargedInvoice | null, currency: string): {due: Money; tax: Money} => ({
  due: {amount: invoice?.amount_due ?? 0, currency: invoice?.currency ?? currency},
  tax: {amount: taxOf(invoice?.total_taxes), currency: invoice?.currency ?? currency},
})

export const taxOf = (taxes: {amount: number}[] | null | undefined): number => (taxes ?? []).reduce((sum, {amount}) => sum + amount, 0)

const nextOf = ({kind, target}: Pick<PlanChange, 'kind' | 'target'>, {item, schedule, read}: Terms): PlanChangeAnswer['next'] => {
  if (kind === 'cancel') return null
  if (kind !== 'at_renewal' || item.price.id === target.price) return chargeOf(item.price, item.quantity, isoOf(item.current_period_end)!)
  const next = schedule?.phases.find(({start_date}) => isoOf(start_date) === read.pending?.at)
  const plan = next?.items.find(({price}) => idOf(price) === target.price)
  return plan && typeof plan.price !== 'string' && !plan.price.deleted ? chargeOf(plan.price, plan.quantity, read.pending!.at) : null
}

export const chargeOf = (
  {unit_amount: each, currency}: Stripe.Price,
  quantity: number | undefined,
  at: string,
): PlanChangeAnswer['next'] => (each === null ? null : {amount: each * (quantity ?? 1), currency, at})

export const latestInvoiceOf = ({found: {latest_invoice: latest}}: Terms): string | null => idOf(latest)
