import anyTest, {type TestFn} from 'ava'
import fc from 'fast-check'
import {pickSum, reconcileOverage, sendOverage} from '../../../shared/billing/overage.ts'
import {alignOverage} from '../../../shared/billing/overage-price.ts'
import {restoreOverage, switchOverage} from '../../../shared/billing/overage-switch.ts'
import type {Log} from '../../../shared/telemetry/log.ts'
import {findSubscription} from '../../../sql/subscriptions.ts'
import {reconcileOrg} from '../../../workers/billing/reconcile.ts'
import type {WorkerDeps} from '../../../workers/deps.ts'
import {type Billing, openBilling, pass, settleMoney} from '../../support/billing.ts'
import {move} from '../../support/entitlements.ts'
import {ok} from '../../support/importing.ts'
import {openOverage} from '../../support/overage.ts'

const test = anyTest.serial as TestFn
let billing: Billing
test.before(async t => {
  billing = await openBilling(t, {workers: [], webhook: false})
})
test.afterEach.always(async () => {
  billing.payment.faults.clear()
  for (const plan of ['team.1', 'business.1', 'enterprise.1']) await patchPrice(plan, billing.prices.overage)
})
test.afterEach(t => settleMoney(t, billing))

const shouldRetry = false
const path = '/v1/billing/meter_events'

const send = () => sendOverage(billing.house.tools, {most: 100})
const rowsTold = (org: {told(): {value?: number}[]}) => org.told().reduce((sum, {value = 0}) => sum + value, 0)

test('unconfirmed reports that add up to a given sum are found', t => {
  const of = [7, 5, 5, 1].map((rows, n) => ({identifier: `r${n}`, rows}))
  t.deepEqual(pickSum(of, 0), [])
  t.deepEqual(pickSum(of, 18), ['r0', 'r1', 'r2', 'r3'])
  t.deepEqual(pickSum(of, 10), ['r1', 'r2'])
  t.deepEqual(pickSum(of, 6), ['r1', 'r3'])
  t.is(pickSum(of, 4), null)
  t.is(pickSum(of, -1), null)
  t.is(pickSum([], 1), null)
})

test('overage rows are reported to the meter once, and each mark of the period is announced once', async t => {
  const org = await openOverage(billing)
  await org.write(4)
  t.deepEqual(await org.notices(), [])
  await org.write(1)
  await org.write(2)
  const third = await org.write(4)
  const fourth = await org.write(3)
  t.deepEqual(await org.reports(), [
    {identifier: `${third}:1`, rows: 1, sent: false, attempts: 0},
    {identifier: `${fourth}:1`, rows: 3, sent: false, attempts: 0},
  ])
  t.deepEqual(
    (await org.notices()).map(({percent, used, limit}: any) => [percent, used, limit]),
    [
      [50, 5, 10],
      [100, 11, 10],
    ],
  )
  await Promise.all([send(), send()])
  t.is(await send(), 0)
  t.deepEqual(
    org
      .told()
      .map(({id, value}) => [id, value])
      .toSorted(),
    [
      [`${third}:1`, 1],
      [`${fourth}:1`, 3],
    ].toSorted(),
  )
  t.true((await org.reports()).every(({sent}) => sent))
})

test('overage of a yearly plan is billed monthly', async t => {
  const {stripe} = billing
  const org = await openOverage(billing, {interval: 'year'})
  await org.write(25)
  await send()
  await pass(billing, 32)
  const invoices = (await stripe.invoices.list({customer: org.customer})).data
  t.deepEqual(
    invoices.map(({amount_paid}) => amount_paid).toSorted((one, other) => one - other),
    [15, 30_000],
  )
})

test('each overage report is counted once, whatever fails', async t => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.record({
          action: fc.constantFrom(
            {type: 'status', status: 500, when: 'after', shouldRetry} as const,
            {type: 'status', status: 500, when: 'before', shouldRetry} as const,
            {type: 'status', status: 502, when: 'after', body: 'bare', shouldRetry} as const,
            {type: 'rateLimit'} as const,
            {type: 'half'} as const,
          ),
          hours: fc.constantFrom(0, 1, 30),
        }),
        {minLength: 1, maxLength: 4},
      ),
      async faults => {
        const org = await openOverage(billing)
        for (const rows of [15, 2, 2, 7]) await org.write(rows)
        for (const {action, hours} of faults) {
          billing.payment.faults.add({method: 'POST', path, action})
          await send()
          await pass(billing, hours / 24)
        }
        billing.payment.faults.clear()
        for (let times = 0; times < 3; times++) {
          await pass(billing, 0.1)
          await send()
        }
        if ((await org.reports()).some(({sent}) => !sent)) throw new Error('One was not sent')
        if (rowsTold(org) !== 16) throw new Error(`${rowsTold(org)} rows were told instead of 16`)
      },
    ),
    {numRuns: 8},
  )
  await pass(billing, 1)
  t.deepEqual(await reconcileOverage(billing.house.tools, {most: 1000}), [])
})

