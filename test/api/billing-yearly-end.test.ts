import anyTest, {type TestFn} from 'ava'
import {pino} from 'pino'
import {changePlan} from '../../shared/billing/plan-change.ts'
import {readFigures} from '../../sql/figures.ts'
import {findSubscription} from '../../sql/subscriptions.ts'
import {type Billing, openBilling, pass, settleMoney} from '../support/billing.ts'
import {ok} from '../support/importing.ts'
import {openPayer, type Payer, waitsAt} from '../support/plan-changing.ts'
import {until} from '../support/until.ts'

/**
 * The tests run serially, because they share one payment provider. A yearly plan with monthly overage has two period ends. The plan is paid up
 * to the later one.
 */
const test = anyTest.serial as TestFn
let billing: Billing
test.before(async t => {
  billing = await openBilling(t, {workers: ['billing', 'erasure']})
})
test.afterEach.always(() => billing.payment.faults.clear())
test.afterEach(t => settleMoney(t, billing))

const openYear = async () => {
  const payer = await openPayer(billing, {planKey: 'business', interval: 'year'})
  await addOverage(payer)
  const [plan, overage] = payer.found().items.data
  const end: number = plan.current_period_end
  return {...payer, end, endsAt: new Date(end * 1000).toISOString(), overageEnd: overage.current_period_end as number}
}

const addOverage = ({id}: Pick<Payer, 'id'>) =>
  billing.stripe.subscriptionItems.create({subscription: id, price: billing.prices.overage, proration_behavior: 'none'})

const read = ({org}: Pick<Payer, 'org'>) => findSubscription(billing.house.db, org)
const portalOf = async (customer: string) => {
  const {stripe} = billing
  const features = {subscription_cancel: {enabled: true, mode: 'at_period_end' as const}}
  const {id: configuration} = await stripe.billingPortal.configurations.create({features})
  return (await stripe.billingPortal.sessions.create({customer, configuration})).id
}

test('cancelling ends the subscription with the paid year, as previewed, and can be withdrawn', async t => {
  const payer = await openYear()
  t.true(payer.overageEnd < payer.end)
  const shown = await ok(payer.preview({planKey: 'free'}), 200)
  t.is(shown.effectiveAt, payer.endsAt)
  const done = await ok(payer.ask({planKey: 'free', previewToken: shown.previewToken}), 200)
  t.is(done.effectiveAt, payer.endsAt)
  t.is(payer.found().cancel_at, payer.end)
  t.is(
    (await until(
      () => read(payer),
      row => typeof row?.cancelsAt === 'string',
    ))!.cancelsAt,
    payer.endsAt,
  )
  t.is((await ok(payer.takeBack(), 200)).replaces.at, payer.endsAt)
  t.is(waitsAt(payer), 'N')
})

test('closing an org ends its subscription with the paid year', async t => {
  const {house} = billing
  const payer = await openYear()
  await ok(house.as(house.adminToken)('POST', `/staff/orgs/${payer.org}/close`, {reason: 'A test'}), 200)
  await until(payer.found, ({cancel_at}) => cancel_at !== null)
  t.is(payer.found().cancel_at, payer.end)
})

test('a cancellation at the portal or dashboard, dated to the month, is moved to the end of the year', async t => {
  const {payment} = billing
  const [atPortal, atDashboard, flaggedBefore] = [
    await openYear(),
    await openYear(),
    await openPayer(billing, {planKey: 'team', interval: 'year'}),
  ]
  await payment.actAtPortal(await portalOf(atPortal.customer), {do: 'cancel', subscription: atPortal.id})
  await payment.dashboard.cancelAtPeriodEnd(atDashboard.id)
  await payment.dashboard.cancelAtPeriodEnd(flaggedBefore.id)
  await addOverage(flaggedBefore)
  for (const payer of [atPortal, atDashboard, flaggedBefore]) {
    const end: number = payer.found().items.data[0].current_period_end
    await until(payer.found, ({cancel_at}) => cancel_at === end)
    t.is(
      (await until(
        () => read(payer),
        row => row?.cancelsAt === new Date(end * 1000).toISOString(),
      ))!.status,
      'active',
    )
  }
})

test('a cancellation date that is not the period end of any item was set by staff and is not moved', async t => {
  const {stripe} = billing
  const payer = await openYear()
  const date = payer.overageEnd + 40 * 86_400
  await stripe.subscriptions.update(payer.id, {cancel_at: date, proration_behavior: 'none'})
  await until(
    () => read(payer),
    row => row?.cancelsAt === new Date(date * 1000).toISOString(),
  )
  t.is(payer.found().cancel_at, date)
  t.is((await readFigures(billing.house.db)).find(({figure}) => figure === 'plans_ending_early')?.value, 1, 'the alert of it')
  await stripe.subscriptions.update(payer.id, {cancel_at: ''})
})

test('a cancellation that ends on another date than the preview showed is logged as an error', async t => {
  const {house, payment, stripe} = billing
  const payer = await openYear()
  const {org, person} = payer
  const lines: string[] = []
  const log = pino({level: 'error'}, {write: (line: string) => void lines.push(line)})
  await payment.settle()
  await until(
    () => readFigures(house.db),
    figures => !figures.some(({figure}) => figure === 'payment_events'),
  )
  payment.faults.add({
    method: 'POST',
    path: `/v1/subscriptions/${payer.id}`,
    action: {type: 'status', status: 500, when: 'after', shouldRetry: false},
  })
  const asked = changePlan({...house.tools, log}, {org, person, planKey: 'free', interval: 'month'})
  payment.faults.add({method: 'GET', path: `/v1/subscriptions/${payer.id}`, nth: 2, action: {type: 'hold', when: 'before'}})
  await until(
    async () => payment.faults.held(),
    held => held === 1,
  )
  const other = payer.end - 86_400
  await stripe.subscriptions.update(payer.id, {cancel_at: other, proration_behavior: 'none'})
  payment.faults.release()
  await asked
  const [line] = lines.map(one => JSON.parse(one))
  t.like(line, {expected: payer.endsAt, endsAt: new Date(other * 1000).toISOString()})
})

test('a yearly plan stays active a month after its cancellation and ends with the year', async t => {
  const payer = await openYear()
  await ok(payer.ask({planKey: 'free'}), 200)
  await pass(billing, 32)
  t.is(payer.found().status, 'active')
  t.like(
    await until(
      () => read(payer),
      row => row?.cancelsAt === payer.endsAt,
    ),
    {status: 'active', planVersionId: 'business.1'},
  )
  await pass(billing, 334)
  t.is(payer.found().status, 'canceled')
  t.is(payer.found().ended_at, payer.end)
  await until(
    () => read(payer),
    row => row?.status === 'canceled',
  )
})
