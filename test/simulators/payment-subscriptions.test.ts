import test from 'ava'
import type {Stripe} from 'stripe'
import {addCustomer, openPayment, openShop, refusal, subscribe} from './payment-caller.ts'

const day = 24 * 3600

const upgrade = (sub: Stripe.Subscription, price: string, more: object = {}) => ({
  items: [{id: sub.items.data[0]!.id, price}],
  proration_behavior: 'always_invoice' as const,
  payment_behavior: 'error_if_incomplete' as const,
  ...more,
})

const linesOf = (invoice: Stripe.Invoice) =>
  invoice.lines.data.map(line => [line.amount, line.parent!.subscription_item_details!.proration])

test('a declined upgrade leaves everything exactly as it was', async t => {
  const {payment, stripe} = await openPayment(t)
  const {team, business, businessYear} = await openShop(stripe)
  const {id, card} = await addCustomer(stripe)
  const sub = await subscribe(stripe, id, team, {metadata: {plan: 'team'}})
  await payment.advance(10 * day)
  const before = JSON.stringify(await stripe.subscriptions.retrieve(sub.id, {expand: ['latest_invoice', 'customer']}))
  const counts = () => ({
    invoices: payment.all('invoice').length,
    events: payment.all('event').length,
    pending: payment.all('~pending').length,
  })
  const counted = counts()
  for (const [behaviour, code] of [
    ['card_declined', 'card_declined'],
    ['insufficient_funds', 'card_declined'],
    ['expired_card', 'expired_card'],
    ['authentication_required', 'subscription_payment_intent_requires_action'],
  ] as const) {
    payment.setCard(card, behaviour)
    for (const price of [business, businessYear]) {
      const error = await refusal(t, stripe.subscriptions.update(sub.id, upgrade(sub, price, {metadata: {plan: 'business'}})))
      t.like(error, {statusCode: 402, type: 'StripeCardError', code})
    }
  }
  await stripe.paymentMethods.detach(card)
  t.like(await refusal(t, stripe.subscriptions.update(sub.id, upgrade(sub, business))), {statusCode: 400, code: 'resource_missing'})
  const again = await stripe.paymentMethods.attach('pm_card_visa', {customer: id})
  t.deepEqual({...counts(), events: 0}, {...counted, events: 0})
  t.is((await stripe.invoices.list({customer: id, status: 'open'})).data.length, 0)
  await stripe.customers.update(id, {invoice_settings: {default_payment_method: again.id}})
  const after = await stripe.subscriptions.retrieve(sub.id, {expand: ['latest_invoice', 'customer']})
  t.is(JSON.stringify({...after, customer: 0}), JSON.stringify({...JSON.parse(before), customer: 0}))
  t.is((await stripe.subscriptions.update(sub.id, upgrade(sub, business))).items.data[0]!.price.id, business)
})

test('an upgrade whose answer is lost took effect, and a repeat with its key is charged once', async t => {
  const {payment, stripe} = await openPayment(t)
  const {team, business} = await openShop(stripe)
  const {id} = await addCustomer(stripe)
  const sub = await subscribe(stripe, id, team)
  await payment.advance(10 * day)
  payment.faults.add({method: 'POST', path: '/v1/subscriptions/*', action: {type: 'slow', ms: 300, when: 'after'}})
  const change = (options: Stripe.RequestOptions) =>
    stripe.subscriptions.update(sub.id, upgrade(sub, business), {idempotencyKey: 'chg:1', ...options})
  t.is((await refusal(t, change({timeout: 40}))).type, 'StripeConnectionError')
  t.is((await stripe.subscriptions.retrieve(sub.id)).items.data[0]!.price.id, business)
  const charged = payment.money().charged
  t.is((await change({})).items.data[0]!.price.id, business)
  t.like(payment.money(), {charged, difference: 0})
  t.is((await stripe.invoices.list({subscription: sub.id})).data.length, 2)
})

