import test from 'ava'
import type {Stripe} from 'stripe'
import {addCustomer, openPayment, openShop, refusal, subscribe} from './payment-caller.ts'

const day = 24 * 3600

test('a subscription is paid at once, and its items have the period', async t => {
  const {payment, stripe} = await openPayment(t, {at: '2026-01-31T10:00:00Z'})
  const {team} = await openShop(stripe)
  const {id} = await addCustomer(stripe)
  const sub = await subscribe(stripe, id, team, {metadata: {org_id: 'o1'}, expand: ['latest_invoice.payments', 'customer']})
  t.like(sub, {status: 'active', billing_mode: {type: 'flexible'}, customer: {id, object: 'customer'}})
  const invoice = sub.latest_invoice as Stripe.Invoice
  t.like(invoice, {status: 'paid', amount_paid: 3000, billing_reason: 'subscription_create'})
  t.like(invoice.parent, {subscription_details: {subscription: sub.id, metadata: {org_id: 'o1'}}})
  t.is(invoice.payments!.data[0]!.status, 'paid')
  const periodEnds = [sub.items.data[0]!.current_period_end]
  for (let month = 0; month < 3; month += 1) {
    await payment.advanceTo(periodEnds.at(-1)!)
    periodEnds.push((await stripe.subscriptions.retrieve(sub.id)).items.data[0]!.current_period_end)
  }
  t.deepEqual(
    periodEnds.map(at => new Date(at * 1000).toISOString().slice(0, 10)),
    ['2026-02-28', '2026-03-31', '2026-04-30', '2026-05-31'],
  )
})

test('a renewal invoice is a draft for an hour and then collected', async t => {
  const {payment, stripe} = await openPayment(t)
  const {team} = await openShop(stripe)
  const {id} = await addCustomer(stripe)
  const sub = await subscribe(stripe, id, team)
  await payment.advanceTo(sub.items.data[0]!.current_period_end)
  const [draft] = (await stripe.invoices.list({subscription: sub.id})).data
  t.like(draft, {status: 'draft', billing_reason: 'subscription_cycle', amount_due: 3000})
  await payment.advance(3600)
  t.is((await stripe.invoices.retrieve(draft!.id!)).status, 'paid')
  t.like(payment.money(), {charged: 6000, invoices: 6000, difference: 0})
  const types = (await stripe.events.list({limit: 100})).data.map(event => event.type)
  t.true(['invoice.created', 'invoice.finalized', 'invoice.paid', 'charge.succeeded'].every(type => types.includes(type as never)))
})

test('a first payment that never arrives ends the subscription after 23 hours', async t => {
  const {payment, stripe} = await openPayment(t)
  const {team} = await openShop(stripe)
  const {id} = await addCustomer(stripe, 'pm_card_chargeCustomerFail')
  t.is((await refusal(t, subscribe(stripe, id, team, {payment_behavior: 'error_if_incomplete'}))).statusCode, 402)
  t.is((await stripe.subscriptions.list({customer: id, status: 'all'})).data.length, 0)
  const sub = await subscribe(stripe, id, team)
  t.is(sub.status, 'incomplete')
  await payment.advance(23 * 3600)
  t.is((await stripe.subscriptions.retrieve(sub.id)).status, 'incomplete_expired')
  t.is((await stripe.invoices.retrieve(sub.latest_invoice as string)).status, 'void')
})

test('a cancellation can be set by flag or date, withdrawn, and takes effect', async t => {
  const {payment, stripe} = await openPayment(t)
  const {team} = await openShop(stripe)
  const {id} = await addCustomer(stripe)
  const sub = await subscribe(stripe, id, team)
  const end = sub.items.data[0]!.current_period_end
  t.like(await stripe.subscriptions.update(sub.id, {cancel_at_period_end: true}), {cancel_at_period_end: true, cancel_at: end})
  t.like(await stripe.subscriptions.update(sub.id, {cancel_at_period_end: false}), {cancel_at_period_end: false, cancel_at: null})
  t.like(await stripe.subscriptions.update(sub.id, {cancel_at: end}), {cancel_at_period_end: false, cancel_at: end})
  t.like(await stripe.subscriptions.update(sub.id, {cancel_at: ''}), {cancel_at: null, canceled_at: null})
  await refusal(t, stripe.subscriptions.update(sub.id, {cancel_at: end, cancel_at_period_end: true}))
  await stripe.subscriptions.update(sub.id, {cancel_at_period_end: true})
  await payment.advanceTo(end)
  t.like(await stripe.subscriptions.retrieve(sub.id), {status: 'canceled', ended_at: end})
  t.is((await stripe.subscriptions.list({customer: id})).data.length, 0)
  t.is((await stripe.subscriptions.list({customer: id, status: 'all'})).data.length, 1)
  t.is((await stripe.events.list({type: 'customer.subscription.deleted'})).data.length, 1)
  t.regex((await refusal(t, stripe.subscriptions.update(sub.id, {cancel_at_period_end: false}))).message, /canceled subscription/)
  t.is(payment.money().charged, 3000)
  const other = await subscribe(stripe, id, team)
  t.is((await stripe.subscriptions.cancel(other.id)).status, 'canceled')
  t.like(await refusal(t, stripe.subscriptions.cancel(other.id)), {statusCode: 404, code: 'resource_missing'})
})

