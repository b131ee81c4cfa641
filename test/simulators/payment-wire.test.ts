import {spawn} from 'node:child_process'
import {createInterface} from 'node:readline'
import test from 'ava'
import {Stripe} from 'stripe'
import {startPayment} from './payment.ts'
import {addCustomer, openPayment, openShop, refusal, sdk} from './payment-caller.ts'

test('customers, products and prices are stored, listed newest first and paged', async t => {
  const {stripe} = await openPayment(t)
  const ana = await stripe.customers.create({name: 'Ana', email: 'ana@example.org', metadata: {org_id: 'o1', note: 'x'}})
  t.like(ana, {object: 'customer', name: 'Ana', livemode: false, metadata: {org_id: 'o1'}})
  t.regex(ana.id, /^cus_/)
  const updated = await stripe.customers.update(ana.id, {email: 'new@example.org', metadata: {note: ''}, name: ''})
  t.like(updated, {email: 'new@example.org', name: null})
  t.deepEqual(updated.metadata, {org_id: 'o1'})
  for (const name of ['b', 'c', 'd']) await stripe.customers.create({name})
  const first = await stripe.customers.list({limit: 2})
  t.deepEqual(
    first.data.map(one => one.name),
    ['d', 'c'],
  )
  t.true(first.has_more)
  const all = await stripe.customers.list({limit: 2}).autoPagingToArray({limit: 100})
  t.deepEqual(
    all.map(one => one.name),
    ['d', 'c', 'b', null],
  )
  await stripe.customers.del(ana.id)
  t.true((await stripe.customers.retrieve(ana.id)).deleted)
  t.is((await refusal(t, stripe.customers.update(ana.id, {name: 'x'}))).code, 'resource_missing')
  const {team} = await openShop(stripe)
  const price = await stripe.prices.retrieve(team, {expand: ['product']})
  t.like(price, {unit_amount: 3000, currency: 'eur', type: 'recurring', product: {object: 'product', name: 'Team'}})
  t.is((await stripe.prices.list({type: 'one_time'})).data.length, 1)
  t.is((await refusal(t, stripe.prices.retrieve(team, {expand: ['nothing']}))).statusCode, 400)
})

test('errors have the provider’s class, code, parameter and request id', async t => {
  const {payment, stripe} = await openPayment(t)
  const missing = await refusal(t, stripe.subscriptions.retrieve('sub_none'))
  t.true(missing instanceof Stripe.errors.StripeInvalidRequestError)
  t.like(missing, {statusCode: 404, code: 'resource_missing', param: 'id', message: "No such subscription: 'sub_none'"})
  t.regex(missing.requestId, /^req_/)
  const key = await refusal(t, new Stripe('sk_test_other', {host: '127.0.0.1', port: payment.port, protocol: 'http'}).customers.list())
  t.true(key instanceof Stripe.errors.StripeAuthenticationError)
  const unknown = await fetch(`${payment.url}/v1/nothing`, {headers: {authorization: 'Bearer sk_test_stand_in'}})
  t.is(unknown.status, 404)
  t.truthy(((await unknown.json()) as any).error.message)
  const old = sdk(payment, {apiVersion: '2024-06-20' as never})
  t.regex((await refusal(t, old.customers.list())).message, /Invalid Stripe API version/)
})

test('parameters unknown to the pinned version are refused by name', async t => {
  const {stripe} = await openPayment(t)
  const {id} = await addCustomer(stripe)
  const {team} = await openShop(stripe)
  const sub = await stripe.subscriptions.create({customer: id, items: [{price: team}]})
  const ask = async (params: object) => refusal(t, stripe.subscriptions.update(sub.id, params as never))
  t.like(await ask({coupon: 'x'}), {statusCode: 400, code: 'parameter_unknown', param: 'coupon'})
  t.is((await ask({billing_cycle_anchor: 'now'})).statusCode, 400)
  t.is((await ask({proration_behavior: 'sometimes'})).param, 'proration_behavior')
  t.like(await ask({items: [{id: 'x', colour: 'red'}]}), {code: 'parameter_unknown', param: 'items[0][colour]'})
  t.is((await ask({proration_date: 'soon'})).code, 'parameter_invalid_integer')
  const session = await refusal(t, stripe.checkout.sessions.create({mode: 'payment', payment_method_types: ['card']} as never))
  t.like(session, {code: 'parameter_unknown', param: 'payment_method_types'})
  t.like(await refusal(t, stripe.products.create({} as never)), {code: 'parameter_missing', param: 'name'})
})

test('an idempotency key repeats the answer, and only for the same call', async t => {
  const {payment, stripe} = await openPayment(t)
  const once = await stripe.customers.create({name: 'Ana'}, {idempotencyKey: 'cus:1'})
  const again = await stripe.customers.create({name: 'Ana'}, {idempotencyKey: 'cus:1'})
  t.is(again.id, once.id)
  t.is(payment.all('customer').length, 1)
  const other = await refusal(t, stripe.customers.create({name: 'Ben'}, {idempotencyKey: 'cus:1'}))
  t.true(other instanceof Stripe.errors.StripeIdempotencyError)

  const bad = {idempotencyKey: 'cus:2'}
  await refusal(t, stripe.customers.create({colour: 'red'} as never, bad))
  t.truthy(await stripe.customers.create({name: 'Eva'}, bad))

  const {id, card} = await addCustomer(stripe, 'pm_card_chargeCustomerFail')
  const pay = (key: string) =>
    stripe.paymentIntents.create(
      {amount: 500, currency: 'eur', customer: id, payment_method: card, confirm: true, off_session: true},
      {idempotencyKey: key},
    )
  const declined = await refusal(t, pay('topup:1'))
  payment.setCard(card, 'ok')
  const replayed = await refusal(t, pay('topup:1'))
  t.is(replayed.payment_intent.id, declined.payment_intent.id)
  t.is((await pay('topup:2')).status, 'succeeded')
  await payment.advance(25 * 3600)
  t.is((await pay('topup:1')).status, 'succeeded')
})