test('a preview has the lines and totals of the later update, to the second', async t => {
  const {payment, stripe} = await openPayment(t)
  const {team, business, businessYear} = await openShop(stripe)
  const {id} = await addCustomer(stripe)
  for (const [price, seconds] of [
    [business, 12 * day + 12_345],
    [businessYear, 3 * day + 7],
  ] as const) {
    const sub = await subscribe(stripe, id, team)
    await payment.advance(seconds)
    const date = payment.now()
    const details = {items: [{id: sub.items.data[0]!.id, price}], proration_behavior: 'always_invoice' as const, proration_date: date}
    const counted = payment.all('invoice').length
    const preview = await stripe.invoices.createPreview({subscription: sub.id, subscription_details: details})
    t.is(payment.all('invoice').length, counted)
    await payment.advance(1799)
    const updated = await stripe.subscriptions.update(sub.id, {...upgrade(sub, price), proration_date: date, expand: ['latest_invoice']})
    const invoice = updated.latest_invoice as Stripe.Invoice
    t.is(invoice.amount_paid, preview.amount_due)
    t.deepEqual(linesOf(invoice), linesOf(preview))
    const {current_period_start: start, current_period_end: end} = sub.items.data[0]!
    const credit = Math.round((3000 * (end - date)) / (end - start))
    t.is(invoice.lines.data[0]!.amount, -credit)
    const isYear = price === businessYear
    t.is(invoice.lines.data[1]!.amount, isYear ? 90_000 : Math.round((9000 * (end - date)) / (end - start)))
    const {current_period_start: from, current_period_end: to} = updated.items.data[0]!
    t.is(Math.round((to - from) / day), isYear ? 365 : Math.round((end - start) / day))
    t.is(updated.billing_cycle_anchor, isYear ? payment.now() : sub.billing_cycle_anchor)
  }
  t.is(payment.money().difference, 0)
})

test('a credit is calculated from the amount charged, not from the current price', async t => {
  const {payment, stripe} = await openPayment(t)
  const {team, business} = await openShop(stripe)
  const {id} = await addCustomer(stripe)
  const sub = await subscribe(stripe, id, team)
  const {current_period_end: end} = sub.items.data[0]!
  await payment.advance(10 * day)
  const up = await stripe.subscriptions.update(sub.id, {...upgrade(sub, business), expand: ['latest_invoice']})
  const debit = (up.latest_invoice as Stripe.Invoice).lines.data[1]!
  await payment.advance(5 * day)
  const down = await stripe.subscriptions.update(sub.id, {...upgrade(sub, team), expand: ['latest_invoice']})
  const invoice = down.latest_invoice as Stripe.Invoice
  const left = (end - payment.now()) / (end - debit.period.start)
  t.is(invoice.lines.data[0]!.amount, -Math.round(debit.amount * left))
  t.like(invoice, {status: 'paid', amount_due: 0, amount_paid: 0})
  t.true(invoice.total < 0)
  t.is(((await stripe.customers.retrieve(id)) as Stripe.Customer).balance, invoice.total)
  const next = await stripe.invoices.createPreview({subscription: sub.id})
  t.is(next.amount_due, Math.max(0, 3000 + invoice.total))
  t.is(payment.money().difference, 0)
})

test('prorations wait for the next invoice or are not made, and a proration date has to be in its period', async t => {
  const {payment, stripe} = await openPayment(t)
  const {team, business} = await openShop(stripe)
  const {id} = await addCustomer(stripe)
  const sub = await subscribe(stripe, id, team)
  await payment.advance(15 * day)
  const items = [{id: sub.items.data[0]!.id, price: business}]
  const date = {...upgrade(sub, business), proration_date: sub.items.data[0]!.current_period_end + 1}
  t.is((await refusal(t, stripe.subscriptions.update(sub.id, date))).param, 'proration_date')
  const both = {items, proration_date: payment.now(), billing_cycle_anchor: {type: 'now'} as const}
  t.regex((await refusal(t, stripe.subscriptions.update(sub.id, both))).message, /cannot specify `proration_date`/)
  const changed = await stripe.subscriptions.update(sub.id, {items})
  t.is(changed.latest_invoice, sub.latest_invoice)
  const preview = await stripe.invoices.createPreview({subscription: sub.id})
  t.is(preview.lines.data.filter(line => line.parent!.subscription_item_details!.proration).length, 2)
  await payment.advanceTo(sub.items.data[0]!.current_period_end)
  const [draft] = (await stripe.invoices.list({subscription: sub.id})).data
  t.is(draft!.total, preview.total)
  await stripe.subscriptions.update(sub.id, {items: [{id: items[0]!.id, price: team}], proration_behavior: 'none'})
  t.is((await stripe.invoices.createPreview({subscription: sub.id})).total, 3000)
})

