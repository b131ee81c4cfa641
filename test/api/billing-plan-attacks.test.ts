import anyTest, {type TestFn} from 'ava'
import {holdBilling, releaseBilling} from '../../shared/billing/lease.ts'
import {settleChanges} from '../../shared/billing/plan-change-settle.ts'
import {sql} from '../../sql/database.ts'
import {type Billing, openBilling, pass, settleMoney} from '../billing.ts'
import {ok} from '../importing.ts'
import {callsOf, frozen, openPayer, openWaiting, type Payer, refused, type Waiting, waitsAt} from '../plan-changing.ts'
import type {FaultAction, FaultSpec} from '../simulators/payment/faults.ts'
import {until} from '../until.ts'

/** What somebody would do who wants a plan unpaid, a charge made twice, other terms than were shown, or an org stuck. */
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

/** As the worker does it. */
const settle = async ({org}: Payer) => {
  const {tools} = billing.house
  const held = (await holdBilling(tools.db, org))!
  await settleChanges(tools, held)
  await releaseBilling(tools, held)
}

const quantityOf = ({items}: any, price: string) => items.find((one: any) => one.price === price)?.quantity

test('three of a plan stay three, up and down, and cost what was shown', async t => {
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

const all: [Waiting, object | 'take back'][] = [
  ...[down, {planKey: 'free'}, up, {planKey: 'business', interval: 'year'}].map((ask): [Waiting, object] => ['N', ask]),
  ...[{...down, interval: 'year'}, {planKey: 'free'}, up, 'take back' as const].map((ask): [Waiting, object | 'take back'] => ['D', ask]),
  ...[down, up, 'take back' as const].map((ask): [Waiting, object | 'take back'] => ['C', ask]),
]

test('rows beyond the plan go through every change, switched on before it or while something waits', async t => {
  const {stripe, prices} = billing
  for (const [waiting, ask] of all) {
    const payer = await openWaiting(billing, waiting, {planKey: 'business'})
    const overage = await stripe.subscriptionItems.create({subscription: payer.id, price: prices.overage, proration_behavior: 'none'})
    await ok(ask === 'take back' ? payer.takeBack() : payer.ask(ask), 200)
    const what = `${waiting} ${JSON.stringify(ask)}`
    const still = payer.found().items.data.filter(({price}: any) => price.id === prices.overage)
    t.deepEqual([still.length, still[0]?.id, still[0]?.quantity], [1, overage.id, undefined], what)
    for (const phase of payer.schedule()?.phases ?? []) {
      t.true(phase.items.some(({price}: any) => price === prices.overage), what)
      t.is(quantityOf(phase, prices.overage), undefined)
    }
  }
  await settleMoney(t, billing)
})

test('an upgrade that is paid for while its schedule stays is not undone by what is scheduled next', async t => {
  const {prices} = billing
  const payer = await openWaiting(billing, 'D', {planKey: 'business'})
  spoil(releases, no(400), {times: 2})
  await refused(t, payer.ask(up), 409, 'CHANGE_INCOMPLETE')
  t.is((await ok(payer.ask({...down, interval: 'year'}), 200)).change, 'at_renewal')
  t.is(payer.price(), prices['enterprise.month'])
  const [now, next] = payer.schedule()!.phases
  t.deepEqual([now, next].map(({items}) => items[0].price), [prices['enterprise.month'], prices['team.year']])
  await settleMoney(t, billing)
})

test('what was shown is agreed to, not what an older change of the same name was priced at', async t => {
  const payer = await openPayer(billing, {planKey: 'business'})
  spoil(updates, broken('before'), {times: 2})
  await refused(t, payer.ask(up), 503, 'PAYMENT_PROVIDER_UNAVAILABLE')
  await pass(billing, 0.5)
  await payer.signIn()
  const shown = await ok(payer.preview(up), 200)
  await refused(t, payer.ask({...up, previewToken: shown.previewToken}), 409, 'NO_CHANGE')
  t.deepEqual(await states(payer), ['accepted'], 'the first one was sent again, and is what it was')
  await settleMoney(t, billing)
})

test('the same token, sent again after nothing was heard, is the same change; once it is known to be done it is spent', async t => {
  const payer = await openPayer(billing, {planKey: 'business'})
  const {previewToken, due} = await ok(payer.preview(up), 200)
  spoil(updates, broken('before'), {times: 2})
  await refused(t, payer.ask({...up, previewToken}), 503, 'PAYMENT_PROVIDER_UNAVAILABLE')
  t.deepEqual((await ok(payer.ask({...up, previewToken}), 200)).due, due)
  const before = frozen(payer)
  await refused(t, payer.ask({...up, previewToken}), 409, 'NO_CHANGE')
  t.is(frozen(payer), before)
  t.is(payer.charged(), 9000 + due.amount)
  await settleMoney(t, billing)
})

test('an end at a date that staff have set does not move what comes before it', async t => {
  const {stripe} = billing
  const payer = await openPayer(billing, {planKey: 'business'})
  const [end, date] = [periodEnd(payer), periodEnd(payer) + 40 * 86_400]
  await stripe.subscriptions.update(payer.id, {cancel_at: date, proration_behavior: 'none'})
  const iso = (seconds: number) => new Date(seconds * 1000).toISOString()
  t.is((await ok(payer.preview({planKey: 'free'}), 200)).effectiveAt, iso(date))
  const shown = await ok(payer.preview(down), 200)
  t.like(shown, {effectiveAt: iso(end), replaces: {planKey: 'free', at: iso(date)}, next: {at: iso(end)}})
  const done = await ok(payer.ask({...down, previewToken: shown.previewToken}), 200)
  t.deepEqual([done.effectiveAt, done.next, waitsAt(payer)], [shown.effectiveAt, shown.next, 'D'])
  await settleMoney(t, billing)
})

test('a move down that nobody heard of until its day had come has come to its end', async t => {
  const {prices, payment} = billing
  const payer = await openPayer(billing, {planKey: 'business'})
  spoil(phases, broken('after'), {times: 2})
  // Past the change's own reading and the one after the schedule was made.
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
  test(`a ${status} says nothing of an earlier call that was not answered`, async t => {
    const payer = await openPayer(billing, {planKey: 'business'})
    spoil(updates, broken('before'), {times: 1})
    spoil(updates, no(status), {times: 3})
    const {body} = await refused(t, payer.ask(up), 503, 'PAYMENT_PROVIDER_UNAVAILABLE')
    t.regex(body.error, /may have gone through/)
    t.deepEqual(await states(payer), ['unknown'])
    await refused(t, payer.ask({planKey: 'free'}), 409, 'CHANGE_UNCONFIRMED')
    const {due} = await ok(payer.ask(up), 200)
    t.is(payer.charged(), 9000 + due.amount)
    t.is((await payer.changes()).length, 1)
    await settleMoney(t, billing)
  })

test('what staff change between two tries is seen before the second', async t => {
  const {payment, prices} = billing
  const payer = await openPayer(billing, {planKey: 'team'})
  spoil(updates, broken('before'))
  // The reading after it.
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

test('half a change says what stands, also where it cannot be read', async t => {
  const payer = await openPayer(billing, {planKey: 'business'})
  spoil(phases, no(400))
  spoil(reads, broken('before'), {nth: 3, times: 2})
  const {body, text} = await refused(t, payer.ask(down), 409, 'CHANGE_INCOMPLETE')
  const end = new Date(periodEnd(payer) * 1000).toISOString()
  t.deepEqual(body.stands, {planKey: 'business', interval: 'month', pending: null, periodEndsAt: end, scheduled: true})
  t.notRegex(text, /stand-in|sub_|price_/)
  await settleMoney(t, billing)
})

test('what somebody has undone after it was half done is not stuck: the same request begins it anew, and is charged by what it is', async t => {
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

test('a first payment that has not come is no plan yet, for whatever is asked', async t => {
  const {stripe, payment, prices} = billing
  const payer = await openPayer(billing, {planKey: 'team'})
  await payment.dashboard.cancelNow(payer.id)
  payment.setCard(payer.found().default_payment_method, 'card_declined')
  const items = [{price: prices['team.month']}]
  const first = await stripe.subscriptions.create({customer: payer.customer, items, payment_behavior: 'allow_incomplete'})
  t.is(first.status, 'incomplete')
  for (const ask of [() => payer.ask(up), () => payer.ask({planKey: 'free'}), () => payer.preview(up), () => payer.takeBack()]) {
    const {body} = await refused(t, ask(), 409, 'NOT_SUBSCRIBED')
    t.regex(body.error, /first payment/)
  }
  await settleMoney(t, billing)
})

test('a credit pays for an upgrade before the card does, as it was shown', async t => {
  const {stripe, payment} = billing
  const payer = await openPayer(billing, {planKey: 'business'})
  await stripe.customers.update(payer.customer, {balance: -1_000_000})
  payment.setCard(payer.found().default_payment_method, 'card_declined')
  const shown = await ok(payer.preview(up), 200)
  t.is(shown.due.amount, 0)
  const {due} = await ok(payer.ask({...up, previewToken: shown.previewToken}), 200)
  t.deepEqual([due, payer.charged()], [shown.due, 9000])
  await settleMoney(t, billing)
})

test('taken back twice, and asked to end twice, is once', async t => {
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

test('a newer version of one’s plan is no change; what is bought next is of the newest, and the price that was agreed is kept till then', async t => {
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
