import type {Stripe} from 'stripe'
import {insertCheckout, listOpenPlanCheckouts, setCheckoutOpen, setPlanCheckout, takeCheckoutSeq} from '../../sql/checkouts.ts'
import {findSubscription} from '../../sql/subscriptions.ts'
import {Refusal} from '../errors.ts'
import {newId} from '../ids.ts'
import {planParams, type ReturnUrls, type Trial} from './checkout-params.ts'
import {type CheckoutCaller, type CheckoutDeps, openSession} from './checkout-session.ts'
import {keepPaymentCustomer} from './customer.ts'
import type {PlanStatus} from './entitlements/plan-status.ts'
import {expireSession} from './expire-checkout-session.ts'
import {holdBilling, releaseBilling} from './lease.ts'
import {isOurs} from './metadata.ts'
import type {findPlanForSale} from './offer.ts'
import {settleCheckout} from './settle-checkout.ts'
import {findLiveSubscription, type Interval, isOver, isoOf, readSubscription} from './subscription.ts'
import {syncSubscription} from './sync-subscription.ts'

type PlanCheckoutInput = ReturnUrls &
  Awaited<ReturnType<typeof findPlanForSale>> & {interval: Interval; afterTrial: boolean; planStatus: PlanStatus}

/**
 * Opens the Checkout page for a plan; an org has at most one open page. The request takes the next number and closes every page with a lower number.
 * Only then does the request look for a live subscription at the provider, because earlier pages can no longer create one. Throws CHECKOUT_SUPERSEDED
 * if another request took a higher number meanwhile; this page is then closed too.
 */
export const openPlanCheckout = async (deps: CheckoutDeps, by: CheckoutCaller, input: PlanCheckoutInput): Promise<string> => {
  const {config, db} = deps
  const {org, person, email} = by
  const {planStatus, afterTrial, plan, interval} = input
  const own = await findSubscription(db, org)
  if (own && !isOver(own)) throw alreadySubscribed()
  const trial = afterTrial ? trialOf(planStatus) : null
  const customer = await keepPaymentCustomer(deps, {org, email})
  const seq = await takeCheckoutSeq(db, org)
  await closeEarlier(deps, {org, customer, seq})
  await assertUnsubscribed(deps, {org, customer})
  const id = newId('chk')
  const asked = planParams({...input, config, id, org, person, customer, seq, trial})
  const row = {id, org, person, seq, kind: 'plan', planVersionId: plan.id, interval, afterTrial, params: asked} as const
  const params = await insertCheckout(db, row)
  const page = await openSession(deps, {id, org, params})
  if (await isNewest(deps, {id, org, seq, page})) return page.url!
  await expireSession(deps, page.id)
  throw superseded()
}

const alreadySubscribed = () =>
  new Refusal('ALREADY_SUBSCRIBED', 'This org already has a subscription. Change its plan by POST /orgs/{org}/billing/plan')

const superseded = () =>
  new Refusal('CHECKOUT_SUPERSEDED', 'Another member of this org opened a Checkout at the same time. Use that one, or open a new one')

const hour = 3600
/**
 * Limits of a page with a trial, in hours. `guardHours`: the shortest remaining trial for which a page opens. `leastHours`: the remaining
 * trial that the provider requires, also at payment. `mostHours`: how long a page stays open.
 */
const [guardHours, leastHours, mostHours] = [49, 48, 24] as const
/** The largest tolerated difference between the provider's clock and ours, in seconds. */
const skewSeconds = 300

