import anyTest, {type TestFn} from 'ava'
import {EVENT_TYPES} from '../../../shared/billing/events/classify.ts'
import {checkAnswer} from '../../simulators/payment/schemas.ts'
import {type PaymentSimulator, startPayment} from '../../simulators/payment.ts'
import {sdk} from '../../simulators/payment-caller.ts'
import {openHome} from '../../support/cli-process.ts'
import {ok} from '../../support/importing.ts'
import {endAfterTests, startTestDeployment, type TestDeployment} from '../../support/test-deployment.ts'

/** The tests run serially, because they share one provider. Within a day, the provider repeats answers for equal idempotency keys. */
const test = anyTest.serial as TestFn
const SECRET = 'whsec_of_the_setup'
const key = 'sk_test_stand_in'
const prices = {currency: 'eur', plans: {team: {month: 3000, year: 30_000, row: '0.5'}}, packs: {credits_500: 1000}}

let payment: PaymentSimulator
let house: TestDeployment
let home: ReturnType<typeof openHome>

test.before(async t => {
  payment = await startPayment({check: checkAnswer, at: new Date().toISOString(), webhookSecret: SECRET})
  endAfterTests(payment.stop)
  const environment = {PAYMENT_API_KEY: key, PAYMENT_API_URL: payment.url, PAYMENT_WEBHOOK_SECRETS: SECRET, DEFAULT_PLAN: 'free'}
  house = await startTestDeployment(t, {environment})
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

const setUp = (env: Record<string, string> = {}) =>
  home.run(['billing', 'setup', '--prices', home.put('prices.json', JSON.stringify(prices))], {env})
/** Runs a check with the portal configuration of the last setup. */
const check = () => {
  const {id} = (payment.all('billing_portal.configuration') as any[]).at(-1)
  return home.run(['billing', 'check'], {env: {PAYMENT_PORTAL_CONFIGURATION: id}})
}
const teamNow = async () => {
  const {plans} = await ok(house.as(house.adminToken)('GET', '/billing/admin/plans'), 200)
  return plans.find(({id}: any) => id === 'team.1')
}

test('the secret of a new endpoint is printed even if verification fails; a later setup says where to find it', async t => {
  payment.faults.add({method: 'GET', path: '/v1/disputes/*', action: {type: 'status', status: 503, shouldRetry: false}})
  const first = await setUp()
  t.is(first.code, 1)
  t.true(first.out.includes(`PAYMENT_WEBHOOK_SECRETS=${SECRET}`), first.out + first.err)
  t.regex(first.out, /Problem \(payment provider\): /)
  const [{id}] = payment.all('webhook_endpoint') as any[]
  const again = await setUp()
  t.is(again.code, 0, again.out + again.err)
  t.regex(again.out, new RegExp(`PAYMENT_WEBHOOK_SECRETS=<.*${id}.*dashboard.*>`), 'it is not set yet')
  t.regex((await setUp({PAYMENT_WEBHOOK_SECRETS: SECRET})).out, /PAYMENT_WEBHOOK_SECRETS is unchanged/)
})

test('archived prices are replaced, although the provider would repeat the old answer for the same key', async t => {
  const stripe = sdk(payment)
  const before = await teamNow()
  await stripe.prices.update(before.paymentPriceMonthlyId, {active: false})
  const [configuration] = payment.all('billing_portal.configuration') as any[]
  await stripe.billingPortal.configurations.update(configuration.id, {active: false})
  const {code, out, err} = await setUp()
  t.is(code, 0, out + err)
  const after = await teamNow()
  t.not(after.paymentPriceMonthlyId, before.paymentPriceMonthlyId)
  t.true(payment.find(after.paymentPriceMonthlyId)!.active)
  t.is(after.paymentPriceAnnualId, before.paymentPriceAnnualId)
  await stripe.prices.update(after.paymentPriceMonthlyId, {active: false})
  t.is((await setUp()).code, 0, 'a second time on the same day too')
  t.is((await check()).code, 0)
})

test('an archived product with active prices is reported by a check and activated by a setup', async t => {
  const {paymentProductId: product, paymentPriceMonthlyId} = await teamNow()
  await sdk(payment).products.update(product, {active: false})
  const checked = await check()
  t.is(checked.code, 1)
  t.regex(checked.out, new RegExp(`Problem \\(team\\.1\\): The product ${product} of the price \\w+ is archived`))
  const {status, body} = await house.as(house.adminToken)('PATCH', '/billing/admin/plans/team.1/payment', {paymentPriceMonthlyId})
  t.is(status, 400)
  t.deepEqual(body.issues[0].path, ['paymentPriceMonthlyId'])
  t.is((await setUp()).code, 0)
  t.true(payment.find(product)!.active)
  t.is((await check()).code, 0)
})

test('setup reports a key without refund rights, which a plan bought twice needs', async t => {
  payment.setSettings({forbidden: ['POST /v1/refunds']})
  const {code, out} = await check()
  t.is(code, 1)
  t.regex(out, /The key lacks the permission to write refunds/)
})

test('a disabled endpoint, or one with the wrong events, is restored by a setup', async t => {
  const [endpoint] = payment.all('webhook_endpoint') as any[]
  await sdk(payment).webhookEndpoints.update(endpoint.id, {disabled: true, enabled_events: ['*']})
  t.regex((await check()).out, /No enabled webhook endpoint/)
  t.is((await setUp()).code, 0)
  const now = payment.find(endpoint.id)!
  t.is(now.status, 'enabled')
  t.deepEqual(now.enabled_events, EVENT_TYPES)
})

test('an invalid price list and an unprepared database are named with what to do', async t => {
  const run = (file: string, env: Record<string, string> = {}) => home.run(['billing', 'setup', '--prices', file], {env})
  t.regex((await run('none.json')).err, /none\.json cannot be read\. Pass the file with your prices/)
  t.regex((await run(home.put('half.json', '{"currency": '))).err, /half\.json is not JSON/)
  const empty = new URL(house.config.DATABASE_URL!)
  empty.pathname = '/template1'
  const {code, err} = await run(home.put('prices.json', JSON.stringify(prices)), {DATABASE_URL: empty.href})
  t.is(code, 1)
  t.regex(err, /The database is not prepared\. Run `npm run migrate`/)
})
