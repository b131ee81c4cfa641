import anyTest, {type TestFn} from 'ava'
import {sql} from '../../sql/database.ts'
import {type Billing, customerOf, openBilling} from '../support/billing.ts'
import {newBuyer, refusedWith} from '../support/checkouts.ts'
import {ok} from '../support/importing.ts'

/**
 * The tests run serially, because they share one provider with injected faults. The portal is the provider's page for payment methods and
 * invoices.
 */
const test = anyTest.serial as TestFn
let billing: Billing
test.before(async t => {
  billing = await openBilling(t, {workers: [], webhook: false, environment: {RETURN_ORIGINS: 'https://app.example'}})
})
test.afterEach.always(() => billing.payment.faults.clear())

test('the portal belongs to the org’s customer and returns to the requested page', async t => {
  const {payment, stripe} = billing
  const {org, as, script, openPack} = await newBuyer(billing)
  const open = (body: object) => as('POST', '/billing/portal', body)
  refusedWith(t, await open({}), [409, 'NO_PAYMENT_CUSTOMER'])
  await openPack()
  refusedWith(t, await open({}), [502, 'PAYMENT_PROVIDER_REFUSED'], 'the operator has not set the portal up')
  const features = {
    payment_method_update: {enabled: true},
    invoice_history: {enabled: true},
    subscription_cancel: {enabled: true, mode: 'at_period_end'},
  } as const
  await stripe.billingPortal.configurations.create({features})
  const back = async (body: object) => {
    const {url, ...more} = await ok(open(body), 200)
    t.deepEqual(more, {})
    const session = payment.all('billing_portal.session').at(-1)!
    t.is(session.url, url)
    t.is(session.customer, await customerOf(billing, org))
    t.is((await fetch(url)).status, 200)
    return session.return_url
  }
  t.is(await back({}), 'https://app.example/')
  t.is(await back({returnUrl: null}), 'https://app.example/')
  t.is(await back({returnUrl: 'https://app.example/billing?tab=1'}), 'https://app.example/billing?tab=1')
  t.is((await script('POST', '/billing/portal', {})).status, 200, 'a token may open it')
  refusedWith(t, await open({returnUrl: 7}), [400, 'INVALID'])
})

test('a provider failure and a customer missing at the provider get different codes', async t => {
  const {payment, stripe} = billing
  const {org, as, openPack} = await newBuyer(billing)
  await openPack()
  const open = () => as('POST', '/billing/portal', {})
  payment.faults.add({method: 'POST', path: '/v1/billing_portal/sessions', times: 3, action: {type: 'status', status: 500}})
  refusedWith(t, await open(), [503, 'PAYMENT_PROVIDER_UNAVAILABLE'])
  payment.faults.clear()
  await stripe.customers.del(await customerOf(billing, org))
  const answer = await open()
  refusedWith(t, answer, [502, 'PAYMENT_PROVIDER_REFUSED'])
  t.notRegex(answer.text, /cus_|No such/)
})

test('admins open the portal by any bearer; a staff view cannot', async t => {
  const {house} = billing
  const {org} = await newBuyer(billing)
  const operator = house.as((await house.makeOrg({org, role: 'builder'})).token)
  refusedWith(t, await operator('POST', '/billing/portal', {}), [403, 'ROLE_REQUIRED'])
  const view = house.as(await house.openView({org, write: true}))
  refusedWith(t, await view('POST', '/billing/portal', {}), [403, 'IMPERSONATION_REFUSED'])
  refusedWith(t, await view('POST', '/billing/checkout', {}), [403, 'IMPERSONATION_REFUSED'])
  await house.db.query(sql.unsafe`update orgs set sandbox = true where id = ${org}`)
  const admin = house.as((await house.makeOrg({org, role: 'admin'})).token)
  refusedWith(t, await admin('POST', '/billing/portal', {}), [403, 'SANDBOX_ORG'])
})
