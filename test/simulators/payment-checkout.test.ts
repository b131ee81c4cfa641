import test from 'ava'
import type {Stripe} from 'stripe'
import {addCustomer, openPayment, openShop, refusal} from './payment-caller.ts'

const hour = 3600
const urls = {success_url: 'http://127.0.0.1:9/done?s={CHECKOUT_SESSION_ID}', cancel_url: 'http://127.0.0.1:9/back'}

const planSession = (
  customer: string,
  price: string,
  more: Partial<Stripe.Checkout.SessionCreateParams> = {},
): Stripe.Checkout.SessionCreateParams => ({
  mode: 'subscription',
  customer,
  client_reference_id: 'o1',
  line_items: [{price, quantity: 1}],
  allowed_payment_method_types: ['card'],
  payment_method_collection: 'always',
  customer_update: {name: 'auto', address: 'auto'},
  tax_id_collection: {enabled: true},
  metadata: {kind: 'plan'},
  ...urls,
  ...more,
})

test('a plan is bought on the Checkout page, first declined, then paid', async t => {
  const {payment, stripe} = await openPayment(t)
  const {team} = await openShop(stripe)
  const {id} = await addCustomer(stripe, null)
  const data = {billing_mode: {type: 'flexible' as const}, metadata: {org_id: 'o1'}}
  const session = await stripe.checkout.sessions.create(planSession(id, team, {subscription_data: data, expand: ['line_items']}))
  t.like(session, {
    status: 'open',
    payment_status: 'unpaid',
    amount_total: 3000,
    client_reference_id: 'o1',
    line_items: {data: [{quantity: 1}]},
  })
  const page = await (await fetch(session.url!)).text()
  t.regex(page, /Team/)
  t.regex(page, /30\.00 EUR/)
  t.notRegex(page, /<script|https:/)
  const submit = (card: string) => fetch(session.url!, {method: 'POST', body: new URLSearchParams({card}), redirect: 'manual'})
  const declined = await submit('4000 0000 0000 0002')
  t.is(declined.status, 402)
  t.regex(await declined.text(), /Your card was declined/)
  t.is((await stripe.checkout.sessions.retrieve(session.id)).status, 'open')
  t.is((await stripe.subscriptions.list({customer: id, status: 'all'})).data.length, 0)
  const paid = await submit('4242 4242 4242 4242')
  t.is(paid.status, 303)
  t.is(paid.headers.get('location'), `http://127.0.0.1:9/done?s=${session.id}`)
  const complete = await stripe.checkout.sessions.retrieve(session.id, {expand: ['subscription.default_payment_method']})
  t.like(complete, {status: 'complete', payment_status: 'paid', url: null})
  const sub = complete.subscription as Stripe.Subscription
  t.like(sub, {status: 'active', metadata: {org_id: 'o1'}, default_payment_method: {card: {last4: '4242'}}})
  t.is((await stripe.events.list({type: 'checkout.session.completed'})).data.length, 1)
  t.regex(await (await fetch(session.url!)).text(), /paid already/)
  t.regex((await refusal(t, stripe.checkout.sessions.expire(session.id))).message, /status of `complete`/)
  t.like(payment.money(), {charged: 3000, difference: 0})
})

test('a session expires at its time or on request, once, and open ones are found by status', async t => {
  const {payment, stripe} = await openPayment(t)
  const {team} = await openShop(stripe)
  const {id} = await addCustomer(stripe)
  const create = (expires_at: number) => stripe.checkout.sessions.create(planSession(id, team, {expires_at}))
  t.is((await refusal(t, create(payment.now() + 1799))).param, 'expires_at')
  t.is((await refusal(t, create(payment.now() + 24 * hour + 1))).param, 'expires_at')
  const [short, long] = [await create(payment.now() + hour), await create(payment.now() + 24 * hour)]
  await payment.advance(hour)
  t.is((await stripe.checkout.sessions.retrieve(short.id)).status, 'expired')
  t.deepEqual(
    (await stripe.checkout.sessions.list({customer: id, status: 'open'})).data.map(one => one.id),
    [long.id],
  )
  t.is((await stripe.checkout.sessions.expire(long.id)).status, 'expired')
  t.regex((await refusal(t, stripe.checkout.sessions.expire(long.id))).message, /Only Checkout Sessions with a status in/)
  t.is((await stripe.events.list({type: 'checkout.session.expired'})).data.length, 2)
  await t.throwsAsync(payment.payCheckout(long.id), {message: /no longer active/})
})

test('two open sessions can both be paid', async t => {
  const {payment, stripe} = await openPayment(t)
  const {team} = await openShop(stripe)
  const {id} = await addCustomer(stripe)
  const [one, two] = [
    await stripe.checkout.sessions.create(planSession(id, team)),
    await stripe.checkout.sessions.create(planSession(id, team)),
  ]
  await payment.payCheckout(one.id)
  await payment.payCheckout(two.id)
  t.is((await stripe.subscriptions.list({customer: id})).data.length, 2)
  t.like(payment.money(id), {charged: 6000, difference: 0})
})

