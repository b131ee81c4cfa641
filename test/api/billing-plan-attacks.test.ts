import anyTest, {type TestFn} from 'ava'
import {holdBilling, releaseBilling} from '../../shared/billing/lease.ts'
import {settleChanges} from '../../shared/billing/plan-change-settle.ts'
import {sql} from '../../sql/database.ts'
import type {FaultAction, FaultSpec} from '../simulators/payment/faults.ts'
import {type Billing, openBilling, settleMoney} from '../support/billing.ts'
import {ok} from '../support/importing.ts'
import {callsOf, frozen, openPayer, openWaiting, type Payer, refused, type WaitingPayer, waitsAt} from '../support/plan-changing.ts'
import {until} from '../support/until.ts'

/** The tests run serially, because they share one payment provider. */
const test = anyTest.serial as TestFn
let billing: Billing
test.before(async t => {
  billing = await openBilling(t, {workers: [], webhook: false})
})
test.afterEach.always(() => billing.payment.faults.clear())

const up = {planKey: 'enterprise'}
const down = {planKey: 'team'}
const updates: Partial<FaultSpec> = {method: 'POST', path: '/v1/subscriptions/*'}
const phases: Partial<FaultSpec> = {method: 'POST', path: '/v1/subscription_schedules/*'}
const releases: Partial<FaultSpec> = {method: 'POST', path: '/v1/subscription_schedules/*/release'}
const reads: Partial<FaultSpec> = {method: 'GET', path: '/v1/subscriptions/*'}

const broken = (when: 'before' | 'after'): FaultAction => ({type: 'status', status: 500, when})
const no = (status: number): FaultAction => ({type: 'status', status, when: 'before'})
const spoil = (where: Partial<FaultSpec>, action: FaultAction, more: Partial<FaultSpec> = {}) =>
  billing.payment.faults.add({...where, ...more, action})
const states = async (payer: Payer) => (await payer.changes()).map(({state}) => state)
const periodEnd = (payer: Payer): number => payer.found().items.data[0].current_period_end

/** Settles the payer's changes as the worker does. */
const settle = async ({org}: Payer) => {
  const {tools} = billing.house
  const held = (await holdBilling(tools.db, org))!
  await settleChanges(tools, held)
  await releaseBilling(tools, held)
}

const quantityOf = ({items}: any, price: string) => items.find((one: any) => one.price === price)?.quantity

test('a subscription of quantity three keeps its quantity through upgrade and downgrade, at the price shown', async t => {
  const {stripe, prices} = billing
  const payer = await openPayer(billing, {planKey: 'business'})
  const item = payer.found().items.data[0].id
  await stripe.subscriptions.update(payer.id, {items: [{id: item, quantity: 3}], proration_behavior: 'none'})
  const shown = await ok(payer.preview(down), 200)
  t.is(shown.next.amount, 9000)
  const {next} = await ok(payer.ask({...down, previewToken: shown.previewToken}), 200)
  t.deepEqual(next, shown.next)
  t.is(quantityOf(payer.schedule()!.phases[1], prices['team.month']), 3)
  const more = await ok(payer.preview(up), 200)
  const before = payer.charged()
  await ok(payer.ask({...up, previewToken: more.previewToken}), 200)
  t.is(payer.charged() - before, more.due.amount)
  t.is(payer.found().items.data[0].quantity, 3)
  await settleMoney(t, billing)
})

const all: [WaitingPayer, object | 'take back'][] = [
  ...[down, {planKey: 'free'}, up, {planKey: 'business', interval: 'year'}].map((ask): [WaitingPayer, object] => ['N', ask]),
  ...[{...down, interval: 'year'}, {planKey: 'free'}, up, 'take back' as const].map((ask): [WaitingPayer, object | 'take back'] => [
    'D',
    ask,
  ]),
  ...[down, up, 'take back' as const].map((ask): [WaitingPayer, object | 'take back'] => ['C', ask]),
]