test('a report that may have arrived long ago is looked up before it is sent again', async t => {
  const arrived = await openOverage(billing)
  const lost = await openOverage(billing)
  const [one, other] = [await arrived.write(13), await lost.write(14)]
  billing.payment.faults.add({method: 'POST', path, action: {type: 'half'}})
  await send()
  billing.payment.faults.add({method: 'POST', path, action: {type: 'status', status: 500, when: 'before', shouldRetry}})
  await send()
  await pass(billing, 2)
  billing.payment.clearJournal()
  await send()
  t.deepEqual([(await arrived.reports())[0]!.sent, (await lost.reports())[0]!.sent], [true, true])
  t.deepEqual([arrived.told().map(({id}) => id), lost.told().map(({id}) => id)], [[`${one}:1`], [`${other}:1`]])
  t.is(billing.payment.journal().filter(entry => entry.method === 'POST' && entry.path === path).length, 1)
})

const patchPrice = (plan: string, paymentPriceOverageId: string | null, more: {paymentProductId?: string | null} = {}) =>
  ok(billing.house.as(billing.house.adminToken)('PATCH', `/billing/admin/plans/${plan}/payment`, {paymentPriceOverageId, ...more}), 200)

/** Creates an overage price of `amount` cents. Without a product or meter, the price has those that all plans share. */
const makePrice = async (amount: number, {product, meter}: {product?: string; meter?: string} = {}) => {
  const {stripe, prices} = billing
  const {product: shared, recurring} = await stripe.prices.retrieve(prices.overage)
  const more = {interval: 'month', usage_type: 'metered', meter: meter ?? recurring!.meter!} as const
  return (await stripe.prices.create({product: product ?? (shared as string), currency: 'eur', unit_amount: amount, recurring: more})).id
}

const amountsPaid = async (customer: string) =>
  (await billing.stripe.invoices.list({customer})).data.map(({amount_paid}) => amount_paid).toSorted((one, other) => one - other)

const overagePriceOf = async ({org}: {org: string}) =>
  (await billing.stripe.subscriptionItems.retrieve((await findSubscription(billing.house.db, org))!.overageItemId!)).price.id

for (const isSold of [true, false])
  test(`after a plan change, overage is billed at the price of the new plan; the earlier price is ${isSold ? '' : 'not '}sold`, async t => {
    const {house, stripe, prices} = billing
    const org = await openOverage(billing)
    await org.write(12)
    const {id, items} = (await stripe.subscriptions.list({customer: org.customer})).data[0]!
    const item = items.data.find(({price}) => price.id === prices['team.month'])!.id
    const metadata = {plan_key: 'business', plan_version_id: 'business.1'}
    await stripe.subscriptions.update(id, {items: [{id: item, price: prices['business.month']}], proration_behavior: 'none', metadata})
    await reconcileOrg({...house.tools, drain: new AbortController().signal} as unknown as WorkerDeps, org.org)
    const dear = await makePrice(3, isSold ? {} : {product: (await stripe.products.create({name: 'Business'})).id})
    await patchPrice('business.1', dear, isSold ? {} : {paymentProductId: null})
    if (!isSold) for (const plan of ['team.1', 'enterprise.1']) await patchPrice(plan, null)
    t.is(await overagePriceOf(org), prices.overage)
    t.true((await alignOverage(house.tools, {most: 1000})) > 0)
    t.is(await overagePriceOf(org), dear)
    t.is(await alignOverage(house.tools, {most: 1000}), 0)
    await send()
    await pass(billing, 32)
    t.deepEqual(await amountsPaid(org.customer), [3000, 9006])
  })

test('subscribers keep their overage price when their plan gets another one', async t => {
  const {house} = billing
  const [old, dear] = [await makePrice(2), await makePrice(5)]
  await patchPrice('team.1', old)
  const org = await openOverage(billing)
  await org.write(12)
  await patchPrice('team.1', dear)
  await alignOverage(house.tools, {most: 1000})
  t.is(await overagePriceOf(org), old)
  await send()
  await pass(billing, 32)
  t.deepEqual(await amountsPaid(org.customer), [3000, 3004])
})

