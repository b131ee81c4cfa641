import anyTest, {type TestFn} from 'ava'
import {sql} from '../../sql/database.ts'
import {type Billing, customerOf, openBilling, sessionOf, settleMoney} from '../support/billing.ts'
import {newBuyer, refusedWith} from '../support/checkouts.ts'
import {place} from '../support/entitlements.ts'
import {ok} from '../support/importing.ts'
import {startTestDeployment} from '../support/test-deployment.ts'

/** The tests run serially, because they share one provider with injected faults. */
const test = anyTest.serial as TestFn
const app = 'https://app.example'
let billing: Billing
test.before(async t => {
  billing = await openBilling(t, {workers: [], webhook: false, environment: {RETURN_ORIGINS: `${app},https://two.example`}})
})
test.afterEach.always(() => billing.payment.faults.clear())

const plan = {kind: 'plan', planKey: 'team'}
const pack = {kind: 'credit_pack', packKey: 'credits_500'}

test('a plan page is for card payment by the org’s customer, at the sold price, with our metadata', async t => {
  const {house, payment, prices} = billing
  const {org, person, email, as, buy} = await newBuyer(billing)
  const {kind, url} = await ok(buy({...plan, planKey: 'business', interval: 'year'}), 200)
  t.is(kind, 'checkout')
  const session = payment.find(sessionOf(url))!
  const customer = await customerOf(billing, org)
  const metadata = {app: 'lading', env: 'test', org_id: org, kind: 'plan', plan_key: 'business', plan_version_id: 'business.1'}
  t.like(session, {
    mode: 'subscription',
    status: 'open',
    customer,
    client_reference_id: org,
    allowed_payment_method_types: ['card'],
    payment_method_collection: 'always',
    tax_id_collection: {enabled: true},
    success_url: `${app}/?checkout=done`,
    cancel_url: `${app}/?checkout=cancelled`,
    metadata: {...metadata, interval: 'year', requested_by: person},
  })
  const {line_items: lines, subscription_data: data} = payment.world.store.get('~checkout', session.id)!
  t.like(lines.data, [{price: {id: prices['business.year']}, quantity: 1}])
  t.like(data, {billing_mode: {type: 'flexible'}, metadata: {...metadata, interval: 'year', requested_by: person}})
  t.like(payment.find(customer), {email, metadata: {app: 'lading', org_id: org}})
  t.like(payment.find(customer), {name: 'Test Org', description: 'Test Org'}, 'of people only what the payer types there')

  const other = await ok(as('POST', '/billing/checkout', {...plan, successUrl: `${app}/paid?s={CHECKOUT_SESSION_ID}`, cancelUrl: app}), 200)
  t.like(payment.find(sessionOf(other.url)), {success_url: `${app}/paid?s={CHECKOUT_SESSION_ID}`, cancel_url: app})
  t.is(await customerOf(billing, org), customer)
  t.deepEqual(
    payment.all('checkout.session').flatMap(one => (one.customer === customer ? [one.status] : [])),
    ['expired', 'open'],
  )
  t.is((await house.as(house.adminToken)('GET', '/billing/checkout')).status, 405)
  await settleMoney(t, billing)
})

test('credit packs allow any number of pages, each with its quantity and every payment method offered', async t => {
  const {payment, prices} = billing
  const {org, pages, openPack, openPlan} = await newBuyer(billing)
  const first = await openPack()
  await openPack({quantity: 7})
  await openPlan()
  t.deepEqual(
    pages().map(({status, mode}) => [status, mode]),
    [
      ['open', 'payment'],
      ['open', 'payment'],
      ['open', 'subscription'],
    ],
  )
  const {line_items: lines, payment_intent_data: intent} = payment.world.store.get('~checkout', pages()[1]!.id)!
  t.like(lines.data, [{price: {id: prices.credits_500}, quantity: 7}])
  t.like(intent, {setup_future_usage: 'off_session', metadata: {kind: 'credit_pack', org_id: org, pack_key: 'credits_500'}})
  t.like(payment.find(first), {allowed_payment_method_types: null, invoice_creation: {enabled: true}})
})

