import anyTest, {type TestFn} from 'ava'
import {readPlanStatus} from '../../shared/billing/entitlements/plan-status.ts'
import {sql} from '../../sql/database.ts'
import {findSubscription} from '../../sql/subscriptions.ts'
import {type Billing, customerOf, openBilling, scheduleNextPlan, seedSubscription, settleMoney, subscribe} from '../support/billing.ts'
import {ok} from '../support/importing.ts'
import {untilApplied} from '../support/payment-webhook.ts'
import {startTestDeployment} from '../support/test-deployment.ts'
import {openTopping} from '../support/topups.ts'
import {until} from '../support/until.ts'

/** The tests run serially, because they share one payment provider. */
const test = anyTest.serial as TestFn
let billing: Billing
test.before(async t => {
  billing = await openBilling(t, {workers: ['billing', 'erasure']})
})
test.afterEach.always(() => billing.payment.faults.clear())
test.afterEach(t => settleMoney(t, billing))

const staff = (path: string, body: object = {reason: 'A test'}) => billing.house.as(billing.house.adminToken)('POST', path, body)
const sessions = (customer: string) => billing.payment.all('checkout.session').filter(one => one.customer === customer)
const subscriptionOf = (customer: string) => billing.payment.all('subscription').find(one => one.customer === customer)!

const openPage = (token: string, body: object) => ok(billing.house.as(token)('POST', '/billing/checkout', body), 200)

test('closing an org ends its subscription at the paid period and closes open pages; reopening changes neither', async t => {
  const {house, payment} = billing
  const {org, token} = await house.makeOrg()
  await subscribe(billing, {org, token, planKey: 'team'})
  await openPage(token, {kind: 'credit_pack', packKey: 'credits_500'})
  const customer = await customerOf(billing, org)
  payment.faults.add({method: 'GET', path: '/v1/checkout/sessions', action: {type: 'status', status: 500, shouldRetry: false}})
  await ok(staff(`/staff/orgs/${org}/close`), 200)
  const found = await until(
    () => findSubscription(house.db, org),
    subscription => subscription?.cancelsAt !== null,
  )
  t.like(found, {status: 'active', pending: {planKey: 'free'}})
  t.is(subscriptionOf(customer).cancel_at, subscriptionOf(customer).items.data[0].current_period_end)
  t.deepEqual(
    sessions(customer)
      .map(({mode, status}) => [mode, status])
      .toSorted(),
    [
      ['payment', 'expired'],
      ['subscription', 'complete'],
    ],
  )
  await ok(staff(`/staff/orgs/${org}/reopen`), 200)
  t.like(await findSubscription(house.db, org), {pending: {planKey: 'free'}})
  t.not(subscriptionOf(customer).cancel_at, null)
})

test('closing a closed org ends its subscription if that failed before', async t => {
  const {house} = billing
  const {org} = await house.makeOrg()
  await seedSubscription(billing, {org, planKey: 'team'})
  await untilApplied(house)
  // The org is closed, but the job that ends its subscription has failed for good.
  await house.db.query(sql.unsafe`update orgs set closed_at = lading_now() where id = ${org}`)
  await ok(staff(`/staff/orgs/${org}/close`), 200)
  const found = await until(
    () => findSubscription(house.db, org),
    subscription => typeof subscription?.cancelsAt === 'string',
  )
  t.like(found, {pending: {planKey: 'free'}})
})

test('cancelling at closure replaces a pending downgrade', async t => {
  const {house, prices} = billing
  const {org} = await house.makeOrg()
  const {id, customer} = await seedSubscription(billing, {org, planKey: 'business'})
  await scheduleNextPlan(billing, {id, price: prices['team.month']})
  await ok(staff(`/staff/orgs/${org}/close`), 200)
  await until(
    () => subscriptionOf(customer as string),
    ({cancel_at, schedule}) => cancel_at !== null && schedule === null,
  )
  t.is(subscriptionOf(customer as string).schedule, null)
})

test('closing an org moves a later end date of its subscription to the end of the paid period', async t => {
  const {house, payment, stripe} = billing
  const {org} = await house.makeOrg()
  const {id, customer} = await seedSubscription(billing, {org, planKey: 'team'})
  await stripe.subscriptions.update(id, {cancel_at: payment.now() + 180 * 86_400, proration_behavior: 'none'})
  await ok(staff(`/staff/orgs/${org}/close`), 200)
  const found = await until(
    () => subscriptionOf(customer as string),
    ({cancel_at, items}) => cancel_at === items.data[0].current_period_end,
  )
  t.is(found.status, 'active')
})

