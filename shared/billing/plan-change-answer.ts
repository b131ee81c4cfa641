import type {Stripe} from 'stripe'
import type {ChangeTarget, PlanChange} from '../../sql/plan-changes.ts'
import type {Terms} from './plan-change-terms.ts'
import {type Interval, idOf, isoOf, type Pending} from './subscription.ts'

/** In the currency's smallest unit. */
export type Money = {amount: number; currency: string}

/**
 * What a change comes to. `now` is also the taking back of what waited: nothing is due for it. `effectiveAt`: from when. `replaces`: what waited and
 * waits no more. `due`: charged now, with `tax`. `next`: what is charged next, and when, before discounts and tax; null where it ends, or is not known.
 */
export type Answer = {
  change: 'now' | 'at_renewal' | 'cancel'
  planKey: string
  interval: Interval | null
  effectiveAt: string
  replaces: Pending | null
  due: Money
  /** What of `due` is tax, whether prices contain it or it comes on top. */
  tax: Money
  next: (Money & {at: string}) | null
}

/** Of a change that is done, from how the subscription stands after it. */
export const describeChange = ({kind, target, params}: PlanChange, terms: Terms, replaces: Pending | null): Answer => ({
  change: wordOf(kind),
  ...{planKey: target.planKey, interval: target.interval},
  effectiveAt: (waitsUntil(kind, terms) ?? isoOf(params.prorationDate))!,
  replaces,
  ...chargedFor(kind === 'now' ? invoiceSince(params.invoice, terms) : null, terms.found.currency),
  next: nextOf({kind, target}, terms),
})

export const wordOf = (kind: PlanChange['kind']): Answer['change'] => (kind === 'take_back' ? 'now' : kind)

/** For a refusal that leaves something half done. */
export const describeStanding = ({read, plan}: Terms) => ({
  ...{planKey: plan?.key ?? null, interval: read.interval, pending: read.pending},
  ...{periodEndsAt: read.periodEndsAt, scheduled: read.schedule !== null},
})

/** As one asks for it and as one stands. */
export const isPending = (pending: Pending | null, {planKey, planVersionId, interval}: ChangeTarget): boolean =>
  pending !== null &&
  (planKey === 'free' ? pending.planKey === 'free' : pending.planVersionId === planVersionId && pending.interval === interval)

const waitsUntil = (kind: PlanChange['kind'], terms: Terms) => {
  if (kind === 'now') return waitsForTrialUntil(terms)
  return kind === 'at_renewal' || kind === 'cancel' ? (terms.read.pending?.at ?? terms.read.periodEndsAt) : null
}

/** A plan bought for the time after the org's own trial takes effect when that ends. */
export const waitsForTrialUntil = ({read}: Pick<Terms, 'read'>): string | null =>
  read.status === 'trialing' && read.metadata.after_trial === 'true' ? read.trialEndsAt : null

/** Null for an update that asks for nothing: it makes no invoice. */
const invoiceSince = (before: string | null, {found: {latest_invoice: latest}}: Terms) =>
  latest === null || typeof latest === 'string' || latest.id === before ? null : latest

type Charged = Pick<Stripe.Invoice, 'amount_due' | 'currency' | 'total_taxes'>

/** As the provider's invoice has it; nothing without one. */
export const chargedFor = (invoice: Charged | null, currency: string): {due: Money; tax: Money} => ({
  due: {amount: invoice?.amount_due ?? 0, currency: invoice?.currency ?? currency},
  tax: {amount: taxOf(invoice?.total_taxes), currency: invoice?.currency ?? currency},
})

export const taxOf = (taxes: {amount: number}[] | null | undefined): number => (taxes ?? []).reduce((sum, {amount}) => sum + amount, 0)

const nextOf = ({kind, target}: Pick<PlanChange, 'kind' | 'target'>, {item, schedule, read}: Terms): Answer['next'] => {
  if (kind === 'cancel') return null
  if (kind !== 'at_renewal' || item.price.id === target.price) return chargeOf(item.price, item.quantity, isoOf(item.current_period_end)!)
  const next = schedule?.phases.find(({start_date}) => isoOf(start_date) === read.pending?.at)
  const plan = next?.items.find(({price}) => idOf(price) === target.price)
  return plan && typeof plan.price !== 'string' && !plan.price.deleted ? chargeOf(plan.price, plan.quantity, read.pending!.at) : null
}

/** Null for a price that is no amount a piece. */
export const chargeOf = ({unit_amount: each, currency}: Stripe.Price, quantity: number | undefined, at: string): Answer['next'] =>
  each === null ? null : {amount: each * (quantity ?? 1), currency, at}

export const latestInvoiceOf = ({found: {latest_invoice: latest}}: Terms): string | null => idOf(latest)