test('an idempotency key whose call is still open is refused as in use', async t => {
  const {payment, stripe} = await openPayment(t)
  payment.faults.add({path: '/v1/customers', action: {type: 'hold'}})
  const first = stripe.customers.create({name: 'Ana'}, {idempotencyKey: 'cus:1'})
  while (payment.faults.held() === 0) await new Promise(resolve => setImmediate(resolve))
  t.like(await refusal(t, stripe.customers.create({name: 'Ana'}, {idempotencyKey: 'cus:1'})), {
    statusCode: 409,
    code: 'idempotency_key_in_use',
    type: 'StripeAPIError',
  })
  payment.faults.release()
  t.is((await first).name, 'Ana')
})

test('faults act before or after the effect, cut, truncate or refuse, or give malformed answers', async t => {
  const {payment, stripe} = await openPayment(t)
  const made = () => payment.all('customer').length
  const fault = (action: Parameters<typeof payment.faults.add>[0]['action']) =>
    payment.faults.add({method: 'POST', path: '/v1/customers', action})
  const create = (key?: string) => stripe.customers.create({name: 'Ana'}, key ? {idempotencyKey: key} : {})

  fault({type: 'status', status: 500})
  t.is((await refusal(t, create('a'))).type, 'StripeAPIError')
  t.is(made(), 0)
  fault({type: 'status', status: 500, when: 'after'})
  await refusal(t, create('a'))
  t.is(made(), 1)
  await create('a')
  t.is(made(), 1)

  fault({type: 'reset', when: 'after'})
  await create('b')
  t.is(made(), 2, 'the SDK tries again by itself, with the same key')
  fault({type: 'half'})
  t.is((await refusal(t, create('c'))).type, 'StripeConnectionError')
  t.is(made(), 3)
  fault({type: 'rateLimit'})
  t.true((await refusal(t, create())) instanceof Stripe.errors.StripeRateLimitError)
  fault({type: 'status', status: 503, body: 'html'})
  t.is((await refusal(t, create())).type, 'StripeAPIError')
  fault({type: 'status', status: 502, body: 'bare'})
  t.is(((await create()) as {object?: string}).object, undefined, 'resolves, and is no customer')
  fault({type: 'status', status: 500, saved: true})
  await refusal(t, create('d'))
  await refusal(t, create('d'))
  payment.faults.clear()
  payment.faults.add({path: '/v1/customers', nth: 2, action: {type: 'slow', ms: 500}})
  const quick = sdk(payment, {timeout: 60})
  await quick.customers.create({name: 'quick'})
  t.is((await refusal(t, quick.customers.create({name: 'slow'}))).detail.code, 'ETIMEDOUT')
  t.is(made(), 4)
})

test('equal seeds give equal ids, and only the local machine is called', async t => {
  const [one, two, three] = [await openPayment(t), await openPayment(t), await openPayment(t, {seed: 'other'})]
  const ids = await Promise.all([one, two, three].map(async ({stripe}) => (await stripe.customers.create({name: 'Ana'})).id))
  t.is(ids[0], ids[1])
  t.not(ids[0], ids[2])
  one.payment.reset()
  t.is((await one.stripe.customers.create({name: 'Ana'})).id, ids[0]!)
  await t.throwsAsync(startPayment({host: '0.0.0.0'}), {message: /this machine only/})
  t.throws(() => one.payment.addEndpoint('https://example.org/hook'), {message: /this machine only/})
})

test('the stand-in runs as a process', async t => {
  const child = spawn(process.execPath, ['test/simulators/payment.ts', '--port', '0', '--webhook', 'http://127.0.0.1:9/hook'])
  t.teardown(() => child.kill('SIGTERM'))
  const lines: string[] = []
  for await (const line of createInterface({input: child.stdout})) if (lines.push(line) === 2) break
  t.regex(lines[1]!, /^http:\/\/127\.0\.0\.1:9\/hook whsec_/)
  const {counts} = (await (await fetch(`${lines[0]}/_sim/state`)).json()) as any
  t.is(counts.customer, 0)
})

test('cards attach or fail to attach, and can be detached', async t => {
  const {stripe} = await openPayment(t)
  const {id, card} = await addCustomer(stripe)
  t.like(await stripe.paymentMethods.retrieve(card), {customer: id, card: {last4: '4242'}})
  t.like(await refusal(t, stripe.paymentMethods.attach('pm_card_chargeDeclinedInsufficientFunds', {customer: id})), {
    statusCode: 402,
    code: 'card_declined',
    decline_code: 'insufficient_funds',
    type: 'StripeCardError',
  })
  t.is((await stripe.customers.listPaymentMethods(id)).data.length, 1)
  await stripe.paymentMethods.detach(card)
  const bare = (await stripe.customers.retrieve(id)) as Stripe.Customer
  t.is(bare.invoice_settings.default_payment_method, null)
})