test('invalid purchases are refused in a fixed order', async t => {
  const {house, stripe} = billing
  const {org, as, buy, pages} = await newBuyer(billing)
  const bodies: [object, string][] = [
    [{}, 'INVALID'],
    [{planKey: 'team'}, 'INVALID'],
    [{kind: 'invoice'}, 'INVALID'],
    [{kind: 'plan'}, 'INVALID'],
    [{kind: 'credit_pack'}, 'INVALID'],
    [{...plan, interval: 'week'}, 'INVALID'],
    [{...plan, quantity: 2}, 'INVALID'],
    ...[0, -1, 1.5, 101, '2'].map((quantity): [object, string] => [{...pack, quantity}, 'INVALID']),
    ...['free', 'trial', 'gold', ''].map((planKey): [object, string] => [{...plan, planKey}, 'NOT_SOLD']),
    [{...pack, packKey: 'credits_7'}, 'NOT_SOLD'],
    [{...plan, afterTrial: true}, 'INVALID'],
  ]
  for (const [body, code] of bodies) refusedWith(t, await buy(body), [400, code], JSON.stringify(body))
  const staff = house.as(house.adminToken)
  const pricing = (path: string, body: object) => ok(staff('PATCH', `/billing/admin/${path}/payment`, body), 200)
  const {paymentPriceAnnualId: price} = await pricing('plans/team.1', {})
  await pricing('plans/team.1', {paymentPriceAnnualId: null})
  refusedWith(t, await buy({...plan, interval: 'year'}), [400, 'NOT_SOLD'])
  await pricing('plans/team.1', {paymentPriceAnnualId: price})
  const {paymentPriceId} = await pricing('packs/credits_500', {})
  await pricing('packs/credits_500', {paymentPriceId: null})
  refusedWith(t, await buy(pack), [400, 'NOT_SOLD'])
  await pricing('packs/credits_500', {paymentPriceId})
  t.deepEqual(pages(), [])
  t.is((await stripe.customers.list({limit: 100})).data.filter(({metadata}) => metadata.org_id === org).length, 0, 'nothing was asked')

  await house.db.query(sql.unsafe`update orgs set sandbox = true where id = ${org}`)
  for (const body of [plan, pack, {...plan, planKey: 'gold'}]) refusedWith(t, await buy(body), [403, 'SANDBOX_ORG'])
  refusedWith(t, await as('POST', '/billing/portal', {}), [403, 'SANDBOX_ORG'])
})

test('redirects go to allowed origins only, and look-alike addresses are refused', async t => {
  const {house} = billing
  const {as, buy} = await newBuyer(billing)
  const host = new URL(app).host
  const refused = [
    '',
    'not an address',
    '/done',
    '//app.example/done',
    `${app}.evil.example/`,
    `${app}:8443/`,
    `https://evil.example/?${app}`,
    `${app}@evil.example/`,
    `https://a:b@${host}/`,
    `${app}\\@evil.example`,
    `${app}\\evil`,
    `https:\\\\${host}/`,
    `https:${host}/`,
    `http://${host}/`,
    `javascript:alert(1)//${app}`,
    'data:text/html,x',
    `${app}/\n`,
    `\t${app}/`,
    ` ${app}/`,
    `${app}/ü`,
    `${app}/a b`,
    `${app}/%0d%0a@evil.example`,
    'https://аpp.example/',
    `HTTPS://${host}/`,
    `https://evil.example#${app}`,
    `${app}%2eevil.example/`,
    `${app}/${'a'.repeat(2000)}`,
    `https://two.example.evil/`,
    `blob:${app}/x`,
    `${app}&x`,
    `https://sub.${host}/`,
  ]
  for (const address of refused) {
    for (const name of ['successUrl', 'cancelUrl']) {
      for (const body of [plan, pack]) refusedWith(t, await buy({...body, [name]: address}), [400, 'RETURN_NOT_ALLOWED'], address)
    }
    refusedWith(t, await as('POST', '/billing/portal', {returnUrl: address}), [400, 'RETURN_NOT_ALLOWED'], address)
  }
  const taken = [app, `${app}/`, `${app}/a/b?c=%40d#e`, `${app}?x`, `${app}#x`, 'https://two.example/', `${house.url}/x`, null]
  for (const address of taken) await ok(buy({...pack, successUrl: address, cancelUrl: address}), 200)
})

test('a provider failure is classified by whether the call may have taken effect; its text is not shown', async t => {
  const {payment} = billing
  const {buy, pages} = await newBuyer(billing)
  const path = '/v1/checkout/sessions'
  const cases: [object, [number, string]][] = [
    [{type: 'status', status: 400}, [502, 'PAYMENT_PROVIDER_REFUSED']],
    [{type: 'status', status: 403}, [502, 'PAYMENT_PROVIDER_REFUSED']],
    [{type: 'status', status: 401}, [503, 'NOT_CONFIGURED']],
    [{type: 'status', status: 500}, [503, 'PAYMENT_PROVIDER_UNAVAILABLE']],
    [{type: 'status', status: 503, body: 'html'}, [503, 'PAYMENT_PROVIDER_UNAVAILABLE']],
    [{type: 'status', status: 502, body: 'bare'}, [503, 'PAYMENT_PROVIDER_UNAVAILABLE']],
    [{type: 'rateLimit'}, [503, 'PAYMENT_PROVIDER_UNAVAILABLE']],
    [{type: 'reset'}, [503, 'PAYMENT_PROVIDER_UNAVAILABLE']],
  ]
  for (const [action, wanted] of cases) {
    payment.faults.add({method: 'POST', path, times: 3, action: action as never})
    const answer = await buy(pack)
    payment.faults.clear()
    refusedWith(t, answer, wanted, JSON.stringify(action))
    t.notRegex(answer.text, /simulat|gateway|html|req_|stripe|limit exceeded/i)
    if (wanted[1] === 'PAYMENT_PROVIDER_UNAVAILABLE') t.is(answer.headers.get('retry-after'), '30')
  }
  t.deepEqual(pages(), [], 'nothing was made')
  await ok(buy(pack), 200)
})

