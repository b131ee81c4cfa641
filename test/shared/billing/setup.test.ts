import {readFile} from 'node:fs/promises'
import anyTest, {type TestFn} from 'ava'
import {EVENT_TYPES} from '../../../shared/billing/events/classify.ts'
import {verifyPrice} from '../../../shared/billing/verify/price.ts'
import {readConfig} from '../../../shared/config.ts'
import {findSubscription} from '../../../sql/subscriptions.ts'
import {checkAnswer} from '../../simulators/payment/schemas.ts'
import {type PaymentSimulator, startPayment} from '../../simulators/payment.ts'
import {sdk} from '../../simulators/payment-caller.ts'
import {startApiProcess} from '../../support/api-process.ts'
import {sessionOf} from '../../support/billing.ts'
import {openHome} from '../../support/cli-process.ts'
import {ok} from '../../support/importing.ts'
import {endAfterTests, startTestDeployment, type TestDeployment} from '../../support/test-deployment.ts'
import {until} from '../../support/until.ts'

const test = anyTest.serial as TestFn
const SECRET = 'whsec_of_the_setup'
const key = 'sk_test_stand_in'
const prices = {
  currency: 'eur',
  plans: {team: {month: 3000, year: 30_000, row: '0.5'}, business: {month: 9000, year: 90_000, row: 1}},
  packs: {credits_500: 1000},
}

let payment: PaymentSimulator
let house: TestDeployment
let home: ReturnType<typeof openHome>

test.before(async t => {
  const signedAt = () => Math.floor(Date.now() / 1000)
  payment = await startPayment({check: checkAnswer, at: new Date().toISOString(), webhookSecret: SECRET, signedAt})
  endAfterTests(payment.stop)
  const environment = {PAYMENT_API_KEY: key, PAYMENT_API_URL: payment.url, PAYMENT_WEBHOOK_SECRETS: SECRET, DEFAULT_PLAN: 'free'}
  house = await startTestDeployment(t, {workers: ['billing'], environment})
  home = openHome({
    NODE_ENV: 'test',
    DATABASE_URL: house.config.DATABASE_URL!,
    PUBLIC_URL: house.url,
    PAYMENT_API_KEY: key,
    PAYMENT_API_URL: payment.url,
    DEFAULT_PLAN: 'free',
  })
})
test.afterEach.always(() => {
  payment.faults.clear()
  payment.setSettings({forbidden: []})
})

const setUp = (list: object = prices) => home.run(['billing', 'setup', '--prices', home.put('prices.json', JSON.stringify(list))])
const check = () => home.run(['billing', 'check'])
const count = () =>
  Object.fromEntries(
    ['product', 'price', 'billing.meter', 'webhook_endpoint', 'billing_portal.configuration'].map(of => [of, payment.all(of).length]),
  )
const staff = (method: string, path: string, body?: object) => house.as(house.adminToken)(method, `/billing/admin/${path}`, body)
const teamNow = async () => (await ok(staff('GET', 'plans'), 200)).plans.find(({id}: any) => id === 'team.1')

test('a check before a setup says what to run', async t => {
  const {code, out} = await check()
  t.is(code, 1)
  t.regex(out, /Nothing has a price. Run: lading billing setup/)
  t.regex(out, /No enabled webhook endpoint leads to .*\/billing\/webhook/)
  t.regex(out, /The account has no portal configuration/)
})

test('a setup leads from an empty account to a paid plan despite lost answers', async t => {
  payment.faults.add({method: 'POST', path: '/v1/prices', nth: 2, action: {type: 'status', status: 500, when: 'after', shouldRetry: false}})
  t.is((await setUp()).code, 1)
  const {code, out, err} = await setUp()
  t.is(code, 0, out + err)
  t.true(out.includes(`PAYMENT_WEBHOOK_SECRETS=${SECRET}`))
  t.regex(out, /PAYMENT_PORTAL_CONFIGURATION=bpc_/)
  t.deepEqual(count(), {product: 3, price: 7, 'billing.meter': 1, webhook_endpoint: 1, 'billing_portal.configuration': 1})
  const {org, token} = await house.makeOrg()
  const {url} = await ok(house.as(token)('POST', '/billing/checkout', {kind: 'plan', planKey: 'team', interval: 'year'}), 200)
  await payment.payCheckout(sessionOf(url), {card: 'pm_card_visa'})
  const found = await until(
    () => findSubscription(house.db, org),
    row => row?.status === 'active',
  )
  t.like(found, {planVersionId: 'team.1', interval: 'year'})
  t.like(await ok(house.as(token)('POST', '/billing/checkout', {kind: 'credit_pack', packKey: 'credits_500'}), 200), {kind: 'checkout'})
  t.is(payment.money().charged, 30_000)
})

