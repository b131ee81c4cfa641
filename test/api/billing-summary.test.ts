import anyTest, {type TestFn} from 'ava'
import {settleCheckout} from '../../shared/billing/settle-checkout.ts'
import {announce} from '../../shared/notifications/announce.ts'
import {sql} from '../../sql/database.ts'
import {type Billing, openBilling, settleMoney} from '../support/billing.ts'
import {newBuyer} from '../support/checkouts.ts'
import {ok} from '../support/importing.ts'

/** The tests run serially, because they share one payment provider. */
const test = anyTest.serial as TestFn
let billing: Billing
test.before(async t => {
  billing = await openBilling(t, {workers: [], webhook: false})
})

test('the summary of an org without purchases lists what is sold', async t => {
  const {house, payment} = billing
  const {org, me} = await newBuyer(billing)
  const operator = house.as((await house.makeOrg({org, role: 'operator'})).token)
  await ok(house.as(house.adminToken)('PATCH', '/billing/admin/packs/credits_10000/payment', {paymentPriceId: null}), 200)
  await ok(house.as(house.adminToken)('PATCH', '/billing/admin/plans/enterprise.1/payment', {paymentPriceMonthlyId: null}), 200)
  payment.clearJournal()
  const summary = await ok(operator('GET', '/billing/summary'), 200)
  t.is(payment.journal().length, 0, 'the provider is not asked')
  const {plan, status, period, credits, usage} = await me()
  t.like(summary, {plan, status, period, balance: credits, usage})
  t.like(summary, {
    interval: null,
    cancelsAt: null,
    pendingChange: null,
    trial: null,
    pastDue: null,
    subscription: null,
    customer: false,
    checkoutOpen: false,
    configured: true,
    sandbox: false,
    notices: [],
    autotopup: {enabled: false, packKey: null, threshold: null, monthlyCap: null, stopped: null, underWay: null},
    overage: {enabled: false, available: false},
  })
  t.deepEqual(
    summary.plans.map(({key, intervals}: any) => [key, intervals]),
    [
      ['team', ['month', 'year']],
      ['business', ['month', 'year']],
      ['enterprise', ['year']],
    ],
  )
  t.deepEqual(
    summary.plans.map(({prices}: any) => prices),
    [
      {currency: 'eur', month: 3000, year: 30_000, row: '1', taxBehavior: null},
      {currency: 'eur', month: 9000, year: 90_000, row: '1', taxBehavior: null},
      {currency: 'eur', month: null, year: 490_000, row: '1', taxBehavior: null},
    ],
  )
  t.deepEqual(summary.packs[0].price, {amount: 1000, currency: 'eur', taxBehavior: null})
  const unsold = {key: 'credits_10000', name: '10,000 AI credits', credits: 10_000, purchasable: false, price: null}
  t.deepEqual(summary.packs.at(-1), unsold)
  t.true(summary.packs.slice(0, 2).every(({purchasable}: any) => purchasable))
  t.notRegex(JSON.stringify(summary), /price_|prod_|cus_|sub_/, 'no ids of the provider’s')
})

test('the summary shows the plan, the credits and the open notices', async t => {
  const {house, payment} = billing
  const {org, script, openPlan, openPack} = await newBuyer(billing)
  const read = () => ok(script('GET', '/billing/summary'), 200)
  const page = await openPlan({planKey: 'business', interval: 'year'})
  t.like(await read(), {plan: {key: 'free'}, customer: true, checkoutOpen: true, subscription: null})
  const pack = await openPack({quantity: 2})
  for (const id of [page, pack]) {
    await payment.payCheckout(id)
    await settleCheckout(house.tools, null, id)
  }
  await house.db.transaction(async tx => {
    for (const [kind, about] of [
      ['billing.payment_failed', {n: 1}],
      ['run.ended', {}],
      ['usage.rows', {percent: 80}],
    ] as const)
      await announce(tx, {org, kind, schedule: null, about})
  })
  await house.db.query(sql.unsafe`
    insert into notices (id, org_id, kind, about, created_at) values ('ntc_old', ${org}, 'usage.rows', '{}', lading_now() - interval '31 days')`)
  const summary = await read()
  t.like(summary, {
    plan: {key: 'business'},
    status: 'active',
    interval: 'year',
    cancelsAt: null,
    pendingChange: null,
    checkoutOpen: false,
    balance: {purchased: 1000, included: 2500, available: 3500},
    subscription: {status: 'active', planVersionId: 'business.1', trialEndsAt: null},
    overage: {enabled: false, available: true},
  })
  const {start, end} = summary.subscription.period
  t.true(Date.parse(end) - Date.parse(start) > 364 * 86_400_000)
  t.deepEqual(
    summary.notices.map(({kind}: any) => kind),
    ['usage.rows', 'billing.payment_failed', 'billing.plan_changed'],
  )
  t.like(summary.notices[0], {about: {percent: 80}})
  t.regex(summary.notices[0].at, /Z$/)
  const other = await newBuyer(billing)
  t.deepEqual((await ok(other.as('GET', '/billing/summary'), 200)).notices, [], 'each org its own')
  await settleMoney(t, billing)
})

test('the summary shows pending changes, cancellations and top-up settings', async t => {
  const {house, payment} = billing
  const {org, script, openPlan} = await newBuyer(billing)
  const read = () => ok(script('GET', '/billing/summary'), 200)
  const page = await openPlan()
  await payment.payCheckout(page)
  await settleCheckout(house.tools, null, page)
  await payment.dashboard.cancelAtPeriodEnd(payment.find(page)!.subscription)
  await settleCheckout(house.tools, null, page)
  const {cancelsAt, pendingChange, subscription} = await read()
  t.is(cancelsAt, subscription.period.end)
  t.like(pendingChange, {planKey: 'free', at: cancelsAt})
  await payment.dashboard.cancelNow(payment.find(page)!.subscription)
  await settleCheckout(house.tools, null, page)
  t.like(await read(), {plan: {key: 'free'}, cancelsAt: null, pendingChange: null, subscription: null, customer: true})
  await house.db.query(sql.unsafe`
    update billing_accounts set topup_enabled = true, topup_pack = 'credits_500', topup_threshold = 50, topup_monthly_cap = 1000 where org_id = ${org}`)
  t.like((await read()).autotopup, {enabled: true, packKey: 'credits_500', threshold: 50, monthlyCap: 1000, stopped: null})
})
