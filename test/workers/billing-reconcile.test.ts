import test from 'ava'
import {holdBilling} from '../../shared/billing/lease.ts'
import type {Config} from '../../shared/config.ts'
import {reconcileDue, sendWaiting} from '../../workers/billing/reconcile.ts'
import {openBilling, pass, seedSubscription, sessionOf, settleMoney, subscribe} from '../billing.ts'
import {ok} from '../importing.ts'
import {historyOf, makeEvent, planOf, statusOf, tell, untilApplied} from '../telling.ts'
import {until} from '../until.ts'
import {endWorker, startWorker} from '../worker-spawn.ts'
import type {World} from '../world.ts'

/** One round, now, as the worker makes it. */
const goRound = async ({tools, queue}: World) => {
  const work = {...tools, drain: new AbortController().signal} as never
  await sendWaiting(work, queue)
  await reconcileDue(work)
}

const paymentOf = ({PAYMENT_API_KEY, PAYMENT_API_URL, PAYMENT_WEBHOOK_SECRETS}: Config) => ({
  PAYMENT_API_KEY: PAYMENT_API_KEY!,
  PAYMENT_API_URL: PAYMENT_API_URL!,
  PAYMENT_WEBHOOK_SECRETS: PAYMENT_WEBHOOK_SECRETS.join(),
})

test('a worker killed between the effect and its commit leaves nothing of it, and another one applies it once', async t => {
  t.timeout(60_000)
  const billing = await openBilling(t, {workers: []})
  const {house, payment} = billing
  const {org} = await house.makeOrg()
  const start = (more: object = {}) => startWorker(house.config, {...paymentOf(house.config), ...more}, ['billing'])
  for (const [kill, planKey] of (['team', 'business'] as const).entries()) {
    const killed = start({FAULT_POINT: `in_event:${kill + 1}`})
    if (kill === 0) await seedSubscription(billing, {org, planKey})
    else await payment.dashboard.changePrice(payment.all('subscription')[0]!.id, billing.prices['business.month'])
    await until(
      () => killed.signalCode,
      signal => signal === 'SIGKILL',
    )
    await endWorker(killed)
    const other = start()
    // The dead one's hold and patience with it run out.
    await house.ahead(`${(kill + 1) * 10} minutes`)
    await until(
      () => planOf(house, org),
      ({plan}) => plan === `${planKey}.1`,
    )
    await untilApplied(house)
    await endWorker(other)
  }
  t.deepEqual(await historyOf(house, org), ['plan.changed', 'plan.changed'])
  await settleMoney(t, billing)
})

test('what was never told is found by asking: a plan that was paid for, its end, and a day later whatever the dashboard did', async t => {
  t.timeout(60_000)
  const billing = await openBilling(t, {webhook: false})
  const {house, payment, prices} = billing
  const {org, token} = await house.makeOrg()
  const {url} = await ok(house.as(token)('POST', `/orgs/${org}/billing/checkout`, {kind: 'plan', planKey: 'team'}), 200)
  await payment.payCheckout(sessionOf(url))
  await pass(billing, 0.05)
  await until(
    () => planOf(house, org),
    ({plan}) => plan === 'team.1',
  )
  const {id} = payment.all('subscription')[0]!
  await payment.dashboard.changePrice(id, prices['business.month'])
  await pass(billing, 1.1)
  await until(
    () => planOf(house, org),
    ({plan}) => plan === 'business.1',
  )
  await payment.dashboard.cancelNow(id)
  await pass(billing, 1.1)
  await until(
    () => planOf(house, org),
    ({plan}) => plan === 'free.2',
  )
  await settleMoney(t, billing)
})

