import anyTest, {type ExecutionContext, type TestFn} from 'ava'
import {openSession} from '../../shared/accounts/session.ts'
import {reconcileOrg} from '../../workers/billing/reconcile.ts'
import type {WorkerDeps} from '../../workers/deps.ts'
import {type Billing, openBilling, pass, settleMoney} from '../support/billing.ts'
import {ok} from '../support/importing.ts'
import {callsOf, frozen, openPayer, openWaiting, type Payer, refused, waitsAt} from '../support/plan-changing.ts'

/** The tests run serially, because they share one payment provider. */
const test = anyTest.serial as TestFn
let billing: Billing
test.before(async t => {
  billing = await openBilling(t, {workers: [], webhook: false})
})
test.afterEach.always(() => billing.payment.faults.clear())

const up = {planKey: 'enterprise'}
const look = (payer: Payer, body: object = up) => ok(payer.preview(body), 200)

/** Asserts that the request is refused as stale, and that no call, charge or row was made. */
const stale = async (t: ExecutionContext, payer: Payer, body: object) => {
  const [before, charged, changes] = [frozen(payer), payer.charged(), (await payer.changes()).length]
  billing.payment.clearJournal()
  await refused(t, payer.ask(body), 409, 'PREVIEW_STALE')
  t.deepEqual([frozen(payer), payer.charged(), (await payer.changes()).length], [before, charged, changes])
  t.deepEqual(callsOf(billing), [])
}

for (const [planKey, interval] of [
  ['enterprise', 'month'],
  ['business', 'year'],
  ['enterprise', 'year'],
] as const) {
  test(`the previewed cost of ${planKey} by the ${interval} is what is charged, also days into the period`, async t => {
    const payer = await openPayer(billing, {planKey: 'business'})
    await pass(billing, 11)
    await payer.signIn()
    const {stripe} = billing
    const coupon = await stripe.coupons.create({percent_off: 20, duration: 'forever'})
    await billing.payment.dashboard.addCoupon(payer.id, coupon.id)
    const before = frozen(payer)
    const shown = await look(payer, {planKey, interval})
    t.is(frozen(payer), before)
    t.is(shown.change, 'now')
    t.true(shown.due.amount > 0)
    const sum = shown.lines.reduce((total: number, {amount}: {amount: number}) => total + amount, 0)
    t.true(sum > shown.due.amount, 'the coupon')
    const charged = payer.charged()
    const done = await ok(payer.ask({planKey, interval, previewToken: shown.previewToken}), 200)
    t.is(payer.charged() - charged, shown.due.amount)
    t.deepEqual(done.due, shown.due)
    t.deepEqual([done.effectiveAt, done.next], [shown.effectiveAt, shown.next])
    await settleMoney(t, billing)
  })
}

for (const waiting of ['D', 'C'] as const)
  test(`an upgrade costs what its preview shows while ${waiting} is pending, and names what it replaces`, async t => {
    const payer = await openWaiting(billing, waiting, {planKey: 'business'})
    const shown = await look(payer)
    t.is(shown.replaces.planKey, waiting === 'D' ? 'team' : 'free')
    const done = await ok(payer.ask({...up, previewToken: shown.previewToken}), 200)
    t.is(payer.charged() - 9000, shown.due.amount)
    t.deepEqual([done.due, done.replaces], [shown.due, shown.replaces])
    await settleMoney(t, billing)
  })

test('the preview of a change at renewal shows its date and next charge, and nothing due now', async t => {
  const payer = await openPayer(billing, {planKey: 'business'})
  const at = new Date(payer.found().items.data[0].current_period_end * 1000).toISOString()
  const due = {amount: 0, currency: 'eur'}
  const down = await look(payer, {planKey: 'team', interval: 'year'})
  t.like(down, {change: 'at_renewal', effectiveAt: at, replaces: null, due, lines: [], next: {amount: 30_000, currency: 'eur', at}})
  const done = await ok(payer.ask({planKey: 'team', interval: 'year', previewToken: down.previewToken}), 200)
  t.deepEqual([done.effectiveAt, done.next], [at, down.next])
  const end = await look(payer, {planKey: 'free'})
  t.like(end, {change: 'cancel', effectiveAt: at, due, next: null})
  t.is(end.replaces.planKey, 'team')
  const back = await look(payer, {planKey: 'business'})
  t.like(back, {change: 'now', due, next: {amount: 9000, currency: 'eur', at}})
  await ok(payer.ask({planKey: 'business', previewToken: back.previewToken}), 200)
  await settleMoney(t, billing)
})

