import test from 'ava'
import {doNight} from '../../workers/retention/night.ts'
import {type Billing, customerOf, openBilling, pass, seedSubscription, settleMoney, subscribe} from '../support/billing.ts'
import {ok} from '../support/importing.ts'
import {historyOf, noticesOf, planOf, sendWebhook, statusOf, untilApplied} from '../support/payment-webhook.ts'
import type {TestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'

let billing: Billing
test.before(async t => {
  billing = await openBilling(t)
})

const openInvoices = (customer: unknown) => billing.payment.all('invoice').filter(one => one.status === 'open' && one.customer === customer)

/** Returns calls with an API token that stays valid for the months that the test covers. */
const lasting = async (house: TestDeployment, {org, token}: {org: string; token: string}) =>
  house.as((await ok(house.as(token)('POST', `/orgs/${org}/tokens`, {name: 'lasting'}), 201)).secret)

test.serial('an unpaid renewal leads from past due to suspended and back once paid; a suspension by staff stays', async t => {
  t.timeout(240_000)
  const {house, payment, stripe} = billing
  const {org, token} = await house.makeOrg()
  const {card} = (await subscribe(billing, {org, token, planKey: 'team'}))!
  const call = await lasting(house, {org, token})
  const mine = async () => (await ok(call('GET', '/entitlements/me'), 200)) as {status: string; period: {start: string}}
  const first = await mine()
  payment.setCard(card!, 'insufficient_funds')
  await pass(billing, 32)
  await until(
    () => planOf(house, org),
    ({status}) => status === 'past_due',
  )
  await untilApplied(house)
  t.true((await noticesOf(house, org)).includes('billing.payment_failed'))
  t.is((await mine()).status, 'past_due')

  const staff = house.as(house.adminToken)
  await ok(staff('POST', `/staff/orgs/${org}/suspend`, {reason: 'A test'}), 200)
  await pass(billing, 16)
  await until(
    () => planOf(house, org),
    ({subscription}) => subscription === 'unpaid',
  )
  await untilApplied(house)
  const notices = (await noticesOf(house, org)).filter(kind => kind === 'billing.payment_failed')
  const customer = await customerOf(billing, org)
  const tries = openInvoices(customer)[0]!.attempt_count
  // Payment attempts between two reads of the provider give one notice together.
  t.true(notices.length > 1 && notices.length <= tries && tries === 4, `${notices.length} notices of ${tries} tries`)

  payment.setCard(card!, 'ok')
  for (const {id} of openInvoices(customer)) await stripe.invoices.pay(id)
  await payment.settle()
  await until(
    () => planOf(house, org),
    ({subscription}) => subscription === 'active',
  )
  await untilApplied(house)
  t.is((await mine()).status, 'suspended', 'by staff, which no payment lifts')
  await ok(staff('POST', `/staff/orgs/${org}/unsuspend`, {reason: 'A test'}), 200)
  const last = await mine()
  t.is(last.status, 'active')
  t.true(last.period.start > first.period.start)
  const byEvents = (await historyOf(house, org)).filter(subject => !subject.endsWith('suspended'))
  t.deepEqual(byEvents, ['plan.changed', 'plan.status', 'plan.status', 'plan.status'])
  await settleMoney(t, billing)
})

test.serial(
  'where the provider cancels an unpaid subscription, the org falls back to the free plan and keeps its purchased credits',
  async t => {
    t.timeout(240_000)
    const {house, payment} = billing
    payment.setSettings({afterRetries: 'cancel'})
    const {org, token} = await house.makeOrg()
    const {default_payment_method: card} = await seedSubscription(billing, {org, planKey: 'business', interval: 'month'})
    await until(
      () => planOf(house, org),
      ({plan}) => plan === 'business.1',
    )
    const call = await lasting(house, {org, token})
    payment.setCard(card as string, 'card_declined')
    t.teardown(() => payment.setSettings({afterRetries: 'unpaid'}))
    await pass(billing, 48)
    await until(
      () => planOf(house, org),
      ({plan}) => plan === 'free.2',
    )
    await untilApplied(house)
    t.like(await planOf(house, org), {status: 'active', subscription: 'canceled'})
    t.is((await ok(call('GET', '/entitlements/me'), 200)).status, 'active')
    await settleMoney(t, billing)
  },
)

test.serial('a renewal begins a new period by itself: rows and included credits are granted once, whatever events arrive', async t => {
  t.timeout(240_000)
  const {house, payment} = billing
  const {org, token} = await house.makeOrg()
  await subscribe(billing, {org, token, planKey: 'team'})
  const call = await lasting(house, {org, token})
  const me = async () => ok(call('GET', '/entitlements/me'), 200)
  const before = await me()
  payment.traffic.shuffle(true)
  for (const type of ['invoice.paid', 'customer.subscription.updated'])
    payment.traffic.add({type, times: 5, action: 'duplicate-with-new-id'})
  await pass(billing, 32)
  await untilApplied(house)
  const after = await me()
  t.is(after.period.start, before.period.end)
  t.is(after.credits.included, before.limits.aiCredits)
  const {rows} = await house.hot.query(
    `select ref from credit_grants where org_id = $1 and ref like 'period:%' and expires_at > lading_now()`,
    [org],
  )
  t.is(rows.length, 1)
  t.deepEqual(await historyOf(house, org), ['plan.changed'])
  await settleMoney(t, billing)
})

test.serial('a downgrade at the renewal deletes no import for fourteen days', async t => {
  t.timeout(240_000)
  const {house} = billing
  const {org, token} = await house.makeOrg()
  await subscribe(billing, {org, token, planKey: 'business'})
  const call = await lasting(house, {org, token})
  const connectorId = await house.connect(token)
  const {import: made} = await ok(call('POST', `/orgs/${org}/imports`, {connectorId, name: 'Untouched'}), 201)
  const stateAfter = async (days: number) => {
    await pass(billing, days)
    await untilApplied(house)
    t.true(await doNight({...house.tools, drain: new AbortController().signal}))
    return (await ok(call('GET', `/orgs/${org}/imports/${made.id}`), 200)).import.state
  }
  t.is(await stateAfter(100), 'draft')
  const admin = house.as((await house.makeOrg({org, role: 'admin'})).token)
  t.is((await ok(admin('POST', `/orgs/${org}/billing/plan`, {planKey: 'team'}), 200)).change, 'at_renewal')
  t.is(await stateAfter(19), 'draft')
  t.is((await planOf(house, org)).plan, 'business.1')
  // Four months are 120 to 123 days.
  t.is(await stateAfter(5), 'draft')
  t.is((await planOf(house, org)).plan, 'team.1')
  t.is(await stateAfter(15), 'expired')
  await settleMoney(t, billing)
})

test.serial('an org is notified of a trial ending and of a payment to confirm, and not again once it is confirmed', async t => {
  t.timeout(240_000)
  const {house, payment, stripe, prices} = billing
  const {org} = await house.makeOrg()
  const {id: first, customer, default_payment_method: card} = await seedSubscription(billing, {org, planKey: 'team'})
  await stripe.subscriptions.cancel(first)
  const {id} = await stripe.subscriptions.create({
    customer: customer as string,
    items: [{price: prices['team.month']}],
    default_payment_method: card as string,
    trial_period_days: 10,
  })
  await until(
    () => planOf(house, org),
    ({subscription}) => subscription === 'trialing',
  )
  await pass(billing, 7.5)
  await untilApplied(house)
  t.deepEqual(
    (await noticesOf(house, org)).filter(kind => kind !== 'billing.plan_changed'),
    ['billing.trial_ending'],
  )
  payment.setCard(card as string, 'authentication_required')
  await pass(billing, 3)
  await untilApplied(house)
  const told = (await noticesOf(house, org)).filter(kind => kind !== 'billing.plan_changed')
  t.deepEqual([...new Set(told)].sort(), ['billing.action_required', 'billing.payment_failed', 'billing.trial_ending'])
  payment.setCard(card as string, 'ok')
  for (const invoice of openInvoices(customer)) await stripe.invoices.pay(invoice.id)
  const [asked] = payment
    .all('event')
    .filter(({type, data}) => type === 'invoice.payment_action_required' && data.object.customer === customer)
  await sendWebhook(house, JSON.stringify({...asked, id: 'evt_late'}))
  await until(
    () => statusOf(house, 'evt_late'),
    status => status === 'processed',
  )
  await untilApplied(house)
  t.deepEqual(
    (await noticesOf(house, org)).filter(kind => kind !== 'billing.plan_changed'),
    told,
  )
  t.like(await planOf(house, org), {plan: 'team.1', subscription: 'active'})
  t.is(payment.find(id)!.status, 'active')
  await settleMoney(t, billing)
})