test('overage stays on through every plan change, whether enabled before or during a pending change', async t => {
  const {stripe, prices} = billing
  for (const [waiting, ask] of all) {
    const payer = await openWaiting(billing, waiting, {planKey: 'business'})
    const overage = await stripe.subscriptionItems.create({subscription: payer.id, price: prices.overage, proration_behavior: 'none'})
    await ok(ask === 'take back' ? payer.takeBack() : payer.ask(ask), 200)
    const what = `${waiting} ${JSON.stringify(ask)}`
    const still = payer.found().items.data.filter(({price}: any) => price.id === prices.overage)
    t.deepEqual([still.length, still[0]?.id, still[0]?.quantity], [1, overage.id, undefined], what)
    for (const phase of payer.schedule()?.phases ?? []) {
      t.true(
        phase.items.some(({price}: any) => price === prices.overage),
        what,
      )
      t.is(quantityOf(phase, prices.overage), undefined)
    }
  }
  await settleMoney(t, billing)
})

test('an upgrade paid while its schedule stays in place is not undone by the schedule', async t => {
  const {prices} = billing
  const payer = await openWaiting(billing, 'D', {planKey: 'business'})
  spoil(releases, no(400), {times: 2})
  await refused(t, payer.ask(up), 409, 'CHANGE_INCOMPLETE')
  t.is((await ok(payer.ask({...down, interval: 'year'}), 200)).change, 'at_renewal')
  t.is(payer.price(), prices['enterprise.month'])
  const [now, next] = payer.schedule()!.phases
  t.deepEqual(
    [now, next].map(({items}) => items[0].price),
    [prices['enterprise.month'], prices['team.year']],
  )
  await settleMoney(t, billing)
})

test('a downgrade of unknown outcome is accepted once its date has passed and the plan has changed', async t => {
  const {prices, payment} = billing
  const payer = await openPayer(billing, {planKey: 'business'})
  spoil(phases, broken('after'), {times: 2})
  // The first read is the change's own, and the second follows the new schedule. The fault affects the third to sixth.
  spoil(reads, broken('before'), {nth: 3, times: 4})
  await refused(t, payer.ask(down), 503, 'PAYMENT_PROVIDER_UNAVAILABLE')
  t.deepEqual(await states(payer), ['unknown'])
  payment.faults.clear()
  await payment.advanceTo(periodEnd(payer) + 2 * 3600)
  t.is(payer.price(), prices['team.month'])
  payment.clearJournal()
  await settle(payer)
  t.deepEqual([await states(payer), callsOf(billing)], [['accepted'], []])
  const end = periodEnd(payer)
  await payment.advanceTo(end + 2 * 3600)
  t.is(payer.schedule(), null, 'its schedule lets go')
  await settleMoney(t, billing)
})

for (const status of [429, 401, 403])
  test(`a ${status} does not settle the outcome of an earlier unanswered call`, async t => {
    const payer = await openPayer(billing, {planKey: 'business'})
    spoil(updates, broken('before'), {times: 1})
    spoil(updates, no(status), {times: 3})
    const {body} = await refused(t, payer.ask(up), 503, 'PAYMENT_PROVIDER_UNAVAILABLE')
    t.regex(body.error, /may have succeeded/)
    t.deepEqual(await states(payer), ['unknown'])
    await refused(t, payer.ask({planKey: 'free'}), 409, 'CHANGE_UNCONFIRMED')
    const {due} = await ok(payer.ask(up), 200)
    t.is(payer.charged(), 9000 + due.amount)
    t.is((await payer.changes()).length, 1)
    await settleMoney(t, billing)
  })

test('a staff change between two attempts is read before the second attempt', async t => {
  const {payment, prices} = billing
  const payer = await openPayer(billing, {planKey: 'team'})
  spoil(updates, broken('before'))
  // The fault affects the read after the call.
  spoil(reads, {type: 'hold', when: 'before'}, {nth: 2})
  payment.clearJournal()
  const asked = payer.ask(up)
  await until(
    () => payment.faults.held(),
    held => held === 1,
  )
  await payment.dashboard.changePrice(payer.id, prices['business.month'])
  payment.faults.release()
  await refused(t, asked, 503, 'PAYMENT_PROVIDER_UNAVAILABLE')
  t.deepEqual([callsOf(billing), await states(payer)], [['update'], ['unknown']])
  const charged = payer.charged()
  const {due} = await ok(payer.ask(up), 200)
  t.is(payer.charged() - charged, due.amount)
  t.deepEqual(await states(payer), ['refused', 'accepted'])
  await settleMoney(t, billing)
})

