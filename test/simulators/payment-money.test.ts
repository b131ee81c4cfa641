import test from 'ava'
import type {Stripe} from 'stripe'
import {addCustomer, openPayment, openShop, refusal, subscribe} from './payment-caller.ts'

const day = 24 * 3600

test('a single payment can be taken, declined, cancelled, or wait for the bank', async t => {
  const {payment, stripe} = await openPayment(t)
  const {id, card} = await addCustomer(stripe)
  const pay = (more: Partial<Stripe.PaymentIntentCreateParams> = {}) =>
    stripe.paymentIntents.create({
      amount: 1500,
      currency: 'eur',
      customer: id,
      payment_method: card,
      allowed_payment_method_types: ['card'],
      off_session: true,
      confirm: true,
      metadata: {kind: 'autotopup'},
      ...more,
    })
  t.like(await pay(), {status: 'succeeded', amount_received: 1500, metadata: {kind: 'autotopup'}})
  payment.setCard(card, 'insufficient_funds')
  const declined = await refusal(t, pay())
  t.like(declined, {statusCode: 402, code: 'card_declined', decline_code: 'insufficient_funds'})
  const left = await stripe.paymentIntents.retrieve(declined.payment_intent.id)
  t.is(left.status, 'requires_payment_method')
  t.is((await stripe.paymentIntents.cancel(left.id)).status, 'canceled')
  t.is((await refusal(t, stripe.paymentIntents.confirm(left.id, {payment_method: card}))).code, 'payment_intent_unexpected_state')
  payment.setCard(card, 'authentication_required')
  t.like(await refusal(t, pay()), {statusCode: 402, code: 'authentication_required'})
  t.is((await pay({off_session: false})).status, 'requires_action')
  payment.setCard(card, 'ok')
  const later = await pay({confirm: false, off_session: undefined as never})
  t.is(later.status, 'requires_confirmation')
  t.is((await stripe.paymentIntents.confirm(later.id)).status, 'succeeded')
  t.is((await refusal(t, pay({amount: 10}))).code, 'amount_too_small')
  t.is((await stripe.paymentIntents.list({customer: id})).data.length, 5)
  t.like(payment.money(), {charged: 3000, payments: 3000, difference: 0})
})

test('a slow card delays its charge, which happens once', async t => {
  const {payment, stripe} = await openPayment(t, {settings: {slowCardMs: 30}})
  const {team} = await openShop(stripe)
  const {id, card} = await addCustomer(stripe)
  payment.setCard(card, 'slow')
  const before = performance.now()
  await subscribe(stripe, id, team)
  t.true(performance.now() - before >= 30)
  t.is(payment.money().charged, 3000)
})

test('an uncollected renewal is retried, and then the configured action follows', async t => {
  const ends = {unpaid: 'unpaid', cancel: 'canceled', pause: 'paused', past_due: 'past_due'} as const
  for (const [afterRetries, status] of Object.entries(ends)) {
    const {payment, stripe} = await openPayment(t, {settings: {afterRetries: afterRetries as keyof typeof ends}})
    const {team} = await openShop(stripe)
    const {id, card} = await addCustomer(stripe)
    const sub = await subscribe(stripe, id, team)
    payment.setCard(card, 'card_declined')
    await payment.advanceTo(sub.items.data[0]!.current_period_end + 3600)
    const owing = await stripe.subscriptions.retrieve(sub.id, {expand: ['latest_invoice']})
    t.is(owing.status, 'past_due')
    t.like(owing.latest_invoice, {status: 'open', attempt_count: 1, next_payment_attempt: payment.now() + 3 * day})
    await payment.advance(16 * day)
    t.is((await stripe.subscriptions.retrieve(sub.id)).status, status)
    t.like(await stripe.invoices.retrieve((owing.latest_invoice as Stripe.Invoice).id!), {attempt_count: 4, next_payment_attempt: null})
    t.like(payment.money(), {charged: 3000, difference: 0})
    if (afterRetries !== 'unpaid') continue
    payment.setCard(card, 'ok')
    await stripe.invoices.pay((owing.latest_invoice as Stripe.Invoice).id!)
    t.is((await stripe.subscriptions.retrieve(sub.id)).status, 'active')
  }
})

