import test from 'ava'
import type {Stripe} from 'stripe'
import {addCustomer, listen, openPayment, openShop, refusal, sdk, subscribe} from './payment-caller.ts'

test('an event has the change, the request and the state at its time', async t => {
  const {stripe} = await openPayment(t)
  const ana = await stripe.customers.create({name: 'Ana', metadata: {a: '1', b: '2'}})
  await stripe.customers.update(ana.id, {name: 'Ana Ono', metadata: {a: '3'}}, {idempotencyKey: 'chg:1'})
  const {data} = await stripe.events.list({type: 'customer.*' as never})
  t.deepEqual(
    data.map(event => event.type),
    ['customer.updated', 'customer.created'],
  )
  const [updated, created] = data
  t.like(updated, {
    api_version: '2026-10-28.endive',
    request: {idempotency_key: 'chg:1'},
    data: {object: {name: 'Ana Ono'}, previous_attributes: {name: 'Ana', metadata: {a: '1'}}},
  })
  t.deepEqual((updated!.data.previous_attributes as any).metadata, {a: '1'})
  t.is((created!.data.object as Stripe.Customer).name, 'Ana')
  t.is((await stripe.events.retrieve(created!.id)).id, created!.id)
  t.is((await stripe.events.list({types: ['product.created']})).data.length, 0)
})

test('deliveries have a signature that the SDK accepts, and only the requested event types', async t => {
  const {payment, stripe} = await openPayment(t, {signedAt: () => Math.floor(Date.now() / 1000)})
  const hook = await listen(t)
  const {secret} = await stripe.webhookEndpoints.create({url: hook.url, enabled_events: ['customer.updated', 'product.created']})
  const ana = await stripe.customers.create({name: 'Ana'})
  await stripe.customers.update(ana.id, {name: 'Ben'})
  await stripe.products.create({name: 'Team'})
  await payment.settle()
  t.deepEqual(
    hook.received.map(({event}) => event.type),
    ['customer.updated', 'product.created'],
  )
  const {body, signature} = hook.received[0]!
  t.is(stripe.webhooks.constructEvent(body, signature, secret!).type, 'customer.updated')
  t.throws(() => stripe.webhooks.constructEvent(body, signature, 'whsec_other'))
  t.is((await stripe.events.list()).data[0]!.pending_webhooks, 0)
})

test('a failed delivery is repeated for three days of the stand-in’s clock', async t => {
  const {payment, stripe} = await openPayment(t)
  let status = 500
  const hook = await listen(t, () => status)
  payment.addEndpoint(hook.url, ['customer.created'])
  await stripe.customers.create({name: 'Ana'})
  await payment.settle()
  t.is(hook.received.length, 1)
  await payment.advance(3600)
  t.is(hook.received.length, 3)
  status = 200
  await payment.advance(24 * 3600)
  await payment.advance(24 * 3600)
  t.is(hook.received.length, 4)
  t.deepEqual(
    payment.deliveries().map(one => one.status),
    [500, 500, 500, 200],
  )

  status = 409
  await stripe.customers.create({name: 'Ben'})
  await payment.advance(6 * 24 * 3600)
  t.is(hook.received.length, 4 + 10)
  t.is(payment.state().waiting, 0)
})

test('deliveries can be dropped, doubled, renamed, delayed and shuffled', async t => {
  const {payment, stripe} = await openPayment(t)
  const hook = await listen(t)
  payment.addEndpoint(hook.url, ['customer.created'])
  const names = () => hook.received.splice(0).map(({event}) => (event.data.object as Stripe.Customer).name)
  const add = async (...given: string[]) => {
    for (const name of given) await stripe.customers.create({name})
    await payment.settle()
  }
  payment.traffic.add({type: 'customer.created', action: 'drop'})
  payment.traffic.add({action: 'duplicate'})
  await add('a', 'b')
  t.deepEqual(names(), ['b', 'b'])
  payment.traffic.add({action: 'duplicate-with-new-id'})
  await add('c')
  t.is(new Set(hook.received.map(({event}) => event.id)).size, 2)
  t.deepEqual(names(), ['c', 'c'])
  payment.traffic.add({action: {delay: 600}})
  await add('d', 'e')
  t.deepEqual(names(), ['e'])
  await payment.advance(600)
  t.deepEqual(names(), ['d'])
  payment.traffic.shuffle(true)
  payment.traffic.pause(true)
  await add('1', '2', '3', '4', '5', '6')
  t.deepEqual(names(), [])
  payment.traffic.pause(false)
  await payment.settle()
  const shuffled = names()
  t.deepEqual(shuffled.toSorted(), ['1', '2', '3', '4', '5', '6'])
  t.notDeepEqual(shuffled, ['1', '2', '3', '4', '5', '6'])
})

