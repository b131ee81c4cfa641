import anyTest, {type TestFn} from 'ava'
import {z} from 'zod'
import {sql} from '../../sql/database.ts'
import {type Billing, openBilling, seedSubscription, settleMoney} from '../support/billing.ts'
import type {Call} from '../support/client.ts'
import {move} from '../support/entitlements.ts'
import {ok} from '../support/importing.ts'
import {startTestDeployment} from '../support/test-deployment.ts'
import {openTopping} from '../support/topups.ts'
import {until} from '../support/until.ts'

/** The tests run serially, because they share one payment provider. */
const test = anyTest.serial as TestFn
let billing: Billing
test.before(async t => {
  billing = await openBilling(t)
})
test.afterEach.always(() => billing.payment.faults.clear())
test.afterEach(t => settleMoney(t, billing))

const wanted = {enabled: true, packKey: 'credits_500', threshold: 20, monthlyCap: 1000}
const refused = (t: any, answer: any, status: number, code: string, says = /\S/) => {
  t.is(answer.status, status, answer.text)
  t.is(answer.body.code, code)
  t.regex(answer.body.error, says)
  return answer.body
}

test('top-up settings name what is missing before they can be switched on', async t => {
  const {house, stripe} = billing
  const {org, token} = await house.makeOrg()
  const call = house.as(token)
  const ask = (more: object = {}) => call('POST', '/billing/autotopup', {...wanted, ...more})
  const nothing = {enabled: false, packKey: null, threshold: null, monthlyCap: null, stopped: null, underWay: null}
  t.like(await ok(call('GET', '/billing/autotopup'), 200), {...nothing, month: {used: 0, remaining: null}})
  refused(t, await ask(), 409, 'NO_PAYMENT_CUSTOMER', /checkout/)
  refused(t, await ask({packKey: 'credits_7'}), 400, 'NOT_SOLD')
  for (const more of [{threshold: 0}, {threshold: 1.5}, {monthlyCap: -1}, {enabled: 'yes'}, {card: 'x'}])
    refused(t, await ask(more), 400, 'INVALID')
  const {customer} = await seedSubscription(billing, {org, planKey: 'team'})
  t.deepEqual(refused(t, await ask({monthlyCap: 499}), 400, 'INVALID', /500/).issues[0].path, ['monthlyCap'])
  t.deepEqual(
    refused(t, await call('POST', '/billing/autotopup', {enabled: true, packKey: 'credits_500'}), 400, 'INVALID').issues.length,
    2,
  )
  await untilApplied()
  billing.payment.faults.add({method: 'GET', action: {type: 'status', status: 500, shouldRetry: false}})
  refused(t, await ask(), 503, 'PAYMENT_PROVIDER_UNAVAILABLE')
  t.like(await ok(ask(), 200), {...wanted, month: {used: 0, remaining: 1000}, underWay: null})
  t.like(await ok(call('POST', '/billing/autotopup', {enabled: true, threshold: 10}), 200), {...wanted, threshold: 10})
  await ok(call('POST', '/billing/autotopup', {enabled: false}), 200)
  t.like(await ok(call('GET', '/billing/autotopup'), 200), {enabled: false, packKey: 'credits_500', threshold: 10})
  const {changes} = await ok(call('GET', `/orgs/${org}/config/changes?limit=10`), 200)
  const said = changes
    .filter(({page}: any) => page === 'usage')
    .map(({page, subject, after}: any) => [page, subject, after.enabled, after.threshold])
  t.deepEqual(said, [
    ['usage', 'topup', false, 10],
    ['usage', 'topup', true, 10],
    ['usage', 'topup', true, 20],
  ])

  for (const {id} of (await stripe.customers.listPaymentMethods(customer as string)).data) await stripe.paymentMethods.detach(id)
  refused(t, await ask(), 409, 'NO_PAYMENT_CUSTOMER', /portal/)
})

