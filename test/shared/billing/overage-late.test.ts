import anyTest, {type TestFn} from 'ava'
import {pickSum, reconcileOverage, sendOverage} from '../../../shared/billing/overage.ts'
import type {Log} from '../../../shared/telemetry/log.ts'
import {reconcileOrg} from '../../../workers/billing/reconcile.ts'
import type {WorkerDeps} from '../../../workers/deps.ts'
import {type Billing, openBilling, pass, settleMoney} from '../../support/billing.ts'
import {openOverage} from '../../support/overage.ts'

const test = anyTest.serial as TestFn
let billing: Billing
test.before(async t => {
  billing = await openBilling(t, {workers: [], webhook: false})
})
test.afterEach.always(() => billing.payment.faults.clear())
test.afterEach(t => settleMoney(t, billing))

const path = '/v1/billing/meter_events'
const undone = {type: 'status', status: 500, when: 'before', shouldRetry: false} as const
const send = () => sendOverage(billing.house.tools, {most: 100})
const paid = async (customer: string) =>
  (await billing.stripe.invoices.list({customer})).data.map(({amount_paid}) => amount_paid).toSorted((one, other) => one - other)

test('a subset with the given sum is found in bounded time, or the search gives up', t => {
  const of = Array.from({length: 60}, (_, n) => ({identifier: `r${n}`, rows: 2 + 2 * n}))
  t.is(pickSum(of, 1801), null)
  t.is(
    pickSum(of, 1800)
      ?.map(name => of.find(({identifier}) => identifier === name)!.rows)
      .reduce((sum, rows) => sum + rows),
    1800,
  )
  const large = Array.from({length: 40}, (_, n) => ({identifier: `r${n}`, rows: 2 ** n * 2}))
  t.is(pickSum(large, 2 ** 40 + 1), null)
})

test('rows unreported for 36 days and two bills are billed once, with the next bill', async t => {
  const [late, told] = [await openOverage(billing), await openOverage(billing)]
  await told.write(13)
  await late.write(17)
  billing.payment.faults.add({method: 'POST', path, times: 1, action: {...undone, when: 'after'}})
  billing.payment.faults.add({method: 'POST', path, times: 100, action: undone})
  for (let times = 0; times < 3; times++) {
    await send()
    await pass(billing, 0.01)
  }
  for (const days of [1, 31, 4.1]) {
    await pass(billing, days)
    await send()
  }
  billing.payment.faults.clear()
  for (let times = 0; times < 4; times++) {
    await pass(billing, 1)
    await send()
  }
  for (const org of [late, told]) t.true((await org.reports()).every(({sent}) => sent))
  await pass(billing, 31)
  t.deepEqual(await paid(late.customer), [3000, 3000, 3007])
  t.deepEqual(
    (await paid(told.customer)).reduce((sum, amount) => sum + amount),
    9003,
  )
})

for (const [hours, when] of [
  [2, 'before'],
  [20, 'before'],
  [2, 'after'],
] as const)
  test(`rows whose report first failed before a period's end are billed once if they arrive ${hours} hours later (${when})`, async t => {
    const {payment, stripe} = billing
    const org = await openOverage(billing)
    const [found] = (await stripe.subscriptions.list({customer: org.customer})).data
    await pass(billing, (found!.items.data[0]!.current_period_end - payment.now() - 600) / 86_400)
    await org.write(15)
    payment.faults.add({method: 'POST', path, times: 1, action: {...undone, when}})
    await send()
    await pass(billing, hours / 24)
    await send()
    for (let times = 0; times < 3; times++) {
      await pass(billing, 0.5)
      await send()
    }
    t.true((await org.reports()).every(({sent}) => sent))
    await pass(billing, 31)
    t.is(
      (await paid(org.customer)).reduce((sum, amount) => sum + amount),
      9005,
    )
  })

test('raising a row limit after overage was billed makes room for as many further rows', async t => {
  const org = await openOverage(billing)
  const {house} = billing
  await org.write(15)
  await house.hot.query('update usage_periods set rows_limit = 30 where org_id = $1', [org.org])
  await org.write(18)
  t.deepEqual(
    (await org.reports()).map(({rows}) => rows),
    [5],
    '33 of 30, and 5 are billed',
  )
  await org.write(4)
  t.deepEqual(
    (await org.reports()).map(({rows}) => rows),
    [5, 2],
  )
  await send()
})

test('an org whose price is missing at the provider does not block others', async t => {
  const [first, second] = [await openOverage(billing), await openOverage(billing)]
  await first.write(12)
  await second.write(13)
  for (const status of [404, 500]) billing.payment.faults.add({method: 'GET', path: '/v1/prices/*', times: 1, action: {...undone, status}})
  await sendOverage(billing.house.tools, {most: 1})
  await sendOverage(billing.house.tools, {most: 1})
  t.deepEqual(
    [...(await first.reports()), ...(await second.reports())].map(({attempts, sent}) => [attempts, sent]),
    [
      [1, false],
      [1, false],
    ],
  )
  await pass(billing, 0.01)
  await send()
  t.true([...(await first.reports()), ...(await second.reports())].every(({sent}) => sent))
})

test('an org that the provider refuses does not stop the comparison of others, and is not retried every round', async t => {
  const orgs = [await openOverage(billing), await openOverage(billing)].toSorted((one, other) => (one.org < other.org ? -1 : 1))
  for (const org of orgs) await org.write(12)
  await send()
  const [gone, other] = orgs as [(typeof orgs)[0], (typeof orgs)[0]]
  for (const {id} of other.told()) {
    await billing.stripe.billing.meterEventAdjustments.create({cancel: {identifier: id}, event_name: 'lading_rows', type: 'cancel'})
  }
  await pass(billing, 1)
  billing.payment.faults.add({method: 'GET', path: '/v1/billing/meters/*/event_summaries', times: 1, action: {type: 'status', status: 400}})
  const found = await reconcileOverage(billing.house.tools, {most: 1000})
  t.deepEqual(
    found.filter(({org}) => org === other.org || org === gone.org),
    [{org: other.org, reported: 2, counted: 0}],
  )
})

test('rows counted after the subscription ended are not reported to a meter that bills nothing', async t => {
  const {house, stripe} = billing
  const org = await openOverage(billing)
  const [found] = (await stripe.subscriptions.list({customer: org.customer})).data
  const run = await org.write(15)
  await stripe.subscriptions.cancel(found!.id)
  await reconcileOrg({...house.tools, drain: new AbortController().signal} as unknown as WorkerDeps, org.org)
  const byHand: string[] = []
  const note = (about: {org?: string}, text: string) => about.org === org.org && byHand.push(text)
  t.is(await sendOverage({...house.tools, log: Object.assign(Object.create(house.tools.log) as Log, {error: note})}, {most: 100}), 0)
  t.regex(byHand.join(), /bill them by hand/)
  t.deepEqual(await org.reports(), [{identifier: `${run}:1`, rows: 5, sent: false, attempts: 1}])
  t.deepEqual(org.told(), [])
})
