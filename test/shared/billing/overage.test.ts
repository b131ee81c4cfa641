import anyTest, {type TestFn} from 'ava'
import fc from 'fast-check'
import {pickSum, reconcileOverage, sendOverage} from '../../../shared/billing/overage.ts'
import {alignOverage} from '../../../shared/billing/overage-price.ts'
import {restoreOverage, switchOverage} from '../../../shared/billing/overage-switch.ts'
import {type Billing, openBilling, pass, settleMoney} from '../../support/billing.ts'
import {ok} from '../../support/importing.ts'
import {openOverage} from '../../support/overage.ts'

const test = anyTest.serial as TestFn
let billing: Billing
test.before(async t => {
  billing = await openBilling(t, {workers: [], webhook: false})
})
test.afterEach.always(() => billing.payment.faults.clear())
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

test('after a plan change, overage is billed at the price of the new plan', async t => {
  const {house, stripe, prices} = billing
  const org = await openOverage(billing)
  const tools = house.tools
  t.is(await alignOverage(tools, {most: 1000}), 0)
  const {product, recurring} = await stripe.prices.retrieve(prices.overage)
  const dear = await stripe.prices.create({
    product: product as string,
    currency: 'eur',
    unit_amount: 3,
    recurring: {interval: 'month', usage_type: 'metered', meter: recurring!.meter!},
  })
  await ok(house.as(house.adminToken)('PATCH', '/billing/admin/plans/team.1/payment', {paymentPriceOverageId: dear.id}), 200)
  await org.write(12)
  t.true((await alignOverage(tools, {most: 1000})) > 0)
  t.is(await alignOverage(tools, {most: 1000}), 0)
  await ok(house.as(house.adminToken)('PATCH', '/billing/admin/plans/team.1/payment', {paymentPriceOverageId: prices.overage}), 200)
  await send()
  await pass(billing, 32)
  const invoices = (await stripe.invoices.list({customer: org.customer})).data
  t.deepEqual(
    invoices.map(({amount_paid}) => amount_paid).toSorted((one, other) => one - other),
    [3000, 3006],
  )
})

test('a report that the meter accepted and did not count is found', async t => {
  const org = await openOverage(billing)
  const run = await org.write(12)
  await send()
  await billing.stripe.billing.meterEventAdjustments.create({cancel: {identifier: `${run}:1`}, event_name: 'lading_rows', type: 'cancel'})
  await pass(billing, 1)
  t.deepEqual(await reconcileOverage(billing.house.tools, {most: 1000}), [{org: org.org, reported: 2, counted: 0}])
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
  const [found] = (await stripe.subscriptions.list({customer: org.customer})).data
  const metered = async () =>
    (await stripe.subscriptionItems.list({subscription: found!.id})).data.find(({price}) => price.recurring?.meter)
  await stripe.subscriptionItems.del((await metered())!.id)
  await pass(billing, 32)
  await house.hot.query('update subscriptions set overage_item_id = null, period_starts_at = null where org_id = $1', [org.org])
  t.is(await restoreOverage(house.tools, {most: 100}), 1)
  t.truthy(await metered())
  t.is(await restoreOverage(house.tools, {most: 100}), 0)
})
