import anyTest, {type TestFn} from 'ava'
import {describeOffer, describePayment} from '../../api/clients/widget/settings/plan-prices.ts'
import {sql} from '../../sql/database.ts'
import {type Billing, openBilling, subscribe} from '../support/billing.ts'
import {newBuyer} from '../support/checkouts.ts'
import {ok} from '../support/importing.ts'

const test = anyTest.serial as TestFn
let billing: Billing
test.before(async t => {
  billing = await openBilling(t)
})

test('an offer shows its price in the interval and the saving of a year, and says if it is sold in one interval only', async t => {
  const {house} = billing
  await ok(house.as(house.adminToken)('PATCH', '/billing/admin/plans/enterprise.1/payment', {paymentPriceMonthlyId: null}), 200)
  const {as} = await newBuyer(billing)
  const {plans} = await ok(as('GET', '/billing/summary'), 200)
  const offer = (planKey: string, interval: string) =>
    describeOffer(
      plans.find(({key}: any) => key === planKey),
      interval,
    )
  t.deepEqual(offer('team', 'month'), {price: '€30.00 per month', note: 'Per year: €300.00, saves €60.00 a year (17%)', isOffered: true})
  t.deepEqual(offer('team', 'year'), {price: '€300.00 per year', note: 'saves €60.00 a year (17%)', isOffered: true})
  t.deepEqual(offer('enterprise', 'month'), {price: '€4,900.00 per year', note: 'Only billed per year', isOffered: false})
  t.deepEqual(describeOffer({prices: null, intervals: ['month']}, 'month'), {price: '', note: '', isOffered: true})
})

test('a paid plan shows its price and its next payment, and a free plan that nothing is charged', async t => {
  const buyer = await newBuyer(billing)
  const read = () => ok(buyer.as('GET', '/billing/summary'), 200)
  t.is(describePayment(await read()), 'Nothing is charged for this plan.')
  await ok(buyer.as('POST', `/orgs/${buyer.org}/trial`, {}), 200)
  t.is(describePayment(await read()), '')
  await subscribe(billing, {...buyer, planKey: 'team'})
  const paid = await read()
  t.is(describePayment(paid), `€30.00 per month, renews on ${paid.subscription.period.end.slice(0, 10)}.`)
  // Staff may choose an end before the end of the period.
  t.is(describePayment({...paid, cancelsAt: '2030-01-02T03:04:05.000Z'}), '€30.00 per month, ends on 2030-01-02.')
})

test('after a new plan version, subscribers of the earlier one see their own price and may still turn overage off', async t => {
  const buyer = await newBuyer(billing)
  const read = () => ok(buyer.as('GET', '/billing/summary'), 200)
  await subscribe(billing, {...buyer, planKey: 'team'})
  const newer = {
    id: 'team.2',
    version: 2,
    payment_price_monthly_id: 'price_newer',
    payment_price_annual_id: null,
    payment_price_overage_id: null,
    payment_amounts: {currency: 'eur', amounts: {month: '4500'}},
  }
  await billing.house.db.query(sql.unsafe`
    insert into plan_versions select (jsonb_populate_record(p, ${JSON.stringify(newer)}::jsonb)).* from plan_versions p where id = 'team.1'`)
  const summary = await read()
  const {plan} = summary.subscription
  t.is(summary.plans.find(({key}: any) => key === 'team').id, 'team.2')
  t.is(plan.id, 'team.1')
  t.true(summary.overage.available)
  t.is(describeOffer(plan, 'month').price, '€30.00 per month')
  t.true(describePayment(summary).startsWith('€30.00 per month, '))
})

test('after a price change, subscribers see the prices that they pay, and new customers the new ones', async t => {
  const {house, stripe, payment, prices} = billing
  const buyer = await newBuyer(billing)
  const read = () => ok(buyer.as('GET', '/billing/summary'), 200)
  await subscribe(billing, {...buyer, planKey: 'business'})
  await ok(buyer.as('POST', '/billing/overage', {enabled: true}), 200)
  const {product} = payment.find(prices['business.month'])!
  const {recurring} = payment.find(prices.overage)!
  const month = await stripe.prices.create({product, currency: 'eur', unit_amount: 9900, recurring: {interval: 'month'}})
  const row = await stripe.prices.create({
    product,
    currency: 'eur',
    unit_amount: 2,
    recurring: {interval: 'month', usage_type: 'metered', meter: recurring.meter},
  })
  const path = '/billing/admin/plans/business.1/payment'
  await ok(house.as(house.adminToken)('PATCH', path, {paymentPriceMonthlyId: month.id, paymentPriceOverageId: row.id}), 200)
  const summary = await read()
  t.like(summary.plans.find(({key}: any) => key === 'business').prices, {month: 9900, year: 90_000, row: '2'})
  t.like(summary.subscription.plan.prices, {month: 9000, year: 90_000, row: '1'})
  t.true(describePayment(summary).startsWith('€90.00 per month, renews on '))
  // An earlier release stores no amounts, or leaves those of an earlier price.
  for (const paid of [null, '{"priceId": "price_other", "currency": "eur", "amounts": {"month": "1"}}']) {
    await house.db.query(sql.unsafe`update subscriptions set paid_amounts = ${paid}::jsonb where org_id = ${buyer.org}`)
    const unknown = await read()
    t.is(unknown.subscription.plan.prices, null)
    t.true(describePayment(unknown).startsWith('Paid per month, renews on '), describePayment(unknown))
  }
})
