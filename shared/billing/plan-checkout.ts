import type {Stripe} from 'stripe'
import {insertCheckout, listOpenPlanCheckouts, setCheckoutOpen, setPlanCheckout, takeCheckoutSeq} from '../../sql/checkouts.ts'
import {findSubscription} from '../../sql/subscriptions.ts'
import type {Standing} from '../entitlements/standing.ts'
import {Refusal} from '../errors.ts'
import {newId} from '../ids.ts'
import {planParams, type ReturnUrls, type Trial} from './checkout-params.ts'
import {type Asker, type CheckoutTools, openSession} from './checkout-session.ts'
import {keepPaymentCustomer} from './customer.ts'
import {expireSession} from './expire-session.ts'
import {holdBilling, releaseBilling} from './lease.ts'
import {isOurs} from './metadata.ts'
import type {findPlanForSale} from './offer.ts'
import {projectSubscription} from './project.ts'
import {settleCheckout} from './settle-checkout.ts'
import {findLiveSubscription, type Interval, isOver, isoOf, readSubscription} from './subscription.ts'

type Wanted = ReturnUrls & Awaited<ReturnType<typeof findPlanForSale>> & {interval: Interval; afterTrial: boolean; standing: Standing}

/**
 * The page for a plan, of which an org has one open. Whoever asks takes the next number, closes every page with a lower one, and only then asks whether
 * there is a subscription by now: from there on none can come of an earlier page. The page is handed out if no higher number was
 * taken meanwhile.
 */
export const openPlanCheckout = async (tools: CheckoutTools, by: Asker, wanted: Wanted): Promise<string> => {
  const {config, db} = tools
  const {org, person, email} = by
  const {standing, afterTrial, plan, interval} = wanted
  const own = await findSubscription(db, org)
  if (own && !isOver(own)) throw alreadySubscribed()
  const trial = afterTrial ? trialOf(standing) : null
  const customer = await keepPaymentCustomer(tools, {org, email})
  const seq = await takeCheckoutSeq(db, org)
  await closeEarlier(tools, {org, customer, seq})
  await assertUnsubscribed(tools, {org, customer})
  const id = newId('chk')
  const asked = planParams({...wanted, config, id, org, person, customer, seq, trial})
  const row = {id, org, person, seq, kind: 'plan', planVersionId: plan.id, interval, afterTrial, params: asked} as const
  const params = await insertCheckout(db, row)
  const page = await openSession(tools, {id, org, params})
  if (await isNewest(tools, {id, org, seq, page})) return page.url!
  await expireSession(tools, page.id)
  throw superseded()
}

const alreadySubscribed = () =>
  new Refusal('ALREADY_SUBSCRIBED', 'This org has a subscription: change its plan with POST /orgs/{org}/billing/plan')

const superseded = () =>
  new Refusal('CHECKOUT_SUPERSEDED', 'Somebody of this org opened another Checkout at the same moment: go on at theirs, or open a new one')

const hour = 3600
/** The provider takes no trial that ends within two days, and looks again when the page is paid. */
const [guardHours, leastHours, mostHours] = [49, 48, 24] as const
/** Its clock may be behind ours by as much. */
const skewSeconds = 300

/** TRIAL_ENDING where the page could not stay open for an hour before the provider would refuse what it sells. */
export const trialOf = ({status, trialEndsAt, now}: Pick<Standing, 'status' | 'trialEndsAt' | 'now'>): Trial => {
  if (status !== 'trialing' || trialEndsAt === null)
    throw new Refusal('INVALID', 'This org is not on trial: leave `afterTrial` out, and the plan begins when it is paid')
  const [at, end] = [Date.parse(now) / 1000, Date.parse(trialEndsAt) / 1000]
  if (end - at < guardHours * hour)
    throw new Refusal(
      'TRIAL_ENDING',
      `The trial ends in less than ${guardHours} hours: leave \`afterTrial\` out to begin at once, or come back when it is over`,
    )
  return {end: Math.floor(end), expiresAt: Math.floor(Math.min(at + mostHours * hour - skewSeconds, end - leastHours * hour))}
}

type Mine = {org: string; customer: string; seq: number}

const closeEarlier = async (tools: CheckoutTools, {org, customer, seq}: Mine) => {
  const open = await listOpenPages(tools, customer)
  if (open.some(page => seqOf(page) > seq)) throw superseded()
  // Ours too: what a list leaves out for a moment would be a second page.
  const known = await listOpenPlanCheckouts(tools.db, {org, before: seq})
  const pages = new Set([...open.map(({id}) => id), ...known.map(({session}) => session!)])
  for (const page of pages) await close(tools, org, page)
}

const seqOf = ({metadata}: Stripe.Checkout.Session) => Number(metadata?.checkout_seq ?? 0)

/** One that was paid in this very moment is a subscription. */
const close = async (tools: CheckoutTools, org: string, session: string) => {
  if ((await expireSession(tools, session)) !== 'complete') return
  const held = await holdBilling(tools.db, org)
  // Whoever has it is about to learn the same.
  if (!held) throw alreadySubscribed()
  await settleCheckout(tools, held, session).finally(() => releaseBilling(tools, held))
  throw alreadySubscribed()
}

const mostPages = 10

/** A customer's pages for a plan. Those for credits are among what is listed, any number of them. */
const listOpenPages = async ({config, payment}: CheckoutTools, customer: string): Promise<Stripe.Checkout.Session[]> => {
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

/** Told by the provider itself: our rows know of a subscription only once its event has come. */
const assertUnsubscribed = async (tools: CheckoutTools, {org, customer}: {org: string; customer: string}) => {
  const live = await findLiveSubscription(tools, {customer})
  if (!live) return
  await learn(tools, org, live)
  throw alreadySubscribed()
}

const learn = async (tools: CheckoutTools, org: string, {id}: {id: string}) => {
  const held = await holdBilling(tools.db, org)
  if (!held) return
  try {
    const read = await readSubscription(tools, id)
    if (read) await tools.db.transaction(tx => projectSubscription(tx, held, read, {org, via: 'payment'}))
  } finally {
    await releaseBilling(tools, held)
  }
}

type Made = {id: string; org: string; seq: number; page: Stripe.Checkout.Session}

const isNewest = ({db}: CheckoutTools, {id, org, seq, page}: Made): Promise<boolean> =>
  db.transaction(async tx => {
    const isLast = await setPlanCheckout(tx, {org, seq, session: page.id})
    await setCheckoutOpen(tx, {id, session: page.id, expiresAt: isoOf(page.expires_at)!})
    return isLast
  })