test('a delivery can arrive during the call that causes it', async t => {
  const {payment, stripe} = await openPayment(t)
  let isOpen = true
  const seen: boolean[] = []
  const hook = await listen(t, () => {
    seen.push(isOpen)
    return 200
  })
  payment.addEndpoint(hook.url, ['customer.created'])
  payment.traffic.add({action: 'during'})
  await stripe.customers.create({name: 'Ana'})
  isOpen = false
  t.deepEqual(seen, [true])
})

test('two deliveries of one event can overlap', async t => {
  const {payment, stripe} = await openPayment(t)
  let [open, most] = [0, 0]
  const both = Promise.withResolvers<void>()
  const hook = await listen(t, async () => {
    open += 1
    most = Math.max(most, open)
    if (open === 2) both.resolve()
    await both.promise
    open -= 1
    return 200
  })
  payment.addEndpoint(hook.url)
  payment.traffic.together(true)
  payment.traffic.add({action: 'duplicate'})
  await stripe.customers.create({name: 'Ana'})
  await payment.settle()
  t.is(most, 2)
})

test('a late event shows an old state, and a read shows the current one', async t => {
  const {payment, stripe} = await openPayment(t)
  const hook = await listen(t)
  const {team} = await openShop(stripe)
  const {id} = await addCustomer(stripe)
  const sub = await subscribe(stripe, id, team)
  payment.addEndpoint(hook.url, ['customer.subscription.updated', 'customer.subscription.deleted'])
  payment.traffic.add({type: 'customer.subscription.updated', action: {delay: 60}})
  await stripe.subscriptions.update(sub.id, {metadata: {a: '1'}})
  await stripe.subscriptions.cancel(sub.id)
  await payment.advance(60)
  t.deepEqual(
    hook.received.map(({event}) => [event.type, (event.data.object as Stripe.Subscription).status]),
    [
      ['customer.subscription.deleted', 'canceled'],
      ['customer.subscription.updated', 'active'],
    ],
  )
  const expand = ['items.data.price', 'schedule', 'latest_invoice', 'default_payment_method']
  t.is((await stripe.subscriptions.retrieve(sub.id, {expand})).status, 'canceled')
})

test('a refused call sends no events and uses up no traffic rule', async t => {
  const {payment, stripe} = await openPayment(t)
  const hook = await listen(t)
  const {team, business} = await openShop(stripe)
  const {id, card} = await addCustomer(stripe)
  const sub = await subscribe(stripe, id, team)
  payment.addEndpoint(hook.url)
  payment.setCard(card, 'card_declined')
  const items = [{id: sub.items.data[0]!.id, price: business}]
  payment.traffic.add({action: 'drop'})
  const change = {items, proration_behavior: 'always_invoice', payment_behavior: 'error_if_incomplete'} as const
  await refusal(t, stripe.subscriptions.update(sub.id, change))
  await payment.settle()
  t.is(hook.received.length, 0)
  await stripe.customers.update(id, {name: 'dropped'})
  await stripe.customers.update(id, {name: 'told'})
  await payment.settle()
  t.deepEqual(
    hook.received.map(({event}) => (event.data.object as Stripe.Customer).name),
    ['told'],
  )
})

test('the control interface covers clock, faults, traffic, cards and state', async t => {
  const {payment} = await openPayment(t)
  const control = async (method: string, path: string, body?: unknown): Promise<any> =>
    (await fetch(`${payment.url}/_sim/${path}`, {method, ...(body ? {body: JSON.stringify(body)} : {})})).json()
  const {now} = await control('GET', 'clock')
  t.is((await control('POST', 'clock', {advance: 60})).now, now + 60)
  t.deepEqual(await control('POST', 'faults', {path: '/v1/customers', action: {type: 'status', status: 500}}), {id: 1})
  await refusal(t, sdk(payment).customers.list())
  t.is((await control('GET', 'faults'))[0].used, 1)
  const {id, card} = await addCustomer(sdk(payment))
  await control('POST', 'cards', {card, behaviour: 'card_declined'})
  await refusal(t, sdk(payment).paymentIntents.create({amount: 100, currency: 'eur', customer: id, payment_method: card, confirm: true}))
  const state = await control('GET', 'state')
  t.like(state, {counts: {customer: 1, charge: 1}, money: {charged: 0, difference: 0}})
  t.regex((await control('GET', 'nothing')).error, /no such/)
  t.regex((await control('POST', 'faults', {action: {type: 'rain'}})).error, /No such fault/)
  t.is((await control('GET', 'journal?method=GET'))[0].path, '/v1/customers')
  await control('POST', 'reset')
  t.is((await control('GET', 'state')).counts.customer, 0)
})
