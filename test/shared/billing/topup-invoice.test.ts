import anyTest, {type TestFn} from 'ava'
import {openPortal} from '../../../shared/billing/portal.ts'
import {issueTopupInvoices} from '../../../shared/billing/topup-invoice.ts'
import {type Billing, openBilling, settleMoney} from '../../support/billing.ts'
import {openTopping, type Topping} from '../../support/topups.ts'

const test = anyTest.serial as TestFn
let billing: Billing
test.before(async t => {
  billing = await openBilling(t, {workers: [], webhook: false})
})
test.afterEach(t => settleMoney(t, billing))
test.afterEach.always(() => billing.payment.faults.clear())

const issue = () => issueTopupInvoices(billing.house.tools, {most: 100})

const invoicesOf = ({customer}: Topping) =>
  billing.payment.all('invoice').filter(one => one.customer === customer && one.metadata.kind === 'autotopup')

const openPaid = async () => {
  const org = await openTopping(billing, {threshold: 30, monthlyCap: 1000})
  await org.settle()
  return org
}

test('a paid top-up has one paid invoice among the org’s invoices at the portal', async t => {
  const org = await openPaid()
  const charged = billing.payment.money(org.customer).charged
  t.is(await issue(), 1)
  t.is(await issue(), 0)
  const [attempt] = await org.attempts()
  const [invoice, ...others] = invoicesOf(org)
  t.deepEqual(others, [])
  t.like(invoice, {status: 'paid', total: 1000, amount_paid: 1000, amount_remaining: 0, auto_advance: false})
  t.like(invoice!.lines.data[0], {description: '500 AI credits', amount: 1000, quantity: 1})
  t.is(invoice!.metadata.attempt_id, attempt!.id)
  const [payment] = billing.payment.all('invoice_payment').filter(one => one.invoice === invoice!.id && one.status === 'paid')
  t.is(payment!.payment.payment_intent, attempt!.intent)
  t.is(billing.payment.money(org.customer).charged, charged, 'the invoice charges nothing')
  await billing.stripe.billingPortal.configurations.create({features: {invoice_history: {enabled: true}}})
  const {url} = await openPortal(billing.house.tools, org.org, {})
  const page = await (await fetch(url)).text()
  t.regex(page, /paid<\/td><td>[^<]*10\.00/)
})

test('a declined top-up has no invoice', async t => {
  const org = await openTopping(billing, {threshold: 30, monthlyCap: 1000})
  billing.payment.setCard(org.card, 'insufficient_funds')
  await org.settle()
  t.is(await issue(), 0)
  t.deepEqual(invoicesOf(org), [])
})

for (const path of ['/v1/invoices', '/v1/invoices/*/add_lines', '/v1/invoices/*/finalize', '/v1/invoices/*/attach_payment'])
  for (const when of ['before', 'after'] as const)
    test(`an answer of ${path} lost ${when} its effect leads to one invoice, paid once, in a later round`, async t => {
      const org = await openPaid()
      // The SDK repeats a failed call once, so the fault must occur twice.
      billing.payment.faults.add({method: 'POST', path, times: 2, action: {type: 'reset', when}})
      await issue()
      t.is(await issue(), 1)
      t.is(await issue(), 0)
      t.deepEqual(
        invoicesOf(org).map(({status, amount_paid, lines}) => [status, amount_paid, lines.data.length]),
        [['paid', 1000, 1]],
      )
    })

test('concurrent processes issue one invoice', async t => {
  const org = await openPaid()
  await Promise.all(Array.from({length: 6}, issue))
  while ((await issue()) > 0) {}
  t.deepEqual(
    invoicesOf(org).map(({status, lines}) => [status, lines.data.length]),
    [['paid', 1]],
  )
})

test('an invoice that the provider refuses is not retried', async t => {
  const org = await openPaid()
  billing.payment.faults.add({method: 'POST', path: '/v1/invoices', times: 1, action: {type: 'status', status: 400}})
  t.is(await issue(), 1)
  t.is(await issue(), 0)
  t.deepEqual(invoicesOf(org), [])
  t.like(await org.balance(), {purchased: 500})
})

test('an invoice that an earlier release created with the same key and other parameters is issued', async t => {
  const org = await openPaid()
  const [attempt] = await org.attempts()
  await billing.stripe.invoices.create(
    {
      customer: org.customer,
      currency: 'eur',
      collection_method: 'charge_automatically',
      auto_advance: false,
      pending_invoice_items_behavior: 'exclude',
      discounts: '',
      metadata: {kind: 'autotopup', attempt_id: attempt!.id},
    },
    {idempotencyKey: `topup:${attempt!.id}:invoice`},
  )
  t.is(await issue(), 1)
  t.is(await issue(), 0)
  t.deepEqual(
    invoicesOf(org).map(({status, amount_paid}) => [status, amount_paid]),
    [['paid', 1000]],
  )
})

test('a credit balance of the customer stays unused, because the card paid the whole invoice', async t => {
  const org = await openPaid()
  await billing.stripe.customers.update(org.customer, {balance: -300})
  await issue()
  t.like(invoicesOf(org)[0], {status: 'paid', amount_paid: 1000, amount_overpaid: 300})
  t.is(billing.payment.find(org.customer)!.balance, -300)
})

for (const [what, balance] of Object.entries({'credit that covers the invoice': -1000, debt: 300}))
  test(`a ${what} is left as it is, and staff issue the invoice`, async t => {
    const org = await openPaid()
    await billing.stripe.customers.update(org.customer, {balance})
    t.is(await issue(), 1)
    t.is(await issue(), 0)
    t.deepEqual(
      invoicesOf(org).map(({status}) => status),
      ['draft'],
    )
    t.is(billing.payment.find(org.customer)!.balance, balance)
    t.like(await org.balance(), {purchased: 500})
  })
