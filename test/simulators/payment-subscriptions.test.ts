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

test('a subscription is paid for at once and its items carry the period', async t => {
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

test('a renewal is a draft for an hour, then it is collected', async t => {
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

test('an upgrade whose answer is lost was made, and made again with its key it is charged once', async t => {
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

test('a preview names the lines and totals the update then has, to the second', async t => {
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

test('a credit is worked out from what was debited, not from today’s price', async t => {
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

test('prorations wait for the next invoice, or are not made; a date needs its period', async t => {
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

test('allow_incomplete applies the plan and owes; the invoice paid, all is well', async t => {
  const {payment, stripe} = await openPayment(t)
  const {team, business} = await openShop(stripe)
  const {id, card} = await addCustomer(stripe)
  const sub = await subscribe(stripe, id, team)
  payment.setCard(card, 'card_declined')
  const owing = await stripe.subscriptions.update(sub.id, upgrade(sub, business, {payment_behavior: 'allow_incomplete'}))
  t.like(owing, {status: 'past_due', items: {data: [{price: {id: business}}]}})
  const invoice = owing.latest_invoice as string
  t.is((await stripe.invoices.retrieve(invoice)).status, 'open')
  t.is((await refusal(t, stripe.invoices.pay(invoice))).statusCode, 402)
  payment.setCard(card, 'ok')
  t.is((await stripe.invoices.pay(invoice)).status, 'paid')
  t.is((await stripe.subscriptions.retrieve(sub.id)).status, 'active')
  t.is(payment.money().difference, 0)
})

test('pending_if_incomplete waits 23 hours for its invoice, and takes few parameters', async t => {
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

test('a first payment that never comes ends the subscription after 23 hours', async t => {
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

test('cancelling: the flag, the date, taking it back, the end', async t => {
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
})

test('a trial is told of three days ahead and ends as it was set to', async t => {
  const {payment, stripe} = await openPayment(t)
  const {team, business} = await openShop(stripe)
  const [rich, bare] = [await addCustomer(stripe), await addCustomer(stripe, null)]
  const trial_end = payment.now() + 14 * day
  const sub = await subscribe(stripe, rich.id, team, {trial_end})
  t.like(sub, {status: 'trialing', trial_end})
  const change = await stripe.subscriptions.update(sub.id, upgrade(sub, business))
  t.like(change, {status: 'trialing', latest_invoice: sub.latest_invoice as string})
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