test('a sandbox and a deployment without a provider cannot top up', async t => {
  const {house} = billing
  const {org, token} = await house.makeOrg()
  await house.hot.query('update orgs set sandbox = true where id = $1', [org])
  refused(t, await house.as(token)('POST', '/billing/autotopup', wanted), 403, 'SANDBOX_ORG')
  refused(t, await house.as(token)('POST', '/billing/overage', {enabled: true}), 403, 'SANDBOX_ORG')
  const bare = await startTestDeployment(t)
  const call = bare.as((await bare.makeOrg()).token)
  refused(t, await call('POST', '/billing/autotopup', wanted), 503, 'NOT_CONFIGURED')
  refused(t, await call('POST', '/billing/overage', {enabled: true}), 503, 'NOT_CONFIGURED')
  await ok(call('POST', '/billing/overage', {enabled: false}), 200)
  await ok(call('POST', '/billing/autotopup', {enabled: false}), 200)
})

test('a top-up charged by the worker and reported twice by webhook grants its credits once', async t => {
  const {payment} = billing
  payment.traffic.add({type: 'payment_intent.*', times: 2, action: 'during'})
  payment.traffic.add({type: 'payment_intent.*', times: 2, action: 'duplicate-with-new-id'})
  const org = await openTopping(billing, {threshold: 2000, monthlyCap: 500})
  await until(org.balance, ({purchased}) => purchased > 0)
  await payment.settle()
  t.like(await org.balance(), {purchased: 500})
  t.is(org.intents().length, 1)
  await org.spend(10)
  t.is((await org.attempts()).length, 1)
  payment.traffic.clear()
})

const untilApplied = async () => {
  await billing.payment.settle()
  await until(
    async () => (await billing.house.hot.query(`select from payment_events where status not in ('processed', 'ignored')`)).rowCount,
    count => count === 0,
  )
}

/** Switches overage. Retries while the worker holds the billing lock, which it acquires for every event. */
const switchOverage = (call: Call, enabled = true) =>
  until(
    () => call('POST', '/billing/overage', {enabled}),
    ({body}) => body.code !== 'CHANGE_IN_PROGRESS',
  )

test('overage is enabled once its price is on the subscription', async t => {
  const {house, payment, prices} = billing
  const {org, token} = await house.makeOrg()
  const call = house.as(token)
  const enable = (enabled = true) => switchOverage(call, enabled)
  const items = () => payment.all('subscription').find(({customer}) => customer === seeded.customer)!.items.data
  refused(t, await enable(), 409, 'NOT_SUBSCRIBED', /checkout/)
  const seeded = await seedSubscription(billing, {org, planKey: 'team', interval: 'year'})
  payment.faults.add({
    method: 'POST',
    path: '/v1/subscription_items',
    action: {type: 'status', status: 500, when: 'after', shouldRetry: false},
  })
  refused(t, await enable(), 503, 'PAYMENT_PROVIDER_UNAVAILABLE')
  t.deepEqual(await ok(enable(), 200), {overageEnabled: true})
  t.deepEqual(
    items().map(({price}: any) => price.id),
    [prices['team.year'], prices.overage],
  )
  t.deepEqual(await ok(enable(false), 200), {overageEnabled: false})
  t.is(items().length, 2, 'what was used is billed')
  t.deepEqual(await ok(enable(), 200), {overageEnabled: true})
  t.is(items().length, 2)
  const {changes} = await ok(call('GET', `/orgs/${org}/config/changes?limit=10`), 200)
  t.deepEqual(
    changes.filter(({subject}: any) => subject === 'overage').map(({page, after}: any) => [page, after.enabled]),
    [
      ['plan', true],
      ['plan', false],
      ['plan', true],
    ],
  )
  t.true((await ok(call('GET', '/entitlements/me'), 200)).overageEnabled)
  await move(house, org, 'free.2')
  t.false((await ok(call('GET', '/entitlements/me'), 200)).overageEnabled, 'a plan whose overage has no price lets none through')
})

test('overage cannot be enabled on a plan without an overage price', async t => {
  const {house, prices} = billing
  const {org, token} = await house.makeOrg()
  await seedSubscription(billing, {org, planKey: 'business'})
  const price = (id: string | null) =>
    ok(house.as(house.adminToken)('PATCH', '/billing/admin/plans/business.1/payment', {paymentPriceOverageId: id}), 200)
  await price(null)
  refused(t, await switchOverage(house.as(token)), 400, 'NOT_SOLD')
  await price(prices.overage)
  const Count = z.object({count: z.number()})
  t.is(await house.db.oneFirst(sql.type(Count)`select count(*)::int as count from orgs where id = ${org} and overage_enabled`), 0)
})
