import anyTest, {type ExecutionContext, type TestFn} from 'ava'
import {settleCheckout} from '../../shared/billing/settle-checkout.ts'
import {sql} from '../../sql/database.ts'
import {type Billing, customerOf, openBilling, settleMoney} from '../support/billing.ts'
import {newBuyer} from '../support/checkouts.ts'

/** The tests run serially, because they share one payment provider. */
const test = anyTest.serial as TestFn
let billing: Billing
test.before(async t => {
  billing = await openBilling(t, {workers: [], webhook: false})
})
test.afterEach.always(() => billing.payment.faults.clear())

const settle = (session: string) => settleCheckout(billing.house.tools, null, session)

test('a plan bought beside another subscription is cancelled at once and refunded', async t => {
  const {payment, stripe, prices} = billing
  const {org, openPlan, me, row} = await newBuyer(billing)
  const page = await openPlan({planKey: 'business'})
  const customer = await customerOf(billing, org)
  const first = await besides(t, {customer, price: prices['team.month'], org})
  await payment.payCheckout(page)
  const second = payment.find(page)!.subscription
  t.is((await stripe.subscriptions.list({customer})).data.length, 2)
  payment.faults.add({method: 'POST', path: '/v1/refunds', times: 2, action: {type: 'status', status: 500, when: 'after'}})
  await t.throwsAsync(settle(page))
  await settle(page)
  await settle(page)
  t.is(payment.find(second)!.status, 'canceled')
  t.is(payment.find(first)!.status, 'active')
  t.like(payment.money(customer), {charged: 12_000, refunded: 9000})
  t.like(await me(), {plan: {key: 'team'}})
  t.like(await row(page), {state: 'complete'})
  await settleMoney(t, billing)
})

for (const [state, subscription] of [
  ['ended unnoticed', null],
  ['is unknown to the provider', 'sub_unknown'],
] as const)
  test(`a bought plan replaces a stored subscription that ${state}`, async t => {
    const {house, payment, prices} = billing
    const {org, openPlan, me, row} = await newBuyer(billing)
    const page = await openPlan({planKey: 'business'})
    const customer = await customerOf(billing, org)
    await payment.dashboard.cancelNow(await besides(t, {customer, price: prices['team.month'], org}))
    if (subscription) await house.db.query(sql.unsafe`update subscriptions set subscription_id = ${subscription} where org_id = ${org}`)
    await payment.payCheckout(page)
    await settle(page)
    t.like(await me(), {plan: {key: 'business'}, status: 'active'})
    t.like(await row(page), {state: 'complete'})
    t.is(payment.money(customer).refunded, 0)
    await settleMoney(t, billing)
  })

test('an earlier plan that ended before its page was settled is not refunded, and the later plan stays', async t => {
  const {payment, prices} = billing
  const {org, openPlan, me, row} = await newBuyer(billing)
  const page = await openPlan({planKey: 'business'})
  const customer = await customerOf(billing, org)
  await payment.payCheckout(page)
  await payment.dashboard.cancelNow(payment.find(page)!.subscription)
  await payment.advance(60)
  await besides(t, {customer, price: prices['team.month'], org})
  await settle(page)
  t.like(await me(), {plan: {key: 'team'}})
  t.like(await row(page), {state: 'complete'})
  t.is(payment.money(customer).refunded, 0)
  await settleMoney(t, billing)
})

/** Creates a subscription directly at the provider, and stores it as the org's own. */
const besides = async (t: ExecutionContext, {customer, price, org}: {customer: string; price: string; org: string}) => {
  const {house, stripe} = billing
  const card = await stripe.paymentMethods.attach('pm_card_visa', {customer})
  const made = await stripe.subscriptions.create({customer, items: [{price}], default_payment_method: card.id})
  await house.db.query(sql.unsafe`
    insert into subscriptions (org_id, subscription_id, status, plan_version_id, interval) values (${org}, ${made.id}, 'active', 'team.1', 'month')`)
  await house.db.query(sql.unsafe`update orgs set plan_version_id = 'team.1' where id = ${org}`)
  t.is(made.status, 'active')
  return made.id
}
