import type {ExecutionContext} from 'ava'
import {findBillingAccount} from '../../sql/billing-accounts.ts'
import {sql} from '../../sql/database.ts'
import {findSubscription} from '../../sql/subscriptions.ts'
import type {PaymentSimulator} from '../simulators/payment.ts'
import {ok} from './importing.ts'
import {
  type Billing,
  beginSale,
  type Prices,
  type SaleOptions,
  type SeedSubscriptionInput,
  seedSubscription,
  WEBHOOK_SECRET,
} from './selling.ts'
import {endAfterTests, startTestDeployment, type TestDeployment} from './test-deployment.ts'
import {until} from './until.ts'

export type {Billing, Prices}
export {seedSubscription, WEBHOOK_SECRET}

export const openBilling = (t: ExecutionContext<any>, options: SaleOptions = {}): Promise<Billing> =>
  beginSale(asked => startTestDeployment(t, asked), endAfterTests, options)

/** Buys a plan through the Checkout page and waits until the subscription is active in our database. Needs the worker `billing`. */
export const subscribe = async (
  {house, payment}: Billing,
  {org, token, planKey, interval = 'month', card = 'pm_card_visa'}: SeedSubscriptionInput,
) => {
  const {url} = await ok(house.as(token)('POST', `/orgs/${org}/billing/checkout`, {kind: 'plan', planKey, interval}), 200)
  await payment.payCheckout(sessionOf(url), {card})
  return until(
    () => findSubscription(house.db, org),
    found => found?.status === 'active',
  )
}

export const sessionOf = (url: string): string => new URL(url).pathname.split('/').at(-1)!

/** Advances both clocks, the provider's first. Events that fall due are sent meanwhile. */
export const pass = async ({house, payment}: Billing, days: number): Promise<void> => {
  await payment.advance(days * 86_400)
  const ahead = payment.now() * 1000 - Date.now()
  // Our clock is never behind the provider's. So a period that has begun there has begun here too.
  await house.ahead(`${Math.ceil(ahead / 1000)} seconds`)
}

/**
 * Asserts that charges equal paid invoices and purchases, and bought credits equal paid ones. A customer has at most one subscription that is
 * neither incomplete nor ended, and each plan change has at most one paid invoice.
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

const paidSessions = (payment: PaymentSimulator): string[] =>
  payment
    .all('checkout.session')
    .filter(({mode, payment_status}) => mode === 'payment' && payment_status === 'paid')
    .map(({id}) => `checkout:${id}`)

const paidTopups = (payment: PaymentSimulator): string[] =>
  payment
    .all('payment_intent')
    .filter(({status, metadata}) => status === 'succeeded' && metadata.kind === 'autotopup')
    .map(({metadata}) => `topup:${metadata.attempt_id}`)

const listBought = async ({db}: TestDeployment): Promise<string[]> => {
  const refs = await db.anyFirst(sql.unsafe`select ref from credit_grants where ref like 'checkout:%' or ref like 'topup:%' order by ref`)
  return (refs as string[]).toSorted()
}

const sameAs = (wanted: string[]) => (found: string[]) => JSON.stringify(found) === JSON.stringify(wanted)

export const customerOf = async ({house}: Billing, org: string): Promise<string> => (await findBillingAccount(house.db, org))!.customer!

/** Lets the provider change a subscription to another price at its renewal, as its own pages do. */
export const scheduleNextPlan = async ({stripe}: Pick<Billing, 'stripe'>, {id, price}: {id: string; price: string}): Promise<void> => {
  const schedule = await stripe.subscriptionSchedules.create({from_subscription: id})
  const [{start_date, end_date, items}] = schedule.phases as [any]
  await stripe.subscriptionSchedules.update(schedule.id, {
    end_behavior: 'release',
    phases: [
      {start_date, end_date, items: items.map((item: any) => ({price: item.price, quantity: item.quantity}))},
      {items: [{price}], duration: {interval: 'month', interval_count: 1}},
    ],
  })
}