test('closing an org ends every live subscription, and keeps the plan of the known one', async t => {
  const {house, payment, stripe, prices} = billing
  const {org} = await house.makeOrg()
  const {id: first, customer} = await seedSubscription(billing, {org, planKey: 'team'})
  await until(
    () => findSubscription(house.db, org),
    found => found?.id === first,
  )
  await payment.advance(60)
  const second = await stripe.subscriptions.create({customer: customer as string, items: [{price: prices['business.month']}]})
  await ok(staff(`/staff/orgs/${org}/close`), 200)
  const ends = () => billing.payment.all('subscription').filter(one => one.customer === customer && one.cancel_at !== null)
  await until(ends, ({length}) => length === 2)
  await until(
    () => house.queue.findJobs<{org: string}>('billing.end', {key: org}),
    all => all.every(({state}) => state === 'completed'),
  )
  await untilApplied(house)
  t.like(await findSubscription(house.db, org), {id: first, pending: {planKey: 'free'}})
  t.is((await readPlanStatus(house.db, org)).plan.key, 'team')
  await stripe.subscriptions.cancel(first)
  t.is((await stripe.subscriptions.cancel(second.id)).status, 'canceled', 'a customer has one subscription in the other tests')
})

test('a subscription that the provider does not cancel is tried once', async t => {
  const {house, payment, stripe} = billing
  const {org} = await house.makeOrg()
  const {id} = await seedSubscription(billing, {org, planKey: 'team'})
  await untilApplied(house)
  payment.faults.add({method: 'DELETE', path: '/v1/subscriptions/*', times: 9, action: {type: 'status', status: 400}})
  await ok(staff(`/staff/orgs/${org}/erase`), 202)
  await until(
    async () => (await house.hot.query('select id from orgs where id = $1', [org])).rowCount,
    count => count === 0,
  )
  t.is(payment.journal().filter(({method, path}) => method === 'DELETE' && path === `/v1/subscriptions/${id}`).length, 1)
  payment.faults.clear()
  t.is((await stripe.subscriptions.cancel(id)).status, 'canceled')
})

test('an org reopened before the worker acts keeps its subscription; an org without one needs no call', async t => {
  const {house, payment} = billing
  const {org} = await house.makeOrg()
  await ok(staff(`/staff/orgs/${org}/close`), 200)
  const jobs = await until(
    () => house.queue.findJobs<{org: string}>('billing.end', {key: org}),
    all => all.every(({state}) => state === 'completed'),
  )
  t.is(jobs.length, 1)
  t.is(payment.journal().filter(({path}) => path.includes(org)).length, 0)
  await ok(staff(`/staff/orgs/${org}/reopen`), 200)
})

test('erasing an org cancels its subscription at once, retries while the provider is down, and deletes all rows', async t => {
  const {house, payment} = billing
  const org = await openTopping(billing, {threshold: 100_000, monthlyCap: 500})
  await until(org.balance, ({purchased}) => purchased > 0)
  await openPage(org.token, {kind: 'credit_pack', packKey: 'credits_500'})
  payment.faults.add({
    method: 'DELETE',
    path: '/v1/subscriptions/*',
    action: {type: 'status', status: 503, body: 'html', shouldRetry: false},
  })
  await ok(staff(`/staff/orgs/${org.org}/erase`), 202)
  await until(
    async () => (await house.hot.query('select id from orgs where id = $1', [org.org])).rowCount,
    count => count === 0,
    60,
  )
  t.is(subscriptionOf(org.customer).status, 'canceled')
  t.deepEqual(
    sessions(org.customer).map(({status}) => status),
    ['expired'],
  )
  for (const table of ['billing_accounts', 'subscriptions', 'checkouts', 'topup_attempts', 'overage_reports'])
    t.is((await house.hot.query(`select from ${table} where org_id = $1`, [org.org])).rowCount, 0, table)
  const {rows} = await house.hot.query('select count(*)::int as count from payment_events where org_id is null')
  t.true(rows[0].count > 0, 'the log of events stays, and names no org')
  // The erasure deleted the credits that this payment bought. Without its kind, the check of money ignores the payment.
  const paid = payment.all('payment_intent').find(({id}) => org.intents().some(one => one.id === id))!
  t.is(paid.status, 'succeeded')
  payment.world.store.put({...paid, metadata: {...paid.metadata, kind: 'erased'}})
})

test('a deployment without a payment provider can still close and erase an org', async t => {
  const bare = await startTestDeployment(t, {workers: ['billing', 'erasure']})
  const {org} = await bare.makeOrg()
  await ok(bare.as(bare.adminToken)('POST', `/staff/orgs/${org}/close`, {reason: 'A test'}), 200)
  await ok(bare.as(bare.adminToken)('POST', `/staff/orgs/${org}/erase`, {reason: 'A test'}), 202)
  await until(
    async () => (await bare.hot.query('select id from orgs where id = $1', [org])).rowCount,
    count => count === 0,
  )
  t.pass()
})
