import anyTest, {type TestFn} from 'ava'
import {clearTopupStop, settleTopup} from '../../../shared/billing/topup.ts'
import {type Billing, openBilling, pass, settleMoney} from '../../support/billing.ts'
import {ok} from '../../support/importing.ts'
import {openTopping} from '../../support/topups.ts'

/** The tests run serially, because they share one provider. */
const test = anyTest.serial as TestFn
let billing: Billing
test.before(async t => {
  billing = await openBilling(t, {workers: [], webhook: false})
})
test.afterEach.always(() => billing.payment.faults.clear())
test.afterEach(t => settleMoney(t, billing))

const charge = '/v1/payment_intents'
/** Faults with answers that the SDK does not retry. */
const lost = {type: 'status', status: 500, when: 'after', shouldRetry: false} as const
const undone = {type: 'status', status: 500, when: 'before', shouldRetry: false} as const

test('a charge whose answer is lost counts against the cap and is found later', async t => {
  const org = await openTopping(billing)
  billing.payment.faults.add({method: 'POST', path: charge, action: lost})
  await org.spend(10)
  await org.settle()
  t.like(await org.attempts(), [{state: 'unknown'}])
  t.like((await org.read()).month, {used: 500})
  await org.spend(10)
  t.is((await org.attempts()).length, 1, 'one at a time')
  await org.settle()
  t.like(await org.attempts(), [{state: 'succeeded'}])
  t.is(org.intents().length, 1)
})

test('a charge that never arrived is sent again under its key, and made once', async t => {
  const org = await openTopping(billing)
  billing.payment.faults.add({method: 'POST', path: charge, times: 2, action: undone})
  await org.spend(10)
  await org.settle()
  await org.settle()
  t.like(await org.attempts(), [{state: 'unknown'}])
  await org.settle()
  t.like(await org.attempts(), [{state: 'succeeded'}])
  const keys = billing.payment
    .journal()
    .filter(({method, path}) => method === 'POST' && path === charge)
    .slice(-3)
  t.is(new Set(keys.map(({key}) => key)).size, 1)
})

test('a charge whose key always answers an error is given up after a day and then no longer counts', async t => {
  const org = await openTopping(billing)
  billing.payment.faults.add({method: 'POST', path: charge, action: {...undone, saved: true}})
  await org.spend(10)
  for (let times = 0; times < 3; times++) await org.settle()
  t.like(await org.attempts(), [{state: 'unknown'}])
  await pass(billing, 1.1)
  await org.settle()
  t.like(await org.attempts(), [{state: 'failed'}])
  t.like(await org.read(), {enabled: true, stopped: null, month: {used: 0}})
  await org.start()
  await org.settle()
  t.like(await org.balance(), {purchased: 500})
})

test('a top-up waits while the provider is down and is charged afterwards', async t => {
  const org = await openTopping(billing)
  await org.spend(10)
  billing.payment.faults.add({path: '/v1/prices/*', action: undone})
  await org.settle()
  t.like(await org.attempts(), [{state: 'pending'}])
  billing.payment.faults.add({method: 'POST', path: charge, action: {type: 'rateLimit'}})
  await org.settle()
  t.like(await org.attempts(), [{state: 'unknown'}])
  billing.payment.faults.add({method: 'POST', path: charge, action: {type: 'half'}})
  await org.settle()
  await org.settle()
  t.like(await org.attempts(), [{state: 'succeeded'}])
})

test('a declined charge that cannot be cancelled yet counts until it is cancelled', async t => {
  const org = await openTopping(billing)
  billing.payment.setCard(org.card, 'card_declined')
  billing.payment.faults.add({method: 'POST', path: `${charge}/*/cancel`, action: undone})
  await org.spend(10)
  await org.settle()
  t.like(await org.attempts(), [{state: 'unknown'}])
  await org.settle()
  t.like(await org.attempts(), [{state: 'declined'}])
  t.is(org.intents()[0]!.status, 'canceled')
})