test('a preview token is valid for half an hour to the second', async t => {
  const payer = await openPayer(billing, {planKey: 'business'})
  await pass(billing, 1)
  await payer.signIn()
  const shown = await look(payer)
  const lives = Date.parse(shown.expiresAt) - Date.parse(shown.effectiveAt)
  t.is(lives, 1_800_000)
  const {house, payment} = billing
  const from = payment.now() * 1000 - Date.now()
  const ahead = (seconds: number) => house.ahead(`${Math.round(from / 1000) + seconds} seconds`)
  await ahead(1801)
  await stale(t, payer, {...up, previewToken: shown.previewToken})
  // A preview is valid for half an hour, of which the earlier requests used a part.
  await ahead(1790)
  await ok(payer.ask({...up, previewToken: shown.previewToken}), 200)
  await ahead(0)
  await settleMoney(t, billing)
})

test('a preview token that is altered, or of another person, org or plan, is stale', async t => {
  const payer = await openPayer(billing, {planKey: 'team'})
  const other = await openPayer(billing, {planKey: 'team'})
  const {previewToken} = await look(payer)
  const [head, body, signature] = previewToken.split('.')
  const claims = JSON.parse(Buffer.from(body, 'base64url').toString())
  const cheaper = Buffer.from(JSON.stringify({...claims, due: 1})).toString('base64url')
  for (const token of ['', 'x', `${head}.${cheaper}.${signature}`, `${head}.${body}.`, previewToken.slice(0, -2)])
    await stale(t, payer, {...up, previewToken: token})
  await stale(t, other, {...up, previewToken})
  await stale(t, payer, {planKey: 'business', previewToken})
  await stale(t, payer, {...up, interval: 'year', previewToken})

  const {house} = billing
  const {person} = await house.makeOrg({org: payer.org, role: 'admin'})
  const session = await openSession(house.db, house.config, {person, org: payer.org, role: 'admin'})
  const asked = house.as(session)('POST', `/orgs/${payer.org}/billing/plan`, {...up, previewToken})
  await refused(t, asked, 409, 'PREVIEW_STALE')
  t.is((await house.as(previewToken)('GET', '/auth/me')).status, 401, 'it is no session')
  await refused(t, payer.ask({...up, previewToken: payer.token}), 409, 'PREVIEW_STALE')
  await ok(payer.ask({...up, previewToken}), 200)
  await settleMoney(t, billing)
})

test('a change by staff, coupon, portal, credit or renewal makes a preview stale', async t => {
  const {stripe, payment, prices} = billing
  const edits: [string, (payer: Payer) => Promise<unknown>][] = [
    ['a coupon', async ({id}) => payment.dashboard.addCoupon(id, (await stripe.coupons.create({percent_off: 5, duration: 'once'})).id)],
    ['a price', ({id}) => payment.dashboard.changePrice(id, prices['team.month'])],
    ['an end', ({id}) => payment.dashboard.cancelAtPeriodEnd(id)],
    ['a credit', ({customer}) => stripe.customers.update(customer, {balance: -500})],
    ['a pause', ({id}) => payment.dashboard.pause(id)],
  ]
  for (const [what, edit] of edits) {
    const payer = await openPayer(billing, {planKey: 'business'})
    const {previewToken} = await look(payer)
    await edit(payer)
    const {status, body} = await payer.ask({...up, previewToken})
    t.is(body.code, what === 'a pause' ? 'STATUS_SUSPENDED' : 'PREVIEW_STALE', `${what}: ${status}`)
  }
  await settleMoney(t, billing)
})