test('a second setup reuses the objects of the first, and another amount makes a new price', async t => {
  const [before, team] = [count(), await teamNow()]
  const {code, out} = await setUp()
  t.is(code, 0, out)
  t.notRegex(out, /whsec_/)
  t.deepEqual([count(), await teamNow()], [before, team])
  t.is((await setUp({...prices, plans: {...prices.plans, team: {...prices.plans.team, month: 3500}}})).code, 0)
  const changed = await teamNow()
  t.is(count().price, before.price! + 1)
  t.not(changed.paymentPriceMonthlyId, team.paymentPriceMonthlyId)
  t.is(changed.paymentPriceAnnualId, team.paymentPriceAnnualId)
  t.is(payment.find(changed.paymentPriceMonthlyId)!.unit_amount, 3500)
  t.is((await setUp()).code, 0)
  t.is(payment.find((await teamNow()).paymentPriceMonthlyId)!.unit_amount, 3000)
})

test('an invalid price file is refused with the field named', async t => {
  const {code, err} = await setUp({...prices, currency: 'Euro'})
  t.is(code, 1)
  t.regex(err, /currency/)
  t.regex((await setUp({...prices, packs: {credits_7: 1}})).err, /There is no pack credits_7. Use one of credits_500/)
})

test('payment ids that do not fit are refused when they are saved', async t => {
  const stripe = sdk(payment)
  const team = await teamNow()
  const product = team.paymentProductId
  const make = async (more: object) => (await stripe.prices.create({product, currency: 'eur', unit_amount: 1, ...more} as never)).id
  const archived = await make({recurring: {interval: 'month'}})
  await stripe.prices.update(archived, {active: false})
  const other = (await stripe.products.create({name: 'Other'})).id
  const cases: [object, string, RegExp][] = [
    [{paymentPriceMonthlyId: 'price_typo'}, 'paymentPriceMonthlyId', /has no price price_typo in test mode/],
    [{paymentPriceMonthlyId: team.paymentPriceAnnualId}, 'paymentPriceMonthlyId', /recurs every 1 year, but 1 month is needed/],
    [{paymentPriceAnnualId: team.paymentPriceMonthlyId}, 'paymentPriceAnnualId', /1 year is needed/],
    [{paymentPriceMonthlyId: await make({})}, 'paymentPriceMonthlyId', /is paid once, but a plan recurs/],
    [{paymentPriceOverageId: team.paymentPriceMonthlyId}, 'paymentPriceOverageId', /is licensed, but metered is needed/],
    [{paymentPriceMonthlyId: team.paymentPriceOverageId}, 'paymentPriceMonthlyId', /is metered, but licensed is needed/],
    [{paymentPriceMonthlyId: archived}, 'paymentPriceMonthlyId', /is archived/],
    [
      {paymentPriceAnnualId: await make({currency: 'usd', recurring: {interval: 'year'}})},
      'paymentPriceAnnualId',
      /in usd, and another one in eur/,
    ],
    [
      {paymentPriceMonthlyId: await make({product: other, recurring: {interval: 'month'}})},
      'paymentPriceMonthlyId',
      /belongs to another product/,
    ],
  ]
  for (const [body, field, says] of cases) {
    const {status, body: answer} = await staff('PATCH', 'plans/team.1/payment', body)
    t.is(status, 400)
    t.is(answer.code, 'INVALID')
    t.deepEqual(answer.issues[0].path, [field])
    t.regex(answer.error, says)
  }
  const live = await verifyPrice(
    {config: {PAYMENT_API_KEY: 'sk_live_x', PAYMENT_AUTOMATIC_TAX: false}, payment: house.tools.payment},
    {id: team.paymentPriceMonthlyId, use: 'month', product},
  )
  t.regex(live.problem!, /belongs to test mode, but the key to live mode/)
  const pack = await staff('PATCH', 'packs/credits_500/payment', {paymentPriceId: team.paymentPriceMonthlyId, paymentProductId: null})
  t.is(pack.status, 400)
  t.regex(pack.body.error, /is recurring, but a pack is paid once/)
  t.deepEqual(await teamNow(), team)
  payment.faults.add({method: 'GET', path: '/v1/prices/*', times: 2, action: {type: 'status', status: 503, shouldRetry: false}})
  t.is((await staff('PATCH', 'plans/team.1/payment', {paymentPriceMonthlyId: team.paymentPriceMonthlyId})).status, 503)
})

