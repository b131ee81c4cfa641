import anyTest, {type TestFn} from 'ava'
import {holdCurrent} from '../../../shared/billing/credits/balance.ts'
import {readPlanStatus} from '../../../shared/billing/entitlements/plan-status.ts'
import {holdBilling, releaseBilling} from '../../../shared/billing/lease.ts'
import {findLiveSubscription, readSubscription} from '../../../shared/billing/subscription.ts'
import {syncSubscription} from '../../../shared/billing/sync-subscription.ts'
import {findSubscription} from '../../../sql/subscriptions.ts'
import {findPeriod} from '../../../sql/usage.ts'
import {type Billing, openBilling, pass, scheduleNextPlan, seedSubscription} from '../../support/billing.ts'

/** The tests run serially, because one of them moves the clock. */
const test = anyTest.serial as TestFn
let billing: Billing
test.before(async t => {
  billing = await openBilling(t, {workers: [], webhook: false})
})

const project = async (org: string, id: string) => {
  const {house} = billing
  const read = await readSubscription(house.tools, id)
  const held = (await holdBilling(house.db, org))!
  await house.db.transaction(tx => syncSubscription(tx, held, read, {org, via: 'payment'}))
  await releaseBilling(house.tools, held)
  return readPlanStatus(house.db, org)
}

test('an active subscription sets the plan from the provider’s period on, and a cancelled one removes it', async t => {
  const {house, stripe} = billing
  const {org, token} = await house.makeOrg()
  const made = await seedSubscription(billing, {org, planKey: 'team'})
  const standing = await project(org, made.id)
  t.is(standing.plan.key, 'team')
  t.is(standing.status, 'active')
  t.is(standing.window.startsAt, new Date(made.items.data[0]!.current_period_start * 1000).toISOString())
  t.like(await findSubscription(house.db, org), {id: made.id, status: 'active', planVersionId: 'team.1', interval: 'month', pending: null})
  await project(org, made.id)
  t.like(await findLiveSubscription(house.tools, {customer: made.customer as string}), {id: made.id})

  const place = () => house.as(house.adminToken)('POST', `/staff/orgs/${org}/plan`, {planVersionId: 'business.1', reason: 'A favour'})
  t.is((await place()).body.code, 'ALREADY_SUBSCRIBED', 'the next reading would take it away again')

  await stripe.subscriptions.cancel(made.id)
  t.is((await project(org, made.id)).plan.key, 'free')
  t.is(await findLiveSubscription(house.tools, {customer: made.customer as string}), null)
  const {body} = await house.as(token)('GET', `/orgs/${org}/config/changes`)
  t.is((await place()).status, 200)
  t.deepEqual(
    body.changes.map((change: {subject: string; via: string}) => [change.subject, change.via]),
    [
      ['plan.changed', 'payment'],
      ['plan.changed', 'payment'],
    ],
  )
})

test('a move up at the renewal gives the rows and credits of the whole period, even if it is read late', async t => {
  const {house, prices} = billing
  const {org} = await house.makeOrg()
  const {id} = await seedSubscription(billing, {org, planKey: 'team'})
  await project(org, id)
  await scheduleNextPlan(billing, {id, price: prices['business.month']})
  await pass(billing, 40)
  const included = async () => (await house.db.transaction(tx => holdCurrent(tx, org))).balance.included
  t.is(await included(), 500)
  const {plan, window} = await project(org, id)
  t.is(plan.key, 'business')
  t.is(await included(), 2500)
  t.like(await findPeriod(house.db, {org, startsAt: window.startsAt}), {rowsLimit: 1_000_000})
})