test('concurrent first purchases make one customer', async t => {
  const {payment} = billing
  const {org, open, colleague} = await newBuyer(billing)
  const admins = await Promise.all([colleague(), colleague(), colleague()])
  payment.faults.add({method: 'POST', path: '/v1/customers', action: {type: 'slow', ms: 900, when: 'after'}})
  await Promise.all(admins.map(({as}) => open(pack, as)))
  const made = payment.all('customer').filter(({metadata}) => metadata.org_id === org)
  t.is(made.length, 1)
  t.true(admins.some(({email}) => email === made[0]!.email))
  t.is(await customerOf(billing, org), made[0]!.id)
})

test('a customer made while the answer was lost is found again', async t => {
  const {payment} = billing
  const {org, email, buy, open, colleague} = await newBuyer(billing)
  payment.faults.add({method: 'POST', path: '/v1/customers', times: 3, action: {type: 'reset', when: 'after'}})
  refusedWith(t, await buy(pack), [503, 'PAYMENT_PROVIDER_UNAVAILABLE'])
  payment.faults.clear()
  await open(pack, (await colleague()).as)
  const made = payment.all('customer').filter(({metadata}) => metadata.org_id === org)
  t.deepEqual(
    made.map(one => one.email),
    [email],
    'the same call again, with the address it began with',
  )
})

test('the billing address stays one of an admin, and an address moved before a refusal is kept', async t => {
  const {house, payment} = billing
  const {org, person, email, openPack, colleague} = await newBuyer(billing)
  await openPack()
  const customer = await customerOf(billing, org)
  const other = await colleague()
  await openPack({}, other.as)
  t.is(payment.find(customer)!.email, email, 'nobody takes it from somebody who is there')
  await house.db.query(sql.unsafe`update members set role = 'operator' where org_id = ${org} and person_id = ${person}`)
  payment.faults.add({method: 'POST', path: '/v1/checkout/sessions', times: 2, action: {type: 'status', status: 400}})
  refusedWith(t, await other.as('POST', '/billing/checkout', pack), [502, 'PAYMENT_PROVIDER_REFUSED'])
  t.is(payment.find(customer)!.email, other.email)
  payment.faults.clear()
  await openPack({}, other.as)
  t.is(payment.all('customer').filter(({metadata}) => metadata.org_id === org).length, 1)
})

test('an org with a subscription cannot open a plan Checkout, but can open one for credits', async t => {
  const {house, payment, stripe, prices} = billing
  const {org, buy, openPack, pages} = await newBuyer(billing)
  await openPack()
  const customer = await customerOf(billing, org)
  const card = await stripe.paymentMethods.attach('pm_card_visa', {customer})
  const sub = await stripe.subscriptions.create({
    customer,
    items: [{price: prices['team.month']}],
    default_payment_method: card.id,
    metadata: {app: 'lading', env: 'test', org_id: org, plan_version_id: 'team.1'},
  })
  await payment.dashboard.pause(sub.id)
  refusedWith(t, await buy(plan), [409, 'ALREADY_SUBSCRIBED'], 'paused, and known to the provider alone')
  t.like(await house.db.one(sql.unsafe`select status, plan_version_id from subscriptions where org_id = ${org}`), {
    status: 'paused',
    plan_version_id: 'team.1',
  })
  payment.clearJournal()
  refusedWith(t, await buy(plan), [409, 'ALREADY_SUBSCRIBED'])
  t.is(payment.journal().length, 0, 'our row is enough')
  await openPack()
  await stripe.subscriptions.cancel(sub.id)
  await house.db.query(sql.unsafe`update subscriptions set status = 'canceled' where org_id = ${org}`)
  await ok(buy(plan), 200)
  t.is(pages().filter(({mode}) => mode === 'subscription').length, 1)
  await settleMoney(t, billing)
})

test('a plan given by staff does not count as a subscription', async t => {
  const {org, buy} = await newBuyer(billing)
  await place(billing.house, org, 'team.1')
  t.is((await ok(buy({...plan, planKey: 'business'}), 200)).kind, 'checkout')
})

test('a deployment without a payment provider sells nothing and says so after checking the input', async t => {
  const house = await startTestDeployment(t)
  const {token} = await house.makeOrg()
  const as = house.as(token)
  refusedWith(t, await as('POST', '/billing/checkout', pack), [400, 'NOT_SOLD'])
  await ok(house.as(house.adminToken)('PATCH', '/billing/admin/packs/credits_500/payment', {paymentPriceId: 'price_1'}), 200)
  refusedWith(t, await as('POST', '/billing/checkout', pack), [503, 'NOT_CONFIGURED'])
  refusedWith(t, await as('POST', '/billing/portal', {}), [503, 'NOT_CONFIGURED'])
  t.like(await ok(as('GET', '/billing/summary'), 200), {configured: false, customer: false})
})