test('a trial has to last two days, when the page is made and when it is paid', async t => {
  const {payment, stripe} = await openPayment(t)
  const {team} = await openShop(stripe)
  const {id} = await addCustomer(stripe)
  const create = (trial_end: number) => stripe.checkout.sessions.create(planSession(id, team, {subscription_data: {trial_end}}))
  const late = await refusal(t, create(payment.now() + 48 * hour - 1))
  t.like(late, {
    statusCode: 400,
    message: 'The `trial_end` date has to be at least 2 days in the future.',
    param: 'subscription_data[trial_end]',
  })
  const end = payment.now() + 49 * hour
  const session = await create(end)
  t.is(session.amount_total, 0)
  await payment.advance(2 * hour)
  await t.throwsAsync(payment.payCheckout(session.id), {message: /at least 2 days/})
  t.is((await stripe.checkout.sessions.retrieve(session.id)).status, 'open')
  const other = await create(payment.now() + 72 * hour)
  const paid = await payment.payCheckout(other.id)
  t.is(paid.payment_status, 'no_payment_required')
  t.is((await stripe.subscriptions.retrieve(paid.subscription)).status, 'trialing')
})

test('a pack is sold with or without an invoice, and the card may be kept', async t => {
  const {payment, stripe} = await openPayment(t)
  const {pack, team} = await openShop(stripe)
  const {id} = await addCustomer(stripe, null)
  const packSession = (more: Partial<Stripe.Checkout.SessionCreateParams> = {}) =>
    stripe.checkout.sessions.create({mode: 'payment', customer: id, line_items: [{price: pack, quantity: 3}], ...urls, ...more})
  t.is((await refusal(t, packSession({line_items: [{price: team, quantity: 1}]}))).param, 'mode')
  const data = {setup_future_usage: 'off_session' as const, metadata: {kind: 'pack'}}
  const session = await packSession({invoice_creation: {enabled: true}, payment_intent_data: data})
  await t.throwsAsync(payment.payCheckout(session.id, {card: 'pm_card_chargeCustomerFail'}))
  t.is(payment.all('invoice').length, 0)
  await payment.payCheckout(session.id)
  const paid = await stripe.checkout.sessions.retrieve(session.id, {expand: ['payment_intent', 'invoice']})
  t.like(paid, {
    payment_status: 'paid',
    invoice: {status: 'paid', total: 4500},
    payment_intent: {metadata: {kind: 'pack'}, amount_received: 4500},
  })
  t.is((await stripe.checkout.sessions.listLineItems(session.id)).data[0]!.quantity, 3)
  const bare = await packSession()
  await payment.payCheckout(bare.id)
  t.is((await stripe.checkout.sessions.retrieve(bare.id)).invoice, null)
  t.like(payment.money(), {charged: 9000, invoices: 4500, payments: 4500, difference: 0})
})

test('a pack paid by bank debit is settled or fails days after the page', async t => {
  const {payment, stripe} = await openPayment(t)
  const {pack} = await openShop(stripe)
  const {id} = await addCustomer(stripe, null)
  const create = (more: Partial<Stripe.Checkout.SessionCreateParams> = {}) =>
    stripe.checkout.sessions.create({mode: 'payment', customer: id, line_items: [{price: pack, quantity: 1}], ...urls, ...more})
  const cardOnly = await create({allowed_payment_method_types: ['card']})
  await t.throwsAsync(payment.payCheckout(cardOnly.id, {card: 'pm_bankDebit'}), {message: /not allowed here/})
  for (const isInvoiced of [true, false]) {
    for (const outcome of ['succeeded', 'failed'] as const) {
      const {charged} = payment.money()
      const session = await create({invoice_creation: {enabled: isInvoiced}})
      const done = await payment.payCheckout(session.id, {card: 'pm_bankDebit'})
      t.like(done, {status: 'complete', payment_status: 'unpaid'})
      t.is(payment.money().charged, charged)
      await payment.advance(4 * 24 * hour)
      await payment.settleCheckout(session.id, outcome)
      const isPaid = outcome === 'succeeded'
      t.is((await stripe.checkout.sessions.retrieve(session.id)).payment_status, isPaid ? 'paid' : 'unpaid')
      t.like(payment.money(), {charged: charged + (isPaid ? 1500 : 0), difference: 0})
      t.is((await stripe.events.list({type: `checkout.session.async_payment_${outcome}`})).data[0]!.data.object.object, 'checkout.session')
      await t.throwsAsync(payment.settleCheckout(session.id, outcome))
    }
  }
})

test('Checkout refuses mixed intervals, a quantity of a metered price, and customer_update without a customer', async t => {
  const {stripe} = await openPayment(t)
  const {team, businessYear} = await openShop(stripe)
  const {id} = await addCustomer(stripe)
  const lines = [
    {price: team, quantity: 1},
    {price: businessYear, quantity: 1},
  ]
  t.is((await refusal(t, stripe.checkout.sessions.create(planSession(id, team, {line_items: lines})))).param, 'line_items')
  const {customer: _, ...guest} = planSession(id, team)
  t.is((await refusal(t, stripe.checkout.sessions.create(guest))).param, 'customer_update')
  const {success_url: __, ...nowhere} = planSession(id, team)
  t.is((await refusal(t, stripe.checkout.sessions.create(nowhere))).param, 'success_url')
  const tax = {...planSession(id, team), customer_update: {address: 'auto' as const}}
  t.regex((await refusal(t, stripe.checkout.sessions.create(tax))).message, /Tax ID collection/)
})