test('a successful retry reactivates the subscription', async t => {
  const {payment, stripe} = await openPayment(t)
  const {team} = await openShop(stripe)
  const {id, card} = await addCustomer(stripe)
  const sub = await subscribe(stripe, id, team)
  payment.setCard(card, 'insufficient_funds')
  await payment.advanceTo(sub.items.data[0]!.current_period_end + 3600)
  payment.setCard(card, 'ok')
  await payment.advance(3 * day)
  t.is((await stripe.subscriptions.retrieve(sub.id)).status, 'active')
  t.like(payment.money(), {charged: 6000, difference: 0})
  const types = (await stripe.events.list({limit: 100})).data.map(event => event.type)
  t.true(types.includes('invoice.payment_failed'))
})

test('a paused subscription charges nothing until it is resumed, which is charged', async t => {
  const {payment, stripe} = await openPayment(t)
  const {team} = await openShop(stripe)
  const {id, card} = await addCustomer(stripe)
  const sub = await subscribe(stripe, id, team)
  const paused = await payment.dashboard.pause(sub.id)
  t.like(paused, {status: 'paused', status_details: {paused: {subscription: {type: 'pause_requested'}}}})
  await payment.advance(40 * day)
  t.is(payment.money().charged, 3000)
  payment.setCard(card, 'card_declined')
  t.is((await refusal(t, stripe.subscriptions.resume(sub.id))).statusCode, 402)
  payment.setCard(card, 'ok')
  t.like(await stripe.subscriptions.resume(sub.id), {status: 'active', billing_cycle_anchor: payment.now()})
  t.like(payment.money(), {charged: 6000, difference: 0})
  await refusal(t, stripe.subscriptions.resume(sub.id))
})

test('an open invoice can be paid on its page', async t => {
  const {payment, stripe} = await openPayment(t)
  const {team} = await openShop(stripe)
  const {id} = await addCustomer(stripe, 'pm_card_authenticationRequired')
  const sub = await subscribe(stripe, id, team, {expand: ['latest_invoice']})
  const {hosted_invoice_url: url, id: invoice} = sub.latest_invoice as Stripe.Invoice
  const submit = (card: string) => fetch(url!, {method: 'POST', body: new URLSearchParams({card})})
  t.regex(await (await submit('4000000000000002')).text(), /Your card was declined/)
  t.regex(await (await submit('4000002760003184')).text(), /: paid/)
  t.is((await stripe.subscriptions.retrieve(sub.id)).status, 'active')
  t.is((await stripe.invoices.retrieve(invoice!)).status, 'paid')
  t.like(payment.money(), {charged: 3000, difference: 0})
})

test('overage is metered monthly beside a yearly plan, counted with delay, and billed at the renewal', async t => {
  const {payment, stripe} = await openPayment(t)
  const {businessYear} = await openShop(stripe)
  const {id} = await addCustomer(stripe)
  const meter = await stripe.billing.meters.create({display_name: 'Rows', event_name: 'rows', default_aggregation: {formula: 'sum'}})
  const product = await stripe.products.create({name: 'Rows'})
  const recurring = {interval: 'month', usage_type: 'metered', meter: meter.id} as const
  const price = await stripe.prices.create({product: product.id, currency: 'eur', unit_amount_decimal: '0.5' as never, recurring})
  const sub = await subscribe(stripe, id, businessYear)
  const item = await stripe.subscriptionItems.create({subscription: sub.id, price: price.id, proration_behavior: 'none'})
  t.is(item.quantity, undefined)
  t.regex((await refusal(t, stripe.subscriptionItems.create({subscription: sub.id, price: price.id}))).message, /same plan/)
  const send = (value: string, identifier: string, more: object = {}) =>
    stripe.billing.meterEvents.create({event_name: 'rows', payload: {stripe_customer_id: id, value}, identifier, ...more})
  await send('1000', 'run1:1')
  t.is((await refusal(t, send('1000', 'run1:1'))).code, 'duplicate_meter_event')
  await refusal(t, send('1', 'old', {timestamp: payment.now() - 36 * day}))
  await refusal(t, send('1', 'early', {timestamp: payment.now() + 301}))
  await send('700', 'run1:2')
  await send('5000', 'wrong')
  await stripe.billing.meterEventAdjustments.create({event_name: 'rows', type: 'cancel', cancel: {identifier: 'wrong'}})
  await send('x', 'bad')
  const start = Math.floor(payment.now() / day) * day
  const total = async () => {
    const asked = {customer: id, start_time: start, end_time: start + day}
    return (await stripe.billing.meters.listEventSummaries(meter.id, asked)).data[0]!.aggregated_value
  }
  t.is(await total(), 0)
  await payment.advance(60)
  t.is(await total(), 1700)
  t.is(payment.state().meterErrors[0]!.code, 'meter_event_invalid_value')
  await payment.advanceTo(item.current_period_end + 3600)
  const [invoice] = (await stripe.invoices.list({subscription: sub.id})).data
  t.like(invoice, {billing_reason: 'subscription_cycle', total: 850, status: 'paid', lines: {data: [{quantity: 1700}]}})
  t.like(payment.money(), {charged: 90_850, difference: 0})
})

