import test from 'ava'
import {holdBilling, releaseBilling} from '../../shared/billing/lease.ts'
import {startWorkers} from '../../workers/start.ts'
import {type Billing, customerOf, openBilling, seedSubscription, sessionOf, settleMoney, subscribe} from '../support/billing.ts'
import {ok} from '../support/importing.ts'
import {historyOf, makeEvent, noticesOf, planOf, sendWebhook, statusOf, untilApplied} from '../support/payment-webhook.ts'
import {endAfterTests} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'

let billing: Billing
test.before(async t => {
  billing = await openBilling(t)
  // Two processes, so that an event could be applied twice at once.
  endAfterTests((await startWorkers(['billing'], billing.house.config)).stop)
})

/** Returns all events that the provider has created for one customer. */
const eventsOf = (customer: string) =>
  billing.payment.all('event').filter(({data}) => data.object.customer === customer || data.object.id === customer)

test.serial('a thousand repeated deliveries, a quarter of them under new event ids, change nothing', async t => {
  t.timeout(300_000)
  const {house, payment} = billing
  const {org, token} = await house.makeOrg()
  await subscribe(billing, {org, token, planKey: 'team'})
  const {url} = await ok(house.as(token)('POST', `/orgs/${org}/billing/checkout`, {kind: 'credit_pack', packKey: 'credits_500'}), 200)
  await payment.payCheckout(sessionOf(url))
  const customer = await customerOf({house} as Billing, org)
  const charge = payment.all('charge').find(one => one.customer === customer && one.amount === 1000)!
  await sendWebhook(house, makeEvent('evt_no_refund', 'charge.refunded', charge))
  await untilApplied(house)
  await payment.dashboard.refund(charge.id, 100)
  await untilApplied(house)
  await payment.dashboard.dispute(charge.id)
  await untilApplied(house)
  const [dispute] = payment.all('dispute')
  await payment.dashboard.closeDispute(dispute!.id, 'won')
  await payment.settle()
  await untilApplied(house)
  const seen = async () => ({
    plan: await planOf(house, org),
    history: await historyOf(house, org),
    notices: await noticesOf(house, org),
    balance: (await house.as(token)('GET', '/entitlements/me')).body.credits,
    grants: (await house.hot.query('select ref from credit_grants where org_id = $1 order by ref', [org])).rows,
  })
  const before = await seen()
  t.like(before.plan, {plan: 'team.1', subscription: 'active'})
  t.deepEqual(before.history, ['plan.changed'])
  t.deepEqual(before.notices, ['billing.plan_changed', 'billing.refunded', 'billing.disputed', 'billing.disputed'])
  t.is(before.balance.purchased, 500)

  const told = [...eventsOf(customer), ...payment.all('event').filter(({data}) => data.object.object === 'dispute')]
  t.true(told.length > 15, `${told.length} events`)
  const sending = Array.from({length: 1000}, (_, n) => {
    const event = told[n % told.length]!
    return JSON.stringify(n % 4 ? event : {...event, id: `evt_again_${n}`})
  })
  const send = async () => {
    for (let body = sending.pop(); body; body = sending.pop()) t.is((await sendWebhook(house, body)).status, 200)
  }
  await Promise.all(Array.from({length: 8}, send))
  await untilApplied(house, 60)
  t.deepEqual(await seen(), before)
  const {rows} = await house.hot.query(`select count(*)::int as n from payment_events where id like 'evt_again_%' and status = 'processed'`)
  t.true(rows[0].n > 50, `${rows[0].n} applied again`)
  await settleMoney(t, billing)
})

test.serial('an event that arrives during a plan change is refused, kept, and applied once when the change is done', async t => {
  const {house, payment, prices} = billing
  const {org} = await house.makeOrg()
  const {id} = await seedSubscription(billing, {org, planKey: 'team'})
  await until(
    () => planOf(house, org),
    ({plan}) => plan === 'team.1',
  )
  await untilApplied(house)
  const held = (await until(() => holdBilling(house.db, org), Boolean))!
  await payment.dashboard.changePrice(id, prices['business.month'])
  await payment.settle()
  const late = payment.all('event').findLast(({type, data}) => type === 'customer.subscription.updated' && data.object.id === id)!
  t.is(await statusOf(house, late.id), 'deferred')
  t.like(
    payment.deliveries().findLast(({event}) => event === late.id),
    {status: 409},
  )
  t.like(await planOf(house, org), {plan: 'team.1'})

  await releaseBilling(house.tools, held)
  await until(
    () => statusOf(house, late.id),
    status => status === 'processed',
  )
  t.like(await planOf(house, org), {plan: 'business.1'})
  t.deepEqual(await historyOf(house, org), ['plan.changed', 'plan.changed'])
  // The provider delivers the event again, because the first delivery was refused.
  await payment.advance(400)
  t.like(
    payment.deliveries().findLast(({event}) => event === late.id),
    {status: 200},
  )
  t.deepEqual(await historyOf(house, org), ['plan.changed', 'plan.changed'])
  await settleMoney(t, billing)
})