test('a trial is announced three days before its end, and ends as set', async t => {
  const {payment, stripe} = await openPayment(t)
  const {team, business} = await openShop(stripe)
  const [rich, bare] = [await addCustomer(stripe), await addCustomer(stripe, null)]
  const trial_end = payment.now() + 14 * day
  const sub = await subscribe(stripe, rich.id, team, {trial_end})
  t.like(sub, {status: 'trialing', trial_end})
  const items = [{id: sub.items.data[0]!.id, price: business}]
  const change = await stripe.subscriptions.update(sub.id, {items, proration_behavior: 'always_invoice'})
  t.like(change, {status: 'trialing', latest_invoice: sub.latest_invoice as string})
  t.is((await refusal(t, stripe.subscriptions.update(sub.id, {trial_end: payment.now() - 1}))).param, 'trial_end')
  const behaviours = ['cancel', 'pause', 'create_invoice'] as const
  const bares = await Promise.all(
    behaviours.map(missing =>
      subscribe(stripe, bare.id, team, {trial_end, trial_settings: {end_behavior: {missing_payment_method: missing}}}),
    ),
  )
  await payment.advance(11 * day)
  t.is((await stripe.events.list({type: 'customer.subscription.trial_will_end'})).data.length, 4)
  await payment.advance(3 * day + 3600)
  t.like(await stripe.subscriptions.retrieve(sub.id), {
    status: 'active',
    items: {data: [{price: {id: business}, current_period_start: trial_end}]},
  })
  t.is(payment.money(rich.id).charged, 9000)
  const statuses = await Promise.all(bares.map(async one => (await stripe.subscriptions.retrieve(one.id)).status))
  t.deepEqual(statuses, ['canceled', 'paused', 'past_due'])
})

test('a cancel flag means the earliest end of all items and follows them, while a cancel date is fixed', async t => {
  const {payment, stripe} = await openPayment(t)
  const {businessYear} = await openShop(stripe)
  const {id} = await addCustomer(stripe)
  const meter = await stripe.billing.meters.create({display_name: 'Rows', event_name: 'rows', default_aggregation: {formula: 'sum'}})
  const product = await stripe.products.create({name: 'Rows'})
  const recurring = {interval: 'month', usage_type: 'metered', meter: meter.id} as const
  const price = await stripe.prices.create({product: product.id, currency: 'eur', unit_amount: 1, recurring})
  const sub = await subscribe(stripe, id, businessYear)
  const year = sub.items.data[0]!.current_period_end
  t.like(await stripe.subscriptions.update(sub.id, {cancel_at_period_end: true}), {cancel_at: year})
  const {current_period_end: month} = await stripe.subscriptionItems.create({subscription: sub.id, price: price.id})
  t.like(await stripe.subscriptions.retrieve(sub.id), {cancel_at_period_end: true, cancel_at: month})
  t.like(await stripe.subscriptions.update(sub.id, {cancel_at: 'max_period_end'}), {cancel_at_period_end: false, cancel_at: year})
  t.like(await stripe.subscriptions.update(sub.id, {cancel_at: 'min_period_end'}), {cancel_at: month})
  t.like(await stripe.subscriptions.update(sub.id, {cancel_at: year}), {cancel_at: year})
  await payment.advanceTo(month + 3600)
  t.is((await stripe.subscriptions.retrieve(sub.id)).status, 'active')
  await payment.advanceTo(year)
  t.is((await stripe.subscriptions.retrieve(sub.id)).status, 'canceled')
})