test('the portal changes the card, cancels by date and withdraws, each with its events', async t => {
  const {stripe} = await openPayment(t)
  const {team} = await openShop(stripe)
  const {id} = await addCustomer(stripe)
  t.is((await refusal(t, stripe.billingPortal.sessions.create({customer: id}))).statusCode, 400)
  const features = {
    payment_method_update: {enabled: true},
    invoice_history: {enabled: true},
    subscription_cancel: {enabled: true, mode: 'at_period_end', proration_behavior: 'none'},
    subscription_update: {enabled: false},
  } as const
  const configuration = await stripe.billingPortal.configurations.create({features, default_return_url: 'http://127.0.0.1:9/'})
  t.false(configuration.features.subscription_update.enabled)
  const sub = await subscribe(stripe, id, team)
  const session = await stripe.billingPortal.sessions.create({customer: id, configuration: configuration.id})
  const act = (form: Record<string, string>) => fetch(session.url, {method: 'POST', body: new URLSearchParams(form)})
  t.regex(await (await fetch(session.url)).text(), /Cancel the subscription/)
  t.regex(await (await act({do: 'cancel', subscription: sub.id})).text(), /It ends on/)
  const end = sub.items.data[0]!.current_period_end
  t.like(await stripe.subscriptions.retrieve(sub.id), {cancel_at: end, cancel_at_period_end: false})
  await act({do: 'take back', subscription: sub.id})
  t.is((await stripe.subscriptions.retrieve(sub.id)).cancel_at, null)
  t.regex(await (await act({do: 'change card', card: '4000000000000002'})).text(), /Your card was declined/)
  await act({do: 'change card', card: '5555555555554444'})
  const customer = await stripe.customers.retrieve(id, {expand: ['invoice_settings.default_payment_method']})
  t.like(customer, {invoice_settings: {default_payment_method: {card: {brand: 'mastercard'}}}})
  const [last] = (await stripe.events.list({type: 'customer.subscription.updated'})).data
  t.is(last!.request!.idempotency_key, null)
})

test('the dashboard changes a price, adds a coupon, refunds, disputes and cancels', async t => {
  const {payment, stripe} = await openPayment(t)
  const {team, business} = await openShop(stripe)
  const {id} = await addCustomer(stripe)
  const sub = await subscribe(stripe, id, team)
  await payment.dashboard.changePrice(sub.id, business)
  t.is((await stripe.subscriptions.retrieve(sub.id)).items.data[0]!.price.id, business)
  const coupon = await stripe.coupons.create({percent_off: 50, duration: 'once'})
  await payment.dashboard.addCoupon(sub.id, coupon.id)
  await payment.advanceTo(sub.items.data[0]!.current_period_end + 3600)
  const [renewal] = (await stripe.invoices.list({subscription: sub.id, limit: 1})).data
  t.is(renewal!.total, renewal!.subtotal - Math.round(renewal!.subtotal / 2))
  t.deepEqual((await stripe.subscriptions.retrieve(sub.id)).discounts, [])
  const [charge] = payment.all('charge')
  await payment.dashboard.refund(charge!.id, 1000)
  t.like(await stripe.charges.retrieve(charge!.id), {amount_refunded: 1000, refunded: false})
  t.is((await refusal(t, stripe.refunds.create({charge: charge!.id, amount: 2001}))).param, 'amount')
  const dispute = await payment.dashboard.dispute(charge!.id)
  await payment.dashboard.closeDispute(dispute.id, 'lost')
  t.is((await stripe.disputes.retrieve(dispute.id)).status, 'lost')
  await payment.dashboard.cancelAtPeriodEnd(sub.id)
  t.true((await stripe.subscriptions.retrieve(sub.id)).cancel_at_period_end)
  await payment.dashboard.cancelNow(sub.id)
  t.is((await stripe.subscriptions.retrieve(sub.id)).status, 'canceled')
  t.like(payment.money(), {refunded: 1000, difference: 0})
  const types = new Set((await stripe.events.list({limit: 100})).data.map(event => event.type))
  for (const type of ['charge.refunded', 'charge.dispute.created', 'charge.dispute.closed'] as const) t.true(types.has(type))
})
