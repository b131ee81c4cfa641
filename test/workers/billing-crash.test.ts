import anyTest, {type ExecutionContext, type TestFn} from 'ava'
import {holdBilling, keepLease, LeaseGone, releaseBilling} from '../../shared/billing/lease.ts'
import {readConfig} from '../../shared/config.ts'
import type {FaultPoint} from '../../shared/fault-point.ts'
import {findBillingAccount} from '../../sql/billing-accounts.ts'
import {findSubscription} from '../../sql/subscriptions.ts'
import {type Billing, openBilling, sessionOf, settleMoney} from '../support/billing.ts'
import {ok} from '../support/importing.ts'
import {statusOf} from '../support/payment-webhook.ts'
import {until} from '../support/until.ts'
import {endWorker, startWorker, untilExit} from '../support/worker-process.ts'

/** The tests run serially, because they share one deployment. They move no clock, so the measured times are real. */
const test = anyTest.serial as TestFn
let billing: Billing
test.before(async t => {
  billing = await openBilling(t, {workers: []})
})
test.afterEach(t => settleMoney(t, billing))

const work = (t: ExecutionContext<any>, environment: Record<string, string> = {}) => {
  const {config} = billing.house
  const {PAYMENT_API_KEY, PAYMENT_API_URL, PAYMENT_WEBHOOK_SECRETS} = config
  const payment = {
    PAYMENT_API_KEY: PAYMENT_API_KEY!,
    PAYMENT_API_URL: PAYMENT_API_URL!,
    PAYMENT_WEBHOOK_SECRETS: PAYMENT_WEBHOOK_SECRETS.join(),
  }
  const {LEASE_SECONDS} = readConfig({})
  const worker = startWorker(config, {...payment, LEASE_SECONDS: String(LEASE_SECONDS), ...environment}, ['billing'])
  t.teardown(() => endWorker(worker))
  return worker
}

const withinMs = 60_000

/**
 * Buys something and lets a worker die while it applies the purchase. Returns the ms from the death until a second worker has made `isThere`
 * true.
 */
const timeSuccessor = async (t: ExecutionContext<any>, body: object, {org, token}: {org: string; token: string}, isThere: Check) => {
  const point: FaultPoint = 'in_event'
  const dying = work(t, {FAULT_POINT: `${point}:1:SIGKILL`})
  const {url} = await ok(billing.house.as(token)('POST', `/orgs/${org}/billing/checkout`, body), 200)
  await billing.payment.payCheckout(sessionOf(url))
  await untilExit(dying)
  const diedAt = performance.now()
  t.is(dying.signalCode, 'SIGKILL')
  t.false(await isThere(), 'the worker died before it committed')
  t.true((await findBillingAccount(billing.house.db, org))!.isHeld, 'the dead worker still holds the billing of the org')
  work(t)
  await until(isThere, Boolean)
  return performance.now() - diedAt
}
type Check = () => Promise<boolean>

test('a paid plan whose worker was killed while applying it is applied by a successor within a minute', async t => {
  t.timeout(300_000)
  const {org, token} = await billing.house.makeOrg()
  // Any event of the purchase may write the plan, so the test waits for the committed row.
  const isThere = async () => (await findSubscription(billing.house.db, org))?.status === 'active'
  const ms = await timeSuccessor(t, {kind: 'plan', planKey: 'team'}, {org, token}, isThere)
  t.log(`${Math.round(ms)} ms`)
  t.true(ms < withinMs, `${ms} ms`)
})

test('an event whose worker died before starting on it is applied within a minute', async t => {
  t.timeout(300_000)
  const {house, payment} = billing
  const {org, token} = await house.makeOrg()
  const {url} = await ok(house.as(token)('POST', `/orgs/${org}/billing/checkout`, {kind: 'credit_pack', packKey: 'credits_500'}), 200)
  await payment.payCheckout(sessionOf(url))
  // Simulates a worker that died holding the job: the job is active and the event is still as received.
  const {rows} = await house.hot.query(`
    update pgboss.job set state = 'active', started_on = now(), heartbeat_on = now()
    where name = 'payment.event' and state = 'created' returning data ->> 'event' as event`)
  t.true(rows.length > 0)
  t.is(await statusOf(house, rows[0].event), 'received')
  const since = performance.now()
  work(t)
  const balance = async () => (await ok(house.as(token)('GET', '/entitlements/me'), 200)).credits.purchased
  await until(balance, credits => credits === 500)
  const ms = performance.now() - since
  t.log(`${Math.round(ms)} ms`)
  t.true(ms < withinMs, `${ms} ms`)
})

test('a billing lock is renewed while its process works past the lease, and is lost for good once it expired', async t => {
  t.timeout(240_000)
  const {house} = billing
  const {org} = await house.makeOrg()
  const held = (await holdBilling(house.db, org))!
  const until0 = await heldUntil(org)
  await until(
    () => heldUntil(org),
    at => at > until0,
    20,
  )
  t.is(await holdBilling(house.db, org), null)
  await house.ahead('31 seconds')
  await t.throwsAsync(keepLease(house.db, held), {instanceOf: LeaseGone})
  const next = (await holdBilling(house.db, org))!
  t.truthy(next)
  await releaseBilling(house.tools, held)
  t.is((await findBillingAccount(house.db, org))!.heldBy, next.holder)
  await releaseBilling(house.tools, next)
  t.false((await findBillingAccount(house.db, org))!.isHeld)
})

const heldUntil = async (org: string): Promise<Date> =>
  new Date((await billing.house.hot.query('select held_until as at from billing_accounts where org_id = $1', [org])).rows[0].at)