test('a preview is stale after a renewal and after another change', async t => {
  const {payment} = billing
  const payer = await openPayer(billing, {planKey: 'business'})
  const end = payer.found().items.data[0].current_period_end
  await payment.advanceTo(end - 60)
  await pass(billing, 0)
  await payer.signIn()
  const before = await look(payer)
  await payment.advanceTo(end + 60)
  await stale(t, payer, {...up, previewToken: before.previewToken})
  const again = await look(payer)
  await ok(payer.ask({planKey: 'team'}), 200)
  await stale(t, payer, {...up, previewToken: again.previewToken})
  await settleMoney(t, billing)
})

test('a preview shows an error and no amount while the provider is down', async t => {
  const {payment} = billing
  const payer = await openWaiting(billing, 'N', {planKey: 'business'})
  payment.faults.add({path: '/v1/invoices/create_preview', times: 9, action: {type: 'status', status: 500}})
  const {body} = await refused(t, payer.preview(up), 503, 'PAYMENT_PROVIDER_UNAVAILABLE')
  t.is(body.due, undefined)
  await settleMoney(t, billing)
})

/** A fault that fails both attempts of one request. */
const lost = {method: 'POST', path: '/v1/subscriptions/*', times: 2, action: {type: 'status', status: 500, when: 'before'}} as const
const states = async (payer: Payer) => (await payer.changes()).map(({state}) => state)

test('a change is charged as its own preview showed, not at the price of an older identical change', async t => {
  const payer = await openPayer(billing, {planKey: 'business'})
  const first = await ok(payer.preview(up), 200)
  await pass(billing, 1 / 72)
  const second = await ok(payer.preview(up), 200)
  t.true(second.due.amount < first.due.amount)
  billing.payment.faults.add(lost)
  await refused(t, payer.ask({...up, previewToken: first.previewToken}), 503, 'PAYMENT_PROVIDER_UNAVAILABLE')
  const {body} = await refused(t, payer.preview(up), 409, 'CHANGE_UNCONFIRMED')
  t.is(body.due, undefined)
  await refused(t, payer.ask({...up, previewToken: second.previewToken}), 409, 'NO_CHANGE')
  t.deepEqual(await states(payer), ['accepted'], 'the first one was sent again, and is what it was')
  t.is(payer.charged(), 9000 + first.due.amount)
  await settleMoney(t, billing)
})

test('a preview token may be sent again until its change is known to be applied, then it is stale', async t => {
  const payer = await openPayer(billing, {planKey: 'business'})
  const {previewToken, due} = await ok(payer.preview(up), 200)
  billing.payment.faults.add(lost)
  await refused(t, payer.ask({...up, previewToken}), 503, 'PAYMENT_PROVIDER_UNAVAILABLE')
  t.deepEqual((await ok(payer.ask({...up, previewToken}), 200)).due, due)
  const before = frozen(payer)
  await refused(t, payer.ask({...up, previewToken}), 409, 'NO_CHANGE')
  t.is(frozen(payer), before)
  t.is(payer.charged(), 9000 + due.amount)
  await settleMoney(t, billing)
})

test('a cancellation date set by staff does not move an earlier change', async t => {
  const {stripe} = billing
  const payer = await openPayer(billing, {planKey: 'business'})
  const end: number = payer.found().items.data[0].current_period_end
  const date = end + 40 * 86_400
  await stripe.subscriptions.update(payer.id, {cancel_at: date, proration_behavior: 'none'})
  const iso = (seconds: number) => new Date(seconds * 1000).toISOString()
  t.is((await ok(payer.preview({planKey: 'free'}), 200)).effectiveAt, iso(date))
  const shown = await ok(payer.preview({planKey: 'team'}), 200)
  t.like(shown, {effectiveAt: iso(end), replaces: {planKey: 'free', at: iso(date)}, next: {at: iso(end)}})
  const done = await ok(payer.ask({planKey: 'team', previewToken: shown.previewToken}), 200)
  t.deepEqual([done.effectiveAt, done.next, waitsAt(payer)], [shown.effectiveAt, shown.next, 'D'])
  await settleMoney(t, billing)
})

