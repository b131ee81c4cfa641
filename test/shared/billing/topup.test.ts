import anyTest, {type TestFn} from 'ava'
import {clearTopupStop, settleTopup} from '../../../shared/billing/topup.ts'
import {packsFor, startTopups} from '../../../shared/billing/topup-trigger.ts'
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

test('a top-up buys whole packs for the gap in one charge, within the room of the cap', t => {
  t.is(packsFor({gap: 1, room: 1000, each: 500}), 1)
  t.is(packsFor({gap: 500, room: 1000, each: 500}), 1)
  t.is(packsFor({gap: 501, room: 1000, each: 500}), 2)
  t.is(packsFor({gap: 5001, room: 1000, each: 500}), 2)
  t.is(packsFor({gap: 5001, room: 999, each: 500}), 1)
  t.is(packsFor({gap: 5001, room: 499, each: 500}), 0)
  t.is(packsFor({gap: 1, room: -1, each: 500}), 0)
})

test('an org that falls below its threshold is charged once and gets the credits', async t => {
  const org = await openTopping(billing, {threshold: 600, monthlyCap: 1500})
  t.deepEqual(
    (await org.attempts()).map(({quantity, state}) => [quantity, state]),
    [[2, 'pending']],
    'begun when it was enabled',
  )
  t.is((await org.jobs()).length, 1, 'with a job, in the same transaction')
  await org.settle()
  const [intent] = org.intents()
  t.like(intent, {status: 'succeeded', amount: 2000, currency: 'eur', customer: org.customer, payment_method: org.card})
  t.like(intent!.metadata, {app: 'lading', kind: 'autotopup', org_id: org.org})
  t.like(await org.balance(), {included: 25, purchased: 1000, available: 1025})
  t.like((await org.read()).month, {used: 1000, remaining: 500})
  await org.spend(300)
  t.is((await org.attempts()).length, 1, 'enough is left')
  await org.spend(200)
  t.like((await org.attempts())[1], {quantity: 1, credits: 500, state: 'pending'})
  await org.settle()
  t.like(await org.balance(), {available: 1025})
  await org.spend(1000)
  t.is((await org.attempts()).length, 2, 'the month has no room for another')
  t.like((await org.read()).month, {used: 1500, remaining: 0})
})

test('a top-up may use the cap exactly, and with one credit less room buys a pack less', async t => {
  const exact = await openTopping(billing, {threshold: 5000, monthlyCap: 1000})
  t.like(await exact.attempts(), [{quantity: 2, credits: 1000}])
  const less = await openTopping(billing, {threshold: 5000, monthlyCap: 999})
  t.like(await less.attempts(), [{quantity: 1, credits: 500}])
  for (const org of [exact, less]) {
    await org.settle()
    await org.start()
    t.is((await org.attempts()).length, 1)
  }
})

test('200 concurrent consumers cause one top-up', async t => {
  const org = await openTopping(billing, {packKey: 'credits_2500', threshold: 10, monthlyCap: 2500})
  const done = await Promise.allSettled(Array.from({length: 200}, () => org.reserve(1)))
  t.is(done.filter(({status}) => status === 'fulfilled').length, 25)
  t.is((await org.attempts()).length, 1)
  t.is((await org.jobs()).length, 1)
  await org.settle()
  t.like(await org.balance(), {available: 2500, reserved: 25})
})

test('concurrent consumers, admins and settlers cause no error', async t => {
  const org = await openTopping(billing, {threshold: 600, monthlyCap: 100_000})
  const all = await Promise.allSettled([
    ...Array.from({length: 30}, () => org.spend(40)),
    ...Array.from({length: 6}, (_, n) => org.ask({threshold: 600 + n})),
    ...Array.from({length: 8}, () => org.settle()),
    ...Array.from({length: 4}, () => org.start()),
  ])
  const odd = all.flatMap(one => (one.status === 'rejected' && one.reason.code !== 'CREDITS_EXHAUSTED' ? [one.reason] : []))
  t.deepEqual(odd, [])
  for (let times = 0; times < 3; times++) {
    await org.start()
    await org.settle()
  }
  t.true((await org.balance()).available >= 600)
  t.is(org.intents().length, (await org.attempts()).filter(({state}) => state === 'succeeded').length)
})

test('a top-up settled twenty times at once is charged once and granted once', async t => {
  const org = await openTopping(billing, {threshold: 30})
  const [attempt] = await org.attempts()
  const all = () => Promise.all(Array.from({length: 20}, () => settleTopup(billing.house.tools, {org: org.org, attempt: attempt!.id})))
  await all()
  t.true((await all()).every(state => state === 'succeeded'))
  t.is(org.intents().length, 1)
  t.like(await org.balance(), {purchased: 500})
})