test.serial('an event that arrives before the provider answers our own call waits, and is applied after the call', async t => {
  const {house, payment} = billing
  const {org, token} = await house.makeOrg()
  await subscribe(billing, {org, token, planKey: 'team'})
  await untilApplied(house)
  payment.traffic.add({type: 'customer.subscription.updated', action: 'during'})
  const {change} = await ok(house.as(token)('POST', `/orgs/${org}/billing/plan`, {planKey: 'business'}), 200)
  t.is(change, 'now')
  const customer = await customerOf(billing, org)
  const early = eventsOf(customer).findLast(({type}) => type === 'customer.subscription.updated')!
  t.is(payment.deliveries().find(({event}) => event === early.id)!.status, 409)
  await until(
    () => statusOf(house, early.id),
    status => status === 'processed',
  )
  t.like(await planOf(house, org), {plan: 'business.1', subscription: 'active'})
  const {rows} = await house.hot.query('select state from plan_changes where org_id = $1', [org])
  await until(
    async () => (await house.hot.query('select state from plan_changes where org_id = $1', [org])).rows,
    ([{state}]) => state === 'landed',
  )
  t.is(rows.length, 1)
  const {body} = await house.as(token)('GET', `/orgs/${org}/config/changes`)
  t.like(body.changes[0], {subject: 'plan.changed', via: 'session'})
  await settleMoney(t, billing)
})

test.serial('a late event does not revive a canceled subscription, and one about another subscription changes nothing', async t => {
  const {house, payment, stripe, prices} = billing
  const {org} = await house.makeOrg()
  const {id, customer, items} = await seedSubscription(billing, {org, planKey: 'team'})
  await until(
    () => planOf(house, org),
    ({plan}) => plan === 'team.1',
  )
  payment.traffic.add({type: 'customer.subscription.updated', action: {delay: 600}})
  await stripe.subscriptions.update(id, {items: [{id: items.data[0]!.id, price: prices['business.month']}], proration_behavior: 'none'})
  await stripe.subscriptions.cancel(id)
  await payment.settle()
  await until(
    () => planOf(house, org),
    ({plan, subscription}) => plan === 'free.2' && subscription === 'canceled',
  )
  await payment.advance(700)
  await untilApplied(house)
  const updated = eventsOf(customer as string).findLast(({type}) => type === 'customer.subscription.updated')!
  t.is(await statusOf(house, updated.id), 'processed')
  t.like(await planOf(house, org), {plan: 'free.2', subscription: 'canceled'})

  const next = await stripe.subscriptions.create({customer: customer as string, items: [{price: prices['enterprise.month']}]})
  await until(
    () => planOf(house, org),
    ({plan}) => plan === 'enterprise.1',
  )
  await untilApplied(house)
  await sendWebhook(house, makeEvent('evt_of_the_old', 'customer.subscription.deleted', {id, object: 'subscription', customer}))
  await until(
    () => statusOf(house, 'evt_of_the_old'),
    status => status === 'ignored',
  )
  t.like(await planOf(house, org), {plan: 'enterprise.1', subscription: 'active'})
  t.truthy(next.id)
  await settleMoney(t, billing)
})

test.serial('an org whose customer is deleted at the provider is left on the free plan without a customer', async t => {
  const {house, stripe} = billing
  const {org} = await house.makeOrg()
  const {customer} = await seedSubscription(billing, {org, planKey: 'team'})
  await until(
    () => planOf(house, org),
    ({plan}) => plan === 'team.1',
  )
  await stripe.customers.del(customer as string)
  await until(
    () => planOf(house, org),
    ({plan}) => plan === 'free.2',
  )
  await untilApplied(house)
  t.is(await customerOf(billing, org), null as never)
  await settleMoney(t, billing)
})
