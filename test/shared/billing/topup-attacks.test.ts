import anyTest, {type TestFn} from 'ava'
import {beginTopup, chargeTopup} from '../../../shared/billing/topup-charge.ts'
import {findAttempt} from '../../../sql/topups.ts'
import {type Billing, openBilling, pass, settleMoney} from '../../support/billing.ts'
import {ok} from '../../support/importing.ts'
import {openTopping, type Topping} from '../../support/topups.ts'

/** The tests run serially, because they share one provider. */
const test = anyTest.serial as TestFn
let billing: Billing
test.before(async t => {
  billing = await openBilling(t, {workers: [], webhook: false})
})
test.afterEach.always(() => billing.payment.faults.clear())
test.afterEach(t => settleMoney(t, billing))

const charge = '/v1/payment_intents'
const undone = {type: 'status', status: 500, when: 'before', shouldRetry: false} as const
const lose = () => billing.payment.faults.add({method: 'POST', path: charge, times: 1, action: undone})
const give = (org: Topping, credits: number) =>
  ok(billing.house.as(billing.house.adminToken)('POST', `/entitlements/admin/orgs/${org.org}/credits`, {pool: 'purchased', credits}), 200)
const suspend = (org: Topping, suspended: boolean) =>
  billing.house.hot.query('update orgs set suspended_at = case when $2::bool then lading_now() end where id = $1', [org.org, suspended])
const states = async (org: Topping) => (await org.attempts()).map(({state}) => state)

test('credits from elsewhere and a suspension stop a top-up before its charge', async t => {
  const [rich, suspended] = [await openTopping(billing, {threshold: 30}), await openTopping(billing, {threshold: 30})]
  await give(rich, 100)
  await suspend(suspended, true)
  for (const org of [rich, suspended]) {
    await org.settle()
    t.deepEqual(await states(org), ['failed'])
    await org.start()
    t.deepEqual(await states(org), ['failed'], 'nor is it thought of again')
    t.like(await org.read(), {enabled: true, stopped: null, month: {used: 0}})
    t.is(org.intents().length, 0)
  }
  await suspend(suspended, false)
  await suspended.start()
  await suspended.settle()
  t.deepEqual(await states(suspended), ['failed', 'succeeded'])
})

test('an uncharged top-up is not retried once fewer, other or no credits are wanted', async t => {
  const fewer = await openTopping(billing, {threshold: 5000, monthlyCap: 10_000})
  const other = await openTopping(billing, {threshold: 30, monthlyCap: 10_000})
  const rich = await openTopping(billing, {threshold: 30})
  const all = [fewer, other, rich]
  for (const org of all) {
    lose()
    lose()
    await org.settle()
    t.deepEqual(await states(org), ['unknown'])
  }
  billing.payment.faults.clear()
  await ok(fewer.ask({threshold: 30, monthlyCap: 10_000}), 200)
  await ok(other.ask({packKey: 'credits_2500', threshold: 30, monthlyCap: 10_000}), 200)
  await give(rich, 100)
  for (const org of all) {
    await org.settle()
    t.deepEqual(await states(org), ['unknown'])
    t.is(org.intents().length, 0)
  }
  await pass(billing, 1.1)
  for (const org of all) {
    await org.settle()
    await org.start()
    await org.settle()
  }
  t.deepEqual(await Promise.all(all.map(async org => (await org.attempts()).map(({state, credits}) => [state, credits]))), [
    [
      ['failed', 5000],
      ['succeeded', 500],
    ],
    [
      ['failed', 500],
      ['succeeded', 2500],
    ],
    [['failed', 500]],
  ])
})

test('a top-up charged and then switched off still grants its credits', async t => {
  const org = await openTopping(billing, {threshold: 30})
  billing.payment.faults.add({method: 'POST', path: charge, action: {...undone, when: 'after'}})
  await org.settle()
  t.deepEqual([await states(org), org.intents().length], [['unknown'], 1])
  await ok(org.ask({enabled: false}), 200)
  await org.settle()
  t.like(await org.balance(), {purchased: 500})
  t.like(await org.read(), {enabled: false, month: {used: 500}})
})

test('a process that slept between check and charge checks again', async t => {
  const org = await openTopping(billing, {threshold: 30})
  const {tools} = billing.house
  const [attempt] = await org.attempts()
  const begun = (await beginTopup(tools, (await findAttempt(tools.db, {org: org.org, id: attempt!.id}))!))!
  await ok(org.ask({enabled: false}), 200)
  await t.throwsAsync(chargeTopup(tools, {...begun, at: begun.at - 61_000}), {name: 'PaymentFailure'})
  t.is(org.intents().length, 0)
  t.deepEqual(await states(org), ['unknown'])
})

test('a customer deleted at the provider is not charged, and its top-up ends as failed', async t => {
  const {stripe} = billing
  const [pending, unknown] = [await openTopping(billing, {threshold: 30}), await openTopping(billing, {threshold: 30})]
  lose()
  lose()
  await unknown.settle()
  billing.payment.faults.clear()
  for (const org of [pending, unknown]) {
    await stripe.customers.del(org.customer)
    billing.payment.faults.add({path: `/v1/customers/${org.customer}`, action: {type: 'status', status: 404}, times: 100})
    billing.payment.faults.add({method: 'GET', path: charge, action: {type: 'status', status: 404}, times: 100})
    await org.settle()
  }
  t.deepEqual(await states(pending), ['failed'])
  t.like(await pending.read(), {stopped: {reason: 'no_card'}})
  t.deepEqual(await states(unknown), ['failed'])
  for (const {intents} of [pending, unknown]) t.is(intents().length, 0)
})

test('a pack of price zero is not sold, and an unknown pack is refused as input', async t => {
  const {house, stripe, prices} = billing
  const org = await openTopping(billing, {packKey: 'credits_10000', threshold: 30, monthlyCap: 10_000})
  const {product} = await stripe.prices.retrieve(prices.credits_10000)
  const free = await stripe.prices.create({product: product as string, currency: 'eur', unit_amount: 0})
  const price = (paymentPriceId: string) =>
    ok(house.as(house.adminToken)('PATCH', '/billing/admin/packs/credits_10000/payment', {paymentPriceId}), 200)
  await price(free.id)
  await org.settle()
  t.like(await org.read(), {enabled: false, stopped: {reason: 'pack_not_sold'}})
  await price(prices.credits_10000)
  for (const enabled of [true, false]) t.like(await org.ask({enabled, packKey: 'credits_7'}), {status: 400, body: {code: 'NOT_SOLD'}})
  t.like(await ok(org.ask({enabled: false, packKey: 'credits_500'}), 200), {enabled: false, packKey: 'credits_500'})
})

test('a charge counts in the month in which the provider makes it', async t => {
  const midnight = () => {
    const now = new Date(billing.payment.now() * 1000)
    return Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1) / 1000 - billing.payment.now()
  }
  await pass(billing, (midnight() - 3600) / 86_400)
  const org = await openTopping(billing, {threshold: 30, monthlyCap: 500})
  await billing.payment.advance(7200)
  await org.settle()
  const month = new Date(billing.payment.now() * 1000).toISOString().slice(0, 7)
  t.like(await org.attempts(), [{state: 'succeeded', month}])
  await pass(billing, 0.1)
  await org.spend(520)
  t.is((await org.attempts()).length, 1, 'this month has had its one')
})
