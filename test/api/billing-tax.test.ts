import anyTest, {type TestFn} from 'ava'
import {issueTopupInvoices} from '../../shared/billing/topup-invoice.ts'
import {findBillingAccount} from '../../sql/billing-accounts.ts'
import {type Billing, openBilling, sessionOf, settleMoney, subscribe} from '../support/billing.ts'
import {ok} from '../support/importing.ts'
import {untilApplied} from '../support/payment-webhook.ts'
import {openTopping} from '../support/topups.ts'

const test = anyTest.serial as TestFn
const environment = {PAYMENT_AUTOMATIC_TAX: '1'}

type Amounts = {charged: number; tax: number}
/** Expected amounts in cents. The German tax rate is 19 %. */
const cases = {
  exclusive: {team: {charged: 3570, tax: 570}, pack: {charged: 1190, tax: 190}},
  inclusive: {team: {charged: 3000, tax: 479}, pack: {charged: 1000, tax: 160}},
} satisfies Record<string, Record<string, Amounts>>

const taxesOf = (invoice: any): number => invoice.total_taxes.reduce((sum: number, {amount}: {amount: number}) => sum + amount, 0)

for (const [behavior, {team, pack}] of Object.entries(cases)) {
  const taxBehavior = behavior as 'inclusive' | 'exclusive'
  test(`${behavior} prices: the amounts and taxes shown are those charged`, async t => {
    t.timeout(240_000)
    const billing = await openBilling(t, {environment, taxBehavior})
    const {house, payment} = billing
    const {org, token} = await house.makeOrg()
    const call = house.as(token)
    await subscribe(billing, {org, token, planKey: 'team'})
    await untilApplied(house)
    const customer = (await findBillingAccount(house.db, org))!.customer!
    const charged = () => payment.money(customer).charged
    const invoices = () => payment.all('invoice').filter(one => one.customer === customer)
    t.is(charged(), team.charged)
    t.like(invoices().at(-1), {total: team.charged, amount_paid: team.charged})
    t.is(taxesOf(invoices().at(-1)), team.tax)
    const session = payment.all('checkout.session').find(one => one.customer === customer)!
    t.like(session, {
      billing_address_collection: 'required',
      amount_total: team.charged,
      automatic_tax: {enabled: true, status: 'complete'},
    })
    t.is(session.total_details.amount_tax, team.tax)

    const summary = await ok(call('GET', '/billing/summary'), 200)
    for (const {prices} of summary.plans) t.is(prices.taxBehavior, taxBehavior)
    for (const {price} of summary.packs) t.is(price.taxBehavior, taxBehavior)

    const wanted = {planKey: 'business', interval: 'month'}
    const shown = await ok(call('POST', `/orgs/${org}/billing/plan/preview`, wanted), 200)
    t.true(shown.tax.amount > 0)
    const sums = {amount: 0, tax: 0}
    for (const line of shown.lines) {
      sums.amount += line.amount
      sums.tax += line.tax
      t.is(line.taxIncluded, taxBehavior === 'inclusive')
    }
    t.is(sums.tax, shown.tax.amount)
    t.is(sums.amount + (taxBehavior === 'exclusive' ? sums.tax : 0), shown.due.amount)
    const done = await ok(call('POST', `/orgs/${org}/billing/plan`, {...wanted, previewToken: shown.previewToken}), 200)
    t.deepEqual([done.due, done.tax], [shown.due, shown.tax])
    const invoice = payment.find(payment.find(invoices().at(-1)!.parent.subscription_details.subscription)!.latest_invoice)!
    t.deepEqual([invoice.amount_due, taxesOf(invoice)], [done.due.amount, done.tax.amount])
    t.is(charged(), team.charged + done.due.amount)
    await untilApplied(house)

    const before = charged()
    const {url} = await ok(call('POST', `/orgs/${org}/billing/checkout`, {kind: 'credit_pack', packKey: 'credits_500'}), 200)
    await payment.payCheckout(sessionOf(url))
    t.is(charged() - before, pack.charged)
    t.is(taxesOf(invoices().at(-1)), pack.tax)
    await settleMoney(t, billing)
  })

  test(`${behavior} prices: a top-up charges the tax that its invoice names`, async t => {
    const billing = await openBilling(t, {environment, taxBehavior, workers: [], webhook: false})
    const {payment, stripe, house} = billing
    const org = await openTopping(billing, {threshold: 30, monthlyCap: 500})
    await stripe.customers.update(org.customer, {address: {country: 'DE'}})
    const before = payment.money(org.customer).charged
    await org.settle()
    t.is(payment.money(org.customer).charged - before, pack.charged)
    await issueTopupInvoices(house.tools, {most: 10})
    const [invoice] = payment.all('invoice').filter(one => one.metadata.kind === 'autotopup')
    t.like(invoice, {status: 'paid', total: pack.charged, amount_paid: pack.charged, amount_overpaid: 0})
    t.is(taxesOf(invoice), pack.tax)
    await settleMoney(t, billing)
  })
}