test('an API token can preview and cancel a pending change; the change itself needs a session', async t => {
  const payer = await openWaiting(billing, 'D', {planKey: 'business'})
  const {secret} = await ok(payer.call('POST', `/orgs/${payer.org}/tokens`, {name: 'ci'}), 201)
  const call = billing.house.as(secret)
  const path = `/orgs/${payer.org}/billing/plan`
  const {previewToken} = await ok(call('POST', `${path}/preview`, {planKey: 'enterprise'}), 200)
  await refused(t, call('POST', path, {planKey: 'enterprise', previewToken}), 403, 'SESSION_REQUIRED')
  t.is(waitsAt(payer), 'D')
  await ok(call('DELETE', `${path}/pending`), 200)
  t.is(waitsAt(payer), 'N')
})

test('in a trial bought ahead nothing is due now, and the first charge is at the end of the trial', async t => {
  const {stripe, payment, prices} = billing
  const payer = await openPayer(billing, {planKey: 'team'})
  await payment.dashboard.cancelNow(payer.id)
  const ends = payment.now() + 10 * 86_400
  const metadata = {plan_version_id: 'team.1', plan_key: 'team', interval: 'month', after_trial: 'true'}
  const {id} = await stripe.subscriptions.create({
    customer: payer.customer,
    items: [{price: prices['team.month']}],
    trial_end: ends,
    metadata,
  })
  const at = new Date(ends * 1000).toISOString()
  const charged = payer.charged()
  for (const [ask, amount] of [
    [{planKey: 'business'}, 9000],
    [{planKey: 'business', interval: 'year'}, 90_000],
  ] as const) {
    const shown = await look(payer, ask)
    t.deepEqual([shown.due, shown.lines], [{amount: 0, currency: 'eur'}, []])
    t.deepEqual([shown.effectiveAt, shown.next], [at, {amount, currency: 'eur', at}])
    const done = await ok(payer.ask({...ask, previewToken: shown.previewToken}), 200)
    t.deepEqual([done.change, done.due, done.effectiveAt, done.next], [shown.change, shown.due, shown.effectiveAt, shown.next])
    t.is(payer.charged(), charged)
  }
  await payment.advanceTo(ends + 2 * 3600)
  t.is(payment.find(id)!.status, 'active')
  t.is(payer.charged() - charged, 90_000)
  await settleMoney(t, billing)
})

test("cancelling a pending change keeps the subscription's price, even if the plan's price changed or is not for sale", async t => {
  const {house, stripe, payment, prices} = billing
  const {product} = payment.find(prices['business.month'])!
  const dearer = await stripe.prices.create({product, currency: 'eur', unit_amount: 9900, recurring: {interval: 'month'}})
  const sellAt = (paymentPriceMonthlyId: string | null) =>
    ok(house.as(house.adminToken)('PATCH', '/billing/admin/plans/business.1/payment', {paymentPriceMonthlyId}), 200)
  t.teardown(() => sellAt(prices['business.month']))
  const [other, payer] = [await openPayer(billing, {planKey: 'team'}), await openPayer(billing, {planKey: 'business'})]
  await reconcileOrg({...house.tools, drain: new AbortController().signal} as unknown as WorkerDeps, payer.org)
  for (const price of [dearer.id, null]) {
    await ok(payer.ask({planKey: price ? 'team' : 'free'}), 200)
    await sellAt(price)
    const shown = await look(payer, {planKey: 'business'})
    t.like(shown, {change: 'now', due: {amount: 0}, next: {amount: 9000}})
    const done = await ok(payer.ask({planKey: 'business', previewToken: shown.previewToken}), 200)
    t.deepEqual([done.next, waitsAt(payer), payer.price()], [shown.next, 'N', prices['business.month']])
  }
  for (const ask of [other.ask, other.preview]) await refused(t, ask({planKey: 'business'}), 400, 'NOT_SOLD')
  await settleMoney(t, billing)
})