test('subscribers get the new overage price if it has another meter, because rows are reported to that meter', async t => {
  const {house, stripe} = billing
  await patchPrice('team.1', await makePrice(2))
  const org = await openOverage(billing)
  await org.write(12)
  const meter = await stripe.billing.meters.create({
    display_name: 'Rows beyond the plan, again',
    event_name: 'lading_rows_again',
    default_aggregation: {formula: 'sum'},
    customer_mapping: {type: 'by_id', event_payload_key: 'stripe_customer_id'},
    value_settings: {event_payload_key: 'value'},
  })
  await patchPrice('team.1', await makePrice(5, {meter: meter.id}))
  await alignOverage(house.tools, {most: 1000})
  await send()
  await pass(billing, 32)
  t.deepEqual(await amountsPaid(org.customer), [3000, 3010])
})

test('a report that the meter accepted and did not count is found', async t => {
  const org = await openOverage(billing)
  const run = await org.write(12)
  await send()
  await billing.stripe.billing.meterEventAdjustments.create({cancel: {identifier: `${run}:1`}, event_name: 'lading_rows', type: 'cancel'})
  await pass(billing, 1)
  for (const price of [null, billing.prices.overage]) {
    await patchPrice('team.1', price)
    const found = await reconcileOverage(billing.house.tools, {most: 1000})
    t.deepEqual(found, [{org: org.org, reported: 2, counted: 0}], `the overage price of the plan is ${price}`)
  }
})

test('no overage is stored if it is disabled or the org gets no bill', async t => {
  const {house} = billing
  const org = await openOverage(billing)
  await switchOverage(house.tools, {org: org.org, via: 'session'}, {enabled: false})
  await t.throwsAsync(org.write(11), {message: /10 of the 10/})
  await house.hot.query('update orgs set overage_enabled = true where id = $1', [org.org])
  await house.hot.query('update billing_accounts set customer_id = null where org_id = $1', [org.org])
  await org.write(11)
  t.deepEqual(await org.reports(), [])
})

test('the overage item is restored if a scheduled plan change removed it', async t => {
  const {house, stripe} = billing
  const org = await openOverage(billing)
  await org.write(12)
  const [found] = (await stripe.subscriptions.list({customer: org.customer})).data
  const metered = async () =>
    (await stripe.subscriptionItems.list({subscription: found!.id})).data.find(({price}) => price.recurring?.meter)
  await stripe.subscriptionItems.del((await metered())!.id)
  await pass(billing, 32)
  await house.hot.query('update subscriptions set overage_item_id = null, period_starts_at = null where org_id = $1', [org.org])
  const byHand: string[] = []
  const note = (about: {org?: string}, text: string) => about.org === org.org && byHand.push(text)
  const log = Object.assign(Object.create(house.tools.log) as Log, {error: note})
  await sendOverage({...house.tools, log}, {most: 100})
  t.deepEqual([byHand, rowsTold(org)], [[], 0])
  t.is(await restoreOverage(house.tools, {most: 100}), 1)
  t.truthy(await metered())
  t.is(await restoreOverage(house.tools, {most: 100}), 0)
  await pass(billing, 0.01)
  await send()
  t.is(rowsTold(org), 2)
})

test('overage of existing subscribers is still billed, once, after their plan lost its overage price', async t => {
  const {house} = billing
  const org = await openOverage(billing)
  await org.write(12)
  await patchPrice('team.1', null)
  await move(house, org.org, 'team.1')
  await org.write(3)
  billing.payment.faults.add({method: 'POST', path, times: 1, action: {type: 'half'}})
  for (let times = 0; times < 3; times++) {
    await send()
    await pass(billing, 0.1)
  }
  t.true((await org.reports()).every(({sent}) => sent))
  t.is(rowsTold(org), 5)
  const newcomer = await t.throwsAsync(openOverage(billing))
  t.like(newcomer, {code: 'NOT_SOLD'})
})

test('a subscriber whose plan lost its overage price can disable and enable overage, and still pays for it', async t => {
  const {house} = billing
  const org = await openOverage(billing)
  const admin = house.as((await house.makeOrg({org: org.org, role: 'admin'})).token)
  await patchPrice('team.1', null)
  for (const enabled of [false, true]) await ok(admin('POST', '/billing/overage', {enabled}), 200)
  t.like((await ok(admin('GET', '/billing/summary'), 200)).overage, {enabled: true, available: true})
  await org.write(13)
  await send()
  t.is(rowsTold(org), 3)
})
