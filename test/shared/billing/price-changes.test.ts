import anyTest, {type TestFn} from 'ava'
import {Stripe} from 'stripe'
import {logSellingProblems} from '../../../shared/billing/verify/selling.ts'
import {listPacks, listPlans} from '../../../sql/plans.ts'
import {type Billing, openBilling} from '../../support/billing.ts'
import {ok} from '../../support/importing.ts'
import {until} from '../../support/until.ts'

/** The tests run serially, because they share one payment provider. */
const test = anyTest.serial as TestFn
let billing: Billing
test.before(async t => {
  billing = await openBilling(t, {workers: [], webhook: false})
})
test.afterEach.always(() => billing.payment.faults.clear())

const patch = (path: string, body: object) =>
  ok(billing.house.as(billing.house.adminToken)('PATCH', `/billing/admin/${path}/payment`, body), 200)
const makePrice = async (unit_amount: number, interval?: 'month' | 'year') => {
  const {product} = billing.payment.find(billing.prices['team.month'])!
  return (await billing.stripe.prices.create({product, currency: 'eur', unit_amount, ...(interval && {recurring: {interval}})})).id
}
const teamAmounts = async () => (await listPlans(billing.house.db)).find(({id}) => id === 'team.1')!.amounts!.amounts
const packAmounts = async () => (await listPacks(billing.house.db)).find(({key}) => key === 'credits_500')!.amounts!.amounts

/** Runs `meanwhile` while the provider holds the answer that describes this price. */
const whileHeld = async (price: string, meanwhile: () => Promise<unknown>) => {
  const {faults} = billing.payment
  faults.add({method: 'GET', path: `/v1/prices/${price}`, action: {type: 'hold'}})
  await until(faults.held, held => held === 1)
  await meanwhile()
  faults.release()
}

test('prices that staff change during the check at the start of the API keep their amounts', async t => {
  const {house, prices} = billing
  const [month, pack] = [await makePrice(100, 'month'), await makePrice(200)]
  const checking = logSellingProblems(house.tools)
  await whileHeld(prices['team.month'], () => patch('plans/team.1', {paymentPriceMonthlyId: month}))
  await whileHeld(prices.credits_500, () => patch('packs/credits_500', {paymentPriceId: pack}))
  await checking
  t.like(await teamAmounts(), {month: '100'})
  t.deepEqual(await packAmounts(), {pack: '200'})
})

test('two concurrent price changes of one plan are verified together and store the amounts of both', async t => {
  const [month, year] = [await makePrice(300, 'month'), await makePrice(400, 'year')]
  const changing = patch('plans/team.1', {paymentPriceMonthlyId: month})
  await whileHeld(month, () => patch('plans/team.1', {paymentPriceAnnualId: year}))
  t.like(await changing, {paymentPriceMonthlyId: month, paymentPriceAnnualId: year})
  t.deepEqual(await teamAmounts(), {month: '300', year: '400', overage: '1'})
})

test('a pack price with a fraction of the smallest unit is refused, because top-ups could not charge it', async t => {
  const {house, stripe, prices} = billing
  const {product} = billing.payment.find(prices.credits_500)!
  const {id} = await stripe.prices.create({product, currency: 'eur', unit_amount_decimal: Stripe.Decimal.from('99.5')})
  const {status, body} = await house.as(house.adminToken)('PATCH', '/billing/admin/packs/credits_500/payment', {paymentPriceId: id})
  t.is(status, 400)
  t.regex(body.error, /has a fraction of the smallest unit/)
})