/** Returns the trial of a page. Throws TRIAL_ENDING if the page could stay open for less than an hour. */
export const trialOf = ({status, trialEndsAt, now}: Pick<PlanStatus, 'status' | 'trialEndsAt' | 'now'>): Trial => {
  if (status !== 'trialing' || trialEndsAt === null)
    throw new Refusal('INVALID', 'This org is not on trial. Leave `afterTrial` out, and the plan begins with its payment')
  const [at, end] = [Date.parse(now) / 1000, Date.parse(trialEndsAt) / 1000]
  if (end - at < guardHours * hour)
    throw new Refusal(
      'TRIAL_ENDING',
      `The trial ends in less than ${guardHours} hours: Leave \`afterTrial\` out to begin immediately, or try again after the trial`,
    )
  return {end: Math.floor(end), expiresAt: Math.floor(Math.min(at + mostHours * hour - skewSeconds, end - leastHours * hour))}
}

type OwnCheckout = {org: string; customer: string; seq: number}

const closeEarlier = async (deps: CheckoutDeps, {org, customer, seq}: OwnCheckout) => {
  const open = await listOpenPages(deps, customer)
  if (open.some(page => seqOf(page) > seq)) throw superseded()
  // Pages in our own rows are closed too, because the provider's list may omit a page for a moment.
  const known = await listOpenPlanCheckouts(deps.db, {org, before: seq})
  const pages = new Set([...open.map(({id}) => id), ...known.map(({session}) => session!)])
  for (const page of pages) await close(deps, org, page)
}

const seqOf = ({metadata}: Stripe.Checkout.Session) => Number(metadata?.checkout_seq ?? 0)

/** Closes a page. If the page was just paid, settles the purchase and throws ALREADY_SUBSCRIBED. */
const close = async (deps: CheckoutDeps, org: string, session: string) => {
  if ((await expireSession(deps, session)) !== 'complete') return
  const held = await holdBilling(deps.db, org)
  // Another process holds the billing lock and settles this purchase.
  if (!held) throw alreadySubscribed()
  await settleCheckout(deps, held, session).finally(() => releaseBilling(deps, held))
  throw alreadySubscribed()
}

const mostPages = 10

/**
 * Returns a customer's open pages for a plan. The provider's list also contains pages for credits, which are skipped. Reads at most 1,000
 * pages.
 */
const listOpenPages = async ({config, payment}: CheckoutDeps, customer: string): Promise<Stripe.Checkout.Session[]> => {
  const found: Stripe.Checkout.Session[] = []
  for (let left = mostPages, after: string | undefined; left > 0; left--) {
    const from = after === undefined ? {} : {starting_after: after}
    const {data, has_more: isMore} = await payment.ask('list', stripe =>
      stripe.checkout.sessions.list({customer, status: 'open', limit: 100, ...from}),
    )
    found.push(...data.filter(({metadata}) => isOurs(config, metadata) && metadata?.kind === 'plan'))
    after = data.at(-1)?.id
    if (!isMore || after === undefined) break
  }
  return found
}

/**
 * Throws ALREADY_SUBSCRIBED if the customer has a live subscription at the provider. First stores the subscription, unless the billing lock is
 * taken, because our own rows show a subscription only after its event.
 */
const assertUnsubscribed = async (deps: CheckoutDeps, {org, customer}: {org: string; customer: string}) => {
  const live = await findLiveSubscription(deps, {customer})
  if (!live) return
  await readOutcome(deps, org, live)
  throw alreadySubscribed()
}

const readOutcome = async (deps: CheckoutDeps, org: string, {id}: {id: string}) => {
  const held = await holdBilling(deps.db, org)
  if (!held) return
  try {
    const read = await readSubscription(deps, id)
    if (read) await deps.db.transaction(tx => syncSubscription(tx, held, read, {org, via: 'payment'}))
  } finally {
    await releaseBilling(deps, held)
  }
}

type MadeCheckout = {id: string; org: string; seq: number; page: Stripe.Checkout.Session}

const isNewest = ({db}: CheckoutDeps, {id, org, seq, page}: MadeCheckout): Promise<boolean> =>
  db.transaction(async tx => {
    const isLast = await setPlanCheckout(tx, {org, seq, session: page.id})
    await setCheckoutOpen(tx, {id, session: page.id, expiresAt: isoOf(page.expires_at)!})
    return isLast
  })