test('a top-up whose tax the provider cannot calculate charges nothing and is stopped as refused', async t => {
  const billing = await openBilling(t, {environment, taxBehavior: 'exclusive', workers: [], webhook: false})
  const org = await openTopping(billing, {threshold: 30, monthlyCap: 500})
  const before = billing.payment.money(org.customer).charged
  await org.settle()
  t.is(billing.payment.money(org.customer).charged, before)
  t.like(await org.read(), {enabled: false, stopped: {reason: 'refused'}})
})

test('a downgrade keeps collecting tax from the renewal on', async t => {
  t.timeout(240_000)
  const billing = await openBilling(t, {environment, taxBehavior: 'exclusive'})
  const {house, payment} = billing
  const {org, token} = await house.makeOrg()
  await subscribe(billing, {org, token, planKey: 'business'})
  await untilApplied(house)
  await ok(house.as(token)('POST', `/orgs/${org}/billing/plan`, {planKey: 'team'}), 200)
  await payment.advance(32 * 86_400)
  const customer = (await findBillingAccount(house.db, org))!.customer!
  const last = payment
    .all('invoice')
    .filter(one => one.customer === customer)
    .at(-1)!
  t.like(last, {total: 3570, status: 'paid'})
  t.is(taxesOf(last), 570)
  for (const {automatic_tax: tax} of payment.find(payment.all('subscription_schedule')[0]!.id)!.phases) t.true(tax.enabled)
  await settleMoney(t, billing)
})

test('without PAYMENT_AUTOMATIC_TAX no tax is collected', async t => {
  const billing = await openBilling(t, {taxBehavior: 'exclusive'})
  const {house, payment} = billing
  const {org, token} = await house.makeOrg()
  await subscribe(billing, {org, token, planKey: 'team'})
  const customer = (await findBillingAccount(house.db, org))!.customer!
  t.is(payment.money(customer).charged, 3000)
  const session = payment.all('checkout.session').find(one => one.customer === customer)!
  t.like(session, {billing_address_collection: null, automatic_tax: {enabled: false}})
  const shown = await ok(house.as(token)('POST', `/orgs/${org}/billing/plan/preview`, {planKey: 'business'}), 200)
  t.is(shown.tax.amount, 0)
})

test('a price without tax behaviour is refused while tax is collected', async t => {
  const billing: Billing = await openBilling(t, {environment, taxBehavior: 'exclusive', workers: [], webhook: false})
  const {house, stripe} = billing
  const {product} = await stripe.prices.retrieve(billing.prices['team.month'])
  const vague = await stripe.prices.create({product: product as string, currency: 'eur', unit_amount: 3000, recurring: {interval: 'month'}})
  const patch = (body: object) => house.as(house.adminToken)('PATCH', '/billing/admin/plans/team.1/payment', body)
  const {status, body} = await patch({paymentPriceMonthlyId: vague.id})
  t.is(status, 400)
  t.regex(body.error, /no tax behavior, and PAYMENT_AUTOMATIC_TAX is on/)
  const other = await stripe.prices.create({
    product: product as string,
    currency: 'eur',
    unit_amount: 3000,
    recurring: {interval: 'month'},
    tax_behavior: 'inclusive',
  })
  t.regex(
    (await patch({paymentPriceMonthlyId: other.id})).body.error,
    /tax behavior of the price .* is exclusive, and of another one inclusive/,
  )
})

test('if the tax rises between a top-up payment and its invoice, the invoice stays a draft for staff', async t => {
  const billing = await openBilling(t, {environment, taxBehavior: 'exclusive', workers: [], webhook: false})
  const {payment, stripe, house} = billing
  const org = await openTopping(billing, {threshold: 30, monthlyCap: 500})
  await stripe.customers.update(org.customer, {address: {country: 'DE'}})
  await org.settle()
  await stripe.customers.update(org.customer, {address: {country: 'FR'}})
  t.is(await issueTopupInvoices(house.tools, {most: 10}), 1)
  t.is(await issueTopupInvoices(house.tools, {most: 10}), 0)
  t.deepEqual(
    payment.all('invoice').flatMap(({metadata, status, total}) => (metadata.kind === 'autotopup' ? [[status, total]] : [])),
    [['draft', 1200]],
  )
})