test('a partly applied change reports the current state, also when that state cannot be read', async t => {
  const payer = await openPayer(billing, {planKey: 'business'})
  spoil(phases, no(400))
  spoil(reads, broken('before'), {nth: 3, times: 2})
  const {body, text} = await refused(t, payer.ask(down), 409, 'CHANGE_INCOMPLETE')
  const end = new Date(periodEnd(payer) * 1000).toISOString()
  t.deepEqual(body.stands, {planKey: 'business', interval: 'month', pending: null, periodEndsAt: end, scheduled: true})
  t.notRegex(text, /stand-in|sub_|price_/)
  await settleMoney(t, billing)
})

test('a partly applied change that was undone can be requested again, and is charged at the current price', async t => {
  const {payment, prices} = billing
  const payer = await openWaiting(billing, 'D', {planKey: 'business'})
  spoil(releases, no(400))
  await refused(t, payer.ask(up), 409, 'CHANGE_INCOMPLETE')
  await payment.dashboard.changePrice(payer.id, prices['business.month'])
  const charged = payer.charged()
  const {due} = await ok(payer.ask(up), 200)
  t.is(payer.charged() - charged, due.amount)
  t.deepEqual(await states(payer), ['accepted', 'superseded', 'accepted'])
  t.is(payer.price(), prices['enterprise.month'])
  await settleMoney(t, billing)
})

test('a schedule made by staff is no pending change: cancelling leaves it, and a plan change replaces it', async t => {
  const {stripe, prices} = billing
  const payer = await openPayer(billing, {planKey: 'business'})
  const items = [{price: prices['business.month'], quantity: 1}]
  const {id, phases: now} = await stripe.subscriptionSchedules.create({from_subscription: payer.id})
  const running = {items, start_date: now[0]!.start_date, end_date: now[0]!.end_date}
  const later = {items, duration: {interval: 'month' as const, interval_count: 2}}
  await stripe.subscriptionSchedules.update(id, {phases: [running, later, {...later, metadata: {by: 'staff'}}]})
  await refused(t, payer.ask({planKey: 'business'}), 409, 'NO_CHANGE')
  const before = frozen(payer)
  await ok(payer.takeBack(), 200)
  t.is(frozen(payer), before)
  await ok(payer.ask(down), 200)
  t.deepEqual([waitsAt(payer), payer.schedule()!.phases.length, payer.schedule()!.id], ['D', 2, id])
  await ok(payer.ask(up), 200)
  t.deepEqual([waitsAt(payer), payer.schedule(), payer.price()], ['N', null, prices['enterprise.month']])
  await settleMoney(t, billing)
})

test('a downgrade to a price no longer sold can be cancelled', async t => {
  const {house, payment, prices, stripe} = billing
  const payer = await openWaiting(billing, 'D', {planKey: 'business'})
  const product = payment.find(prices['team.month'])!.product
  const other = await stripe.prices.create({product, currency: 'eur', unit_amount: 1, recurring: {interval: 'month'}})
  const patch = (paymentPriceMonthlyId: string) =>
    ok(house.as(house.adminToken)('PATCH', '/billing/admin/plans/team.1/payment', {paymentPriceMonthlyId}), 200)
  await patch(other.id)
  await ok(payer.takeBack(), 200)
  t.is(payer.schedule(), null)
  await patch(prices['team.month'])
  await settleMoney(t, billing)
})

