import type {ExecutionContext} from 'ava'
import {findBillingAccount} from '../sql/billing-accounts.ts'
import {sql} from '../sql/database.ts'
import {findSubscription} from '../sql/subscriptions.ts'
import {ok} from './importing.ts'
import {type Billing, type Bought, beginSale, type Prices, type SaleOptions, seedSubscription, WEBHOOK_SECRET} from './selling.ts'
import type {PaymentStandIn} from './simulators/payment.ts'
import {until} from './until.ts'
import {endWithWorld, type World, world} from './world.ts'

export type {Billing, Prices}
export {seedSubscription, WEBHOOK_SECRET}

/** A deployment that sells, for one test file. */
export const openBilling = (t: ExecutionContext<any>, options: SaleOptions = {}): Promise<Billing> =>
  beginSale(asked => world(t, asked), endWithWorld, options)

/** Buys a plan as people do, by Checkout and its page; waits until our own row says so. Needs the worker `billing`. */
export const subscribe = async ({house, payment}: Billing, {org, token, planKey, interval = 'month', card = 'pm_card_visa'}: Bought) => {
  const {url} = await ok(house.as(token)('POST', `/orgs/${org}/billing/checkout`, {kind: 'plan', planKey, interval}), 200)
  await payment.payCheckout(sessionOf(url), {card})
  return until(
    () => findSubscription(house.db, org),
    found => found?.status === 'active',
  )
}

/** The session that a hosted page is of. */
export const sessionOf = (url: string): string => new URL(url).pathname.split('/').at(-1)!

/** Moves both clocks, the provider's first; what falls due on the way is told as it happens. */
export const pass = async ({house, payment}: Billing, days: number): Promise<void> => {
  await payment.advance(days * 86_400)
  const ahead = payment.now() * 1000 - Date.now()
  // Never behind the provider's: what has begun there has begun here.
  await house.ahead(`${Math.ceil(ahead / 1000)} seconds`)
}

/**
 * Nobody is charged twice, and nobody has credits unpaid: the provider's money adds up, one customer has one living subscription, one change was
 * charged once, and every credit bought is one that was paid for, and the other way round.
 */
export const settleMoney = async (t: ExecutionContext<any>, {house, payment}: Billing): Promise<void> => {
  await payment.settle()
  t.is(payment.money().difference, 0)
  const living = payment.all('subscription').filter(({status}) => !['canceled', 'incomplete_expired', 'incomplete'].includes(status))
  t.deepEqual(repeated(living.map(({customer}) => customer)), [], 'one living subscription a customer')
  const ofChange = payment
    .all('invoice')
    .filter(({billing_reason, status}) => billing_reason === 'subscription_update' && status === 'paid')
  const changes = ofChange.map(({parent}) => parent?.subscription_details?.metadata?.change_id).filter(Boolean)
  t.deepEqual(repeated(changes), [], 'one charge a change')
  const paid = [...paidSessions(payment), ...paidTopups(payment)].sort()
  t.deepEqual(await until(() => listBought(house), sameAs(paid)), paid, 'credits bought are credits paid for')
}

const repeated = (all: string[]) => all.filter((one, at) => all.indexOf(one) !== at)

const paidSessions = (payment: PaymentStandIn): string[] =>
  payment
    .all('checkout.session')
    .filter(({mode, payment_status}) => mode === 'payment' && payment_status === 'paid')
    .map(({id}) => `checkout:${id}`)

const paidTopups = (payment: PaymentStandIn): string[] =>
  payment
    .all('payment_intent')
    .filter(({status, metadata}) => status === 'succeeded' && metadata.kind === 'autotopup')
    .map(({metadata}) => `topup:${metadata.attempt_id}`)

const listBought = async ({db}: World): Promise<string[]> => {
  const refs = await db.anyFirst(sql.unsafe`select ref from credit_grants where ref like 'checkout:%' or ref like 'topup:%' order by ref`)
  return (refs as string[]).toSorted()
}

const sameAs = (wanted: string[]) => (found: string[]) => JSON.stringify(found) === JSON.stringify(wanted)

/** The org's customer at the provider. */
export const customerOf = async ({house}: Billing, org: string): Promise<string> => (await findBillingAccount(house.db, org))!.customer!