test('a manually restarted period credits the old one and is paid in full', async t => {
  const {payment, stripe} = await openPayment(t)
  const {team} = await openShop(stripe)
  const {id} = await addCustomer(stripe)
  const sub = await subscribe(stripe, id, team)
  const {current_period_start: start, current_period_end: end} = sub.items.data[0]!
  await payment.advance(10 * day)
  const change = {billing_cycle_anchor: {type: 'now'}, proration_behavior: 'always_invoice'} as const
  const anew = await stripe.subscriptions.update(sub.id, {...change, expand: ['latest_invoice']})
  t.is(anew.billing_cycle_anchor, payment.now())
  const credit = Math.round((3000 * (end - payment.now())) / (end - start))
  t.deepEqual(linesOf(anew.latest_invoice as Stripe.Invoice), [
    [-credit, true],
    [3000, false],
  ])
  t.is((await refusal(t, stripe.subscriptions.update(sub.id, {items: [{id: sub.items.data[0]!.id, deleted: true}]}))).param, 'items')
})

test('allow_incomplete applies the plan with an open invoice, and paying it reactivates the subscription', async t => {
  const {payment, stripe} = await openPayment(t)
  const {team, business} = await openShop(stripe)
  const {id, card} = await addCustomer(stripe)
  const sub = await subscribe(stripe, id, team)
  payment.setCard(card, 'card_declined')
  const owing = await stripe.subscriptions.update(sub.id, upgrade(sub, business, {payment_behavior: 'allow_incomplete'}))
  t.like(owing, {status: 'past_due', items: {data: [{price: {id: business}}]}})
  const invoice = owing.latest_invoice as string
  t.like(await stripe.invoices.retrieve(invoice), {status: 'open', next_payment_attempt: payment.now() + 3 * day})
  t.is((await refusal(t, stripe.invoices.pay(invoice))).statusCode, 402)
  payment.setCard(card, 'ok')
  t.is((await stripe.invoices.pay(invoice)).status, 'paid')
  t.is((await stripe.subscriptions.retrieve(sub.id)).status, 'active')
  t.is(payment.money().difference, 0)
})

test('pending_if_incomplete waits 23 hours for its invoice, and accepts few parameters', async t => {
  const {payment, stripe} = await openPayment(t)
  const {team, business} = await openShop(stripe)
  const {id, card} = await addCustomer(stripe)
  const sub = await subscribe(stripe, id, team)
  const change = upgrade(sub, business, {payment_behavior: 'pending_if_incomplete'})
  t.is((await refusal(t, stripe.subscriptions.update(sub.id, {...change, description: 'x'}))).param, 'description')
  payment.setCard(card, 'card_declined')
  const waiting = await stripe.subscriptions.update(sub.id, change)
  t.like(waiting, {status: 'active', items: {data: [{price: {id: team}}]}})
  t.like(waiting.pending_update, {expires_at: payment.now() + 23 * 3600, subscription_items: [{price: {id: business}}]})
  await payment.advance(23 * 3600)
  t.is((await stripe.subscriptions.retrieve(sub.id)).pending_update, null)
  t.is((await stripe.invoices.retrieve(waiting.latest_invoice as string)).status, 'void')
  const again = await stripe.subscriptions.update(sub.id, change)
  payment.setCard(card, 'ok')
  await stripe.invoices.pay(again.latest_invoice as string)
  t.like(await stripe.subscriptions.retrieve(sub.id), {pending_update: null, items: {data: [{price: {id: business}}]}})
  t.is(payment.money().difference, 0)
})

test('an upgrade can withdraw a cancellation in the same call, and neither happens without the other', async t => {
  const {payment, stripe} = await openPayment(t)
  const {team, business} = await openShop(stripe)
  const {id, card} = await addCustomer(stripe)
  const sub = await subscribe(stripe, id, team)
  await stripe.subscriptions.update(sub.id, {cancel_at_period_end: true})
  const change = upgrade(sub, business, {cancel_at_period_end: false, metadata: {plan: 'business'}})
  payment.setCard(card, 'card_declined')
  await refusal(t, stripe.subscriptions.update(sub.id, change))
  t.like(await stripe.subscriptions.retrieve(sub.id), {cancel_at_period_end: true, metadata: {}})
  payment.setCard(card, 'ok')
  const changed = await stripe.subscriptions.update(sub.id, change)
  t.like(changed, {cancel_at: null, metadata: {plan: 'business'}, items: {data: [{price: {id: business}}]}})
})