test('a trial at the provider changes plans for nothing and is charged once, for its last plan', async t => {
  const {stripe, payment, prices} = billing
  const payer = await openPayer(billing, {planKey: 'team'})
  await payment.dashboard.cancelNow(payer.id)
  const items = [{price: prices['business.month']}]
  const ends = payment.now() + 10 * 86_400
  const trial = await stripe.subscriptions.create({customer: payer.customer, items, trial_end: ends, metadata: {after_trial: 'true'}})
  const at = new Date(ends * 1000).toISOString()
  const charged = payer.charged()
  for (const [ask, effectiveAt] of [
    [() => payer.ask({planKey: 'free'}), at],
    [() => payer.takeBack(), null],
    [() => payer.ask({...down, interval: 'year'}), at],
    [() => payer.ask({planKey: 'free'}), at],
    [() => payer.ask(down), at],
    [() => payer.ask({...up, interval: 'year'}), null],
  ] as const) {
    const answer = await ok(ask(), 200)
    t.is(answer.due.amount, 0)
    if (effectiveAt !== null) t.is(answer.effectiveAt, effectiveAt)
  }
  const found = () => payment.find(trial.id)!
  t.like(found(), {status: 'trialing', trial_end: ends, schedule: null, cancel_at: null, metadata: {after_trial: 'true'}})
  t.is(payer.charged(), charged)
  await payment.advanceTo(ends + 2 * 3600)
  t.is(found().status, 'active')
  t.is(payer.charged() - charged, 490_000)
  await settleMoney(t, billing)
})

test('cancelling a pending change or the plan twice has the effect of once', async t => {
  const payer = await openWaiting(billing, 'D', {planKey: 'business'})
  for (const [ask, calls] of [
    [() => payer.takeBack(), ['release']],
    [() => payer.takeBack(), []],
    [() => payer.ask({planKey: 'free'}), ['update']],
    [() => payer.ask({planKey: 'free'}), []],
  ] as const) {
    billing.payment.clearJournal()
    await ok(ask(), 200)
    t.deepEqual(callsOf(billing), calls as unknown as string[])
  }
  await settleMoney(t, billing)
})

test('a new version of the current plan is no change; the next purchase uses it, the agreed price stays until then', async t => {
  const {house, stripe, prices} = billing
  const payer = await openPayer(billing, {planKey: 'team'})
  const patch = (plan: string, body: object) => ok(house.as(house.adminToken)('PATCH', `/billing/admin/plans/${plan}/payment`, body), 200)
  await insertVersion()
  const product = payer.found().items.data[0].price.product as string
  const month = await stripe.prices.create({product, currency: 'eur', unit_amount: 4000, recurring: {interval: 'month'}})
  const year = await stripe.prices.create({product, currency: 'eur', unit_amount: 40_000, recurring: {interval: 'year'}})
  await patch('team.2', {paymentPriceMonthlyId: month.id, paymentPriceAnnualId: year.id})
  await refused(t, payer.ask(down), 409, 'NO_CHANGE')
  t.is(payer.price(), prices['team.month'])
  await ok(payer.ask({planKey: 'free'}), 200)
  const {next} = await ok(payer.ask(down), 200)
  t.deepEqual([waitsAt(payer), payer.price(), next.amount], ['N', prices['team.month'], 3000])

  const shown = await ok(payer.preview({...down, interval: 'year'}), 200)
  await patch('team.2', {paymentPriceAnnualId: null})
  await refused(t, payer.ask({...down, interval: 'year', previewToken: shown.previewToken}), 400, 'NOT_SOLD')
  await patch('team.2', {paymentPriceAnnualId: prices['team.year']})
  await refused(t, payer.ask({...down, interval: 'year', previewToken: shown.previewToken}), 409, 'PREVIEW_STALE')
  await patch('team.2', {paymentPriceAnnualId: year.id})
  await ok(payer.ask({...down, interval: 'year', previewToken: shown.previewToken}), 200)
  t.is(payer.price(), year.id)
  t.is(payer.found().metadata.plan_version_id, 'team.2')
  await house.db.query(sql.unsafe`update plan_versions set sold = false where id = 'team.2'`)
  await settleMoney(t, billing)
})

const insertVersion = () =>
  billing.house.db.query(sql.unsafe`
    insert into plan_versions select (jsonb_populate_record(p, '{"id": "team.2", "version": 2}'::jsonb)).* from plan_versions p where id = 'team.1'`)