test('a check and the start of the API report what was changed at the provider', async t => {
  const stripe = sdk(payment)
  t.is((await check()).code, 0)
  const [endpoint] = payment.all('webhook_endpoint') as any[]
  await stripe.webhookEndpoints.update(endpoint.id, {enabled_events: ['invoice.created', 'invoice.paid']})
  await stripe.prices.update((await teamNow()).paymentPriceMonthlyId, {active: false})
  const {code, out} = await check()
  t.is(code, 1)
  t.regex(out, /Problem \(team\.1\): The price price_\w+ is archived/)
  t.regex(out, /does not send checkout\.session\.completed/)
  t.regex(out, /sends events that are not needed: invoice\.created/)
  const {DATABASE_URL, STORAGE_DIR, ADMIN_TOKEN} = house.config
  const api = await startApiProcess({
    NODE_ENV: 'test',
    DATABASE_URL: DATABASE_URL!,
    STORAGE_DIR,
    ADMIN_TOKEN: ADMIN_TOKEN!,
    PUBLIC_URL: house.url,
    PAYMENT_API_KEY: key,
    PAYMENT_API_URL: payment.url,
    PAYMENT_WEBHOOK_SECRETS: SECRET,
    DEFAULT_PLAN: 'free',
  })
  await api.hears('selling verified')
  t.regex(api.output(), /"about":"team\.1","message":"The price price_\w+ is archived/)
  api.signal('SIGKILL')
  await api.exit
  t.is((await setUp()).code, 0, 'a setup puts both right')
})

test('a key without a permission is reported by name, and the check changes nothing', async t => {
  payment.setSettings({forbidden: ['POST /v1/payment_intents/**', 'GET /v1/billing/meters**']})
  const before = JSON.stringify(payment.state())
  const {code, out} = await check()
  t.is(code, 1)
  t.regex(out, /The key lacks the permission to read meters/)
  t.regex(out, /The key lacks the permission to write payment intents/)
  t.is(JSON.stringify(payment.state()), before)
})

test('a live key with a paid default plan needs a confirmation to start', t => {
  const live = {PAYMENT_API_KEY: 'sk_live_x', PAYMENT_WEBHOOK_SECRETS: 'whsec_x'}
  t.throws(() => readConfig(live), {message: /DEFAULT_PLAN=enterprise gives every new org a paid plan. Set DEFAULT_PLAN=free/})
  t.throws(() => readConfig({...live, PAYMENT_API_KEY: 'rk_live_x', DEFAULT_PLAN: 'team'}), {message: /DEFAULT_PLAN_CONFIRMED=1/})
  t.is(readConfig({...live, DEFAULT_PLAN: 'free'}).DEFAULT_PLAN, 'free')
  t.is(readConfig({...live, DEFAULT_PLAN_CONFIRMED: '1'}).DEFAULT_PLAN, 'enterprise')
  t.is(readConfig({...live, PAYMENT_API_KEY: 'sk_test_x'}).DEFAULT_PLAN, 'enterprise')
})

test('the event list of the documentation is the one that is handled', async t => {
  const text = await readFile(new URL('../../../docs/billing.md', import.meta.url), 'utf8')
  const [, block = ''] = /```text\n((?:[a-z_.]+\n)+)```/.exec(text) ?? []
  t.deepEqual(block.trim().split('\n').toSorted(), [...EVENT_TYPES].toSorted())
})

test('PAYMENT_AUTOMATIC_TAX needs a price list with a tax behaviour, and replaces prices that differ', async t => {
  const taxed = openHome({
    NODE_ENV: 'test',
    DATABASE_URL: house.config.DATABASE_URL!,
    PUBLIC_URL: house.url,
    PAYMENT_AUTOMATIC_TAX: '1',
    PAYMENT_API_KEY: key,
    PAYMENT_API_URL: payment.url,
    DEFAULT_PLAN: 'free',
  })
  const run = (list: object) => taxed.run(['billing', 'setup', '--prices', taxed.put('prices.json', JSON.stringify(list))])
  const vague = await run(prices)
  t.is(vague.code, 1)
  t.regex(vague.out + vague.err, /"taxBehavior": "inclusive" or "exclusive"/)
  const before = (await teamNow()).paymentPriceMonthlyId
  await run({...prices, taxBehavior: 'exclusive'})
  const {paymentPriceMonthlyId: after, amounts} = await teamNow()
  t.not(after, before)
  t.is(payment.find(after)!.tax_behavior, 'exclusive')
  t.is(amounts.taxBehavior, 'exclusive')
  t.is((await taxed.run(['billing', 'check'])).out.match(/no tax behavior/), null)
})