test('a disabled top-up is not charged, neither before its charge nor while its outcome is unknown', async t => {
  const org = await openTopping(billing)
  await org.spend(10)
  const [first] = await org.attempts()
  await ok(org.ask({enabled: false}), 200)
  t.is(await settleTopup(billing.house.tools, {org: org.org, attempt: first!.id}), 'failed')
  t.is(org.intents().length, 0)

  await ok(org.ask(), 200)
  billing.payment.faults.add({method: 'POST', path: charge, action: undone})
  await org.settle()
  await ok(org.ask({enabled: false}), 200)
  await org.settle()
  t.is((await org.attempts())[1]!.state, 'unknown')
  t.is(org.intents().length, 0, 'not asked for again')
  t.like((await org.read()).underWay, {state: 'unknown'})
  await pass(billing, 1.1)
  await org.settle()
  t.like((await org.attempts())[1], {state: 'failed'})
})

test('a closed org, a lowered cap and a deleted customer are not charged', async t => {
  const {house} = billing
  const closed = await openTopping(billing, {threshold: 30})
  await ok(house.as(house.adminToken)('POST', `/staff/orgs/${closed.org}/close`, {reason: 'A test'}), 200)
  await closed.settle()
  t.like(await closed.attempts(), [{state: 'failed'}])
  await house.hot.query(`delete from pgboss.job where name = 'billing.end'`)

  const lowered = await openTopping(billing, {threshold: 600, monthlyCap: 1000})
  await house.hot.query('update billing_accounts set topup_monthly_cap = 999 where org_id = $1', [lowered.org])
  await lowered.settle()
  t.like(await lowered.attempts(), [{state: 'failed'}])

  const gone = await openTopping(billing, {threshold: 30})
  await house.hot.query('update billing_accounts set customer_id = null where org_id = $1', [gone.org])
  await gone.settle()
  t.like(await gone.attempts(), [{state: 'failed'}])
  for (const {intents} of [closed, lowered, gone]) t.is(intents().length, 0)
})

test('a pack no longer sold stops top-ups without blaming the card', async t => {
  const {house, stripe, prices} = billing
  const org = await openTopping(billing, {packKey: 'credits_10000', threshold: 30, monthlyCap: 10_000})
  await stripe.prices.update(prices.credits_10000, {active: false})
  await org.settle()
  t.like(await org.attempts(), [{state: 'failed'}])
  t.like(await org.read(), {enabled: false, stopped: {reason: 'pack_not_sold'}})
  t.false(await clearTopupStop(house.tools, org.org))
  await stripe.prices.update(prices.credits_10000, {active: true})
  t.is(org.intents().length, 0)
})

test('a retry in the next month counts in that month, and is not made if the cap has no room', async t => {
  const toMidnight = () => {
    const now = new Date(billing.payment.now() * 1000)
    return (Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1) - now.getTime()) / 86_400_000
  }
  await pass(billing, toMidnight() - 0.05)
  const [org, lowered] = [await openTopping(billing, {threshold: 30}), await openTopping(billing, {threshold: 30})]
  billing.payment.faults.add({method: 'POST', path: charge, times: 2, action: undone})
  await org.settle()
  await lowered.settle()
  const [before] = await org.attempts()
  await pass(billing, 0.1)
  await billing.house.hot.query('update billing_accounts set topup_monthly_cap = 499 where org_id = $1', [lowered.org])
  await org.settle()
  await lowered.settle()
  t.like(await org.attempts(), [
    {id: before!.id, state: 'succeeded', month: new Date(billing.payment.now() * 1000).toISOString().slice(0, 7)},
  ])
  t.not((await org.attempts())[0]!.month, before!.month)
  t.like(await lowered.attempts(), [{state: 'unknown'}])
  t.is(lowered.intents().length, 0)
})