test('a subscription in a trial is asked about when the trial should be over', async t => {
  const billing = await openBilling(t, {webhook: false})
  const {house, payment, stripe} = billing
  const {org} = await house.makeOrg()
  const {id} = await seedSubscription(billing, {org, planKey: 'team'})
  const trialEnd = payment.now() + 3 * 86_400
  await stripe.subscriptions.update(id, {trial_end: trialEnd, proration_behavior: 'none'})
  await house.db.transaction(async () => {})
  await tell(
    house,
    makeEvent('evt_trial', 'customer.subscription.updated', {id, object: 'subscription', customer: payment.find(id)!.customer}),
  )
  await until(
    () => planOf(house, org),
    ({subscription}) => subscription === 'trialing',
  )
  await pass(billing, 3.1)
  await until(
    () => planOf(house, org),
    ({subscription}) => subscription === 'active',
  )
  await settleMoney(t, billing)
})

test('events whose job is lost, whose holder died, or that failed, are tried again; a failed one says so by a code', async t => {
  t.timeout(60_000)
  const billing = await openBilling(t, {webhook: false, workers: []})
  const {house, payment} = billing
  const {org} = await house.makeOrg()
  const {id, customer} = await seedSubscription(billing, {org, planKey: 'team'})
  const about = {id, object: 'subscription', customer}
  await tell(house, makeEvent('evt_lost', 'customer.subscription.updated', about))
  await house.hot.query(`delete from pgboss.job where name = 'payment.event'`)
  const held = await holdBilling(house.db, org)
  t.truthy(held)
  await tell(house, makeEvent('evt_deferred', 'customer.subscription.updated', about))
  payment.faults.add({path: '/v1/subscriptions/*', times: 6, action: {type: 'status', status: 400}})
  await tell(house, makeEvent('evt_bad', 'customer.subscription.updated', about))
  await goRound(house)
  t.deepEqual(
    await Promise.all(['evt_lost', 'evt_deferred', 'evt_bad'].map(event => statusOf(house, event))),
    ['received', 'deferred', 'deferred'],
    'nothing is sent for an org that is held',
  )
  await house.ahead('6 minutes')
  await goRound(house)
  const {rows} = await house.hot.query(`select data ->> 'event' as event from pgboss.job where name = 'payment.event' order by 1`)
  t.deepEqual(
    rows.map(({event}) => event),
    ['evt_bad', 'evt_deferred', 'evt_lost'],
  )
})

test('a provider that is away is asked by one org a round, and nobody’s turn is lost', async t => {
  const billing = await openBilling(t, {webhook: false, workers: []})
  const {house, payment} = billing
  const orgs: string[] = []
  for (let n = 0; n < 3; n++) {
    const {org} = await house.makeOrg()
    const {id, customer} = await seedSubscription(billing, {org, planKey: 'team'})
    await house.hot.query(
      `insert into subscriptions (org_id, subscription_id, status, read_at) values ($1, $2, 'active', lading_now() - interval '2 days')`,
      [org, id],
    )
    t.truthy(customer)
    orgs.push(org)
  }
  payment.faults.add({path: '/v1/subscriptions/*', times: 2, action: {type: 'status', status: 503, body: 'html'}})
  payment.clearJournal()
  await goRound(house)
  t.is(payment.journal({path: '/v1/subscriptions/'}).length, 2, 'the one call, and the SDK’s second try')
  const plans = async () => (await Promise.all(orgs.map(org => planOf(house, org)))).map(({plan}) => plan)
  t.deepEqual(await plans(), ['free.2', 'free.2', 'free.2'])
  await goRound(house)
  t.is((await plans()).filter(plan => plan === 'team.1').length, 2)
  await house.ahead('2 hours')
  await goRound(house)
  t.deepEqual(await plans(), ['team.1', 'team.1', 'team.1'])
  await settleMoney(t, billing)
})

test('one who buys twice at once is brought to one subscription and one plan', async t => {
  const billing = await openBilling(t)
  const {house} = billing
  const {org, token} = await house.makeOrg()
  await subscribe(billing, {org, token, planKey: 'team'})
  await untilApplied(house)
  t.like(await planOf(house, org), {plan: 'team.1', subscription: 'active'})
  await settleMoney(t, billing)
})
