import type {Stripe} from 'stripe'
import {readClock} from '../../sql/clock.ts'
import type {Pool} from '../../sql/database.ts'
import type {ChangeTarget} from '../../sql/plan-changes.ts'
import type {Config} from '../config.ts'
import {shortHash} from '../security/short-hash.ts'
import type {Log} from '../telemetry/log.ts'
import type {ChangeKind} from './classify.ts'
import {refuseFailure} from './payment-failure.ts'
import type {PaymentProvider} from './payment-provider.ts'
import {
  chargedFor,
  chargeOf,
  isPending,
  type Money,
  type PlanChangeAnswer,
  taxOf,
  waitsForTrialUntil,
  wordOf,
} from './plan-change-answer.ts'
import {assertNoneOpen} from './plan-change-settle.ts'
import {readTerms, type Terms} from './plan-change-terms.ts'
import {assertMayBuy, assertPlanRequestable, findRequestedPlan, kindOf} from './plan-change-wanted.ts'
import {planEndOf} from './plan-end.ts'
import {previewSeconds, previewStale, type ShownPreview, signPreview} from './preview-token.ts'
import {type Interval, idOf, isoOf} from './subscription.ts'

type PreviewDeps = {config: Config; db: Pool; payment: PaymentProvider; log: Log}
type PreviewInput = {org: string; person: string; planKey: string; interval: Interval}

type Line = {
  description: string | null
  amount: number
  tax: number
  taxIncluded: boolean
  startsAt: string
  endsAt: string
  proration: boolean
}
type Preview = PlanChangeAnswer & {lines: Line[]; previewToken: string; expiresAt: string}

/**
 * Returns a preview of a plan change with its price, as the provider computes it. Changes nothing. The preview token binds a later change
 * to this preview, for half an hour.
 */
export const previewChange = (tools: PreviewDeps, {org, person, planKey, interval}: PreviewInput): Promise<Preview> =>
  describePreview(tools, {org, person, planKey, interval}).catch(refuseFailure(tools.log, 'plan change preview failed'))

const describePreview = async (tools: PreviewDeps, {org, person, planKey, interval}: PreviewInput): Promise<Preview> => {
  const {config, db} = tools
  await assertMayBuy(tools, org)
  await assertPlanRequestable(db, org, {planKey, interval})
  await assertNoneOpen(db, org)
  const terms = await readTerms(tools, org)
  const {target, wanted} = await findRequestedPlan(db, terms, {planKey, interval})
  const kind = await kindOf(db, org, terms, {target, wanted})
  const now = await readSecond(db)
  const at = withinPeriod(terms, now)
  const price = await priceChange(tools, {kind, target, terms, at})
  const previewToken = await signPreview(config.SESSION_KEYS, {org, person, ...shownOf({kind, target, terms, at, price})}, now)
  const waitsUntil = {now: waitsForTrialUntil(terms), take_back: null, at_renewal: terms.read.periodEndsAt, cancel: planEndOf(terms.read)}[
    kind
  ]
  return {
    change: wordOf(kind),
    planKey: target.planKey,
    interval: target.interval,
    effectiveAt: waitsUntil ?? isoOf(at)!,
    replaces: isPending(terms.read.pending, target) ? null : terms.read.pending,
    due: price.due,
    tax: price.tax,
    lines: price.lines,
    next: await nextCharge(tools, {kind, target, terms, price}),
    previewToken,
    expiresAt: isoOf(now + previewSeconds)!,
  }
}

type PricedChange = {due: Money; tax: Money; lines: Line[]; renewsAt: string | null}
type Proposal = {kind: ChangeKind; target: ChangeTarget; terms: Terms; at: number}

/** Asks the provider for the charge of the change, computed for the second `at`. Only a change that takes effect now costs anything. */
const priceChange = async ({payment}: Pick<PreviewDeps, 'payment'>, {kind, target, terms, at}: Proposal): Promise<PricedChange> => {
  const {found, item} = terms
  const nothing = {...chargedFor(null, found.currency), lines: []}
  if (kind !== 'now') return {...nothing, renewsAt: null}
  // A plan in trial costs nothing now. The provider would return the invoice at the end of the trial instead.
  if (found.status === 'trialing') return {...nothing, renewsAt: isoOf(found.trial_end)}
  const invoice = await payment.ask('invoice', stripe =>
    stripe.invoices.createPreview({
      subscription: found.id,
      subscription_details: {items: [{id: item.id, price: target.price!}], proration_behavior: 'always_invoice', proration_date: at},
    }),
  )
  const ends = invoice.lines.data.filter(line => idOf(line.pricing?.price_details?.price) === target.price).map(({period}) => period.end)
  return {
    ...chargedFor(invoice, invoice.currency),
    lines: invoice.lines.data.map(lineOf),
    renewsAt: isoOf(Math.max(...ends, item.current_period_end)),
  }
}

const lineOf = ({description, amount, period, parent, taxes}: Stripe.InvoiceLineItem): Line => ({
  description,
  amount,
  tax: taxOf(taxes),
  taxIncluded: taxes?.some(one => one.tax_behavior === 'inclusive') ?? false,
  startsAt: isoOf(period.start)!,
  endsAt: isoOf(period.end)!,
  proration: parent?.subscription_item_details?.proration ?? parent?.invoice_item_details?.proration ?? false,
})

/** Returns the values of a preview that must still be the same when the change is made. */
const shownOf = ({kind, target, terms, at, price}: Proposal & {price: PricedChange}): Omit<ShownPreview, 'org' | 'person'> => ({
  subscription: terms.found.id,
  fingerprint: terms.fingerprint,
  kind,
  at,
  price: target.price,
  planVersionId: target.planVersionId,
  due: price.due.amount,
  currency: price.due.currency,
  lines: shortHash(JSON.stringify(price.lines)).toString('hex'),
})

/** Computes the price again for the same second. Throws PREVIEW_STALE unless every value equals the preview. */
export const assertAsShown = async (
  tools: Pick<PreviewDeps, 'payment'>,
  shown: ShownPreview,
  proposal: Omit<Proposal, 'at'>,
): Promise<void> => {
  const {at, fingerprint} = shown
  const isSame = fingerprint === proposal.terms.fingerprint && at === withinPeriod(proposal.terms, at)
  if (!isSame || shown.kind !== proposal.kind || shown.price !== proposal.target.price) throw previewStale()
  const now = shownOf({...proposal, at, price: await priceChange(tools, {...proposal, at})})
  const {org: _, person: __, ...then} = shown
  for (const name of Object.keys(now) as (keyof typeof now)[]) if (then[name] !== now[name]) throw previewStale()
}

type UpcomingCharge = {kind: ChangeKind; target: ChangeTarget; terms: Terms; price: PricedChange}

const nextCharge = async ({payment}: PreviewDeps, {kind, target, terms, price}: UpcomingCharge): Promise<PlanChangeAnswer['next']> => {
  if (kind === 'cancel') return null
  const wanted = await payment.ask('price', stripe => stripe.prices.retrieve(target.price!))
  return chargeOf(wanted, terms.item.quantity, price.renewsAt ?? terms.read.periodEndsAt!)
}

export const readSecond = async (db: Pool): Promise<number> => Math.floor(Date.parse(await readClock(db)) / 1000)

/** Limits a second to the current period, because our clock may differ from the provider's. */
export const withinPeriod = ({item}: Terms, second: number): number =>
  Math.min(Math.max(second, item.current_period_start), item.current_period_end)