test('a declined card cancels the charge, switches top-ups off with a notice, and is not retried', async t => {
  const org = await openTopping(billing)
  billing.payment.setCard(org.card, 'insufficient_funds')
  await org.spend(10)
  await org.settle()
  t.like(await org.attempts(), [{state: 'declined'}])
  t.is(org.intents()[0]!.status, 'canceled')
  t.like(await org.read(), {enabled: false, stopped: {reason: 'card_declined'}, month: {used: 0}, underWay: null})
  await org.spend(5)
  await org.start()
  t.is((await org.attempts()).length, 1)
  t.deepEqual(await org.kinds(), ['billing.topup_stopped', 'usage.credits'])
  t.false(await clearTopupStop(billing.house.tools, org.org), 'the card is the same')
  billing.payment.setCard(org.card, 'ok')
  t.false((await org.read()).enabled, 'a person says when')
  t.like(await ok(org.ask(), 200), {enabled: true, stopped: null, underWay: {credits: 500, state: 'pending'}})
  await org.settle()
  t.like(await org.balance(), {purchased: 500})
})

test('a bank that requires confirmation stops top-ups, and another card resumes them', async t => {
  const {house, stripe} = billing
  const org = await openTopping(billing)
  billing.payment.setCard(org.card, 'authentication_required')
  await org.spend(10)
  await org.settle()
  t.like(await org.read(), {enabled: false, stopped: {reason: 'authentication_required'}})
  t.is(org.intents()[0]!.status, 'canceled')
  const other = await stripe.paymentMethods.attach('pm_card_mastercard', {customer: org.customer})
  const [subscription] = billing.payment.all('subscription').filter(({customer}) => customer === org.customer)
  await stripe.subscriptions.update(subscription!.id, {default_payment_method: other.id})
  await stripe.customers.update(org.customer, {invoice_settings: {default_payment_method: other.id}})
  t.true(await clearTopupStop(house.tools, org.org))
  t.false(await clearTopupStop(house.tools, org.org), 'once')
  t.like(await org.read(), {enabled: true, stopped: null})
  await org.start()
  await org.settle()
  t.like(
    org.intents().find(({status}) => status === 'succeeded'),
    {payment_method: other.id},
  )
  const {changes} = await ok(org.call('GET', `/orgs/${org.org}/config/changes?limit=10`), 200)
  const said = changes.filter(({subject}: {subject: string}) => subject.startsWith('topup')).map(({subject, via}: any) => [subject, via])
  t.deepEqual(said, [
    ['topup.resumed', 'payment'],
    ['topup.stopped', 'payment'],
    ['topup', 'session'],
  ])
})

test('the cap applies to the month of the charge, and a new month starts a top-up without consumption', async t => {
  const org = await openTopping(billing, {threshold: 100_000, monthlyCap: 1000})
  await org.settle()
  const [{month: first}] = (await org.attempts()) as unknown as [{month: string}]
  t.is(first, new Date(billing.payment.now() * 1000).toISOString().slice(0, 7))
  await org.start()
  t.is((await org.attempts()).length, 1)
  await pass(billing, daysToNextMonth())
  await org.start()
  const second = (await org.attempts())[1]!
  t.not(second.month, first)
  await pass(billing, daysToNextMonth())
  await org.settle()
  const charged = (await org.attempts())[1]!
  t.like(charged, {state: 'succeeded', credits: 1000})
  t.is(charged.month, new Date(billing.payment.now() * 1000).toISOString().slice(0, 7), 'not the one it was thought of in')
  await org.start()
  t.is((await org.attempts()).length, 2)
})

const daysToNextMonth = () => {
  const now = new Date(billing.payment.now() * 1000)
  return (Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1, 1) - now.getTime()) / 86_400_000
}

test('the periodic task reaches every org, also beyond the first hundred', async t => {
  const {house} = billing
  await house.hot.query(
    `insert into orgs (id, name, crm_dc, crm_org_id) select 'org_top' || n, 'Org', 'com', 'top' || n from generate_series(1, 101) n`,
  )
  await house.hot.query(`
    insert into billing_accounts (org_id, topup_enabled, topup_pack, topup_threshold, topup_monthly_cap)
    select id, true, 'credits_500', 1000, 500 from orgs where id like 'org_top%'`)
  t.true((await startTopups(house, {most: 1000})) >= 101)
})
