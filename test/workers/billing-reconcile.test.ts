import {once} from 'node:events'
import test from 'ava'
import {endBillingOf} from '../../shared/billing/ending.ts'
import {holdBilling} from '../../shared/billing/lease.ts'
import type {Config} from '../../shared/config.ts'
import {applyEvents} from '../../workers/billing/events.ts'
import {enqueueWaitingEvents, reconcileDue} from '../../workers/billing/reconcile.ts'
import {doNight} from '../../workers/retention/night.ts'
import {type Billing, openBilling, pass, seedSubscription, sessionOf, settleMoney} from '../support/billing.ts'
import {ok} from '../support/importing.ts'
import {historyOf, makeEvent, planOf, sendWebhook, statusOf, untilApplied} from '../support/payment-webhook.ts'
import {callsOf, openWaiting, type Payer, refused, waitsAt} from '../support/plan-changing.ts'
import type {TestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'
import {endWorker, startWorker} from '../support/worker-spawn.ts'

/** `quiet` gets no events and runs no worker; `asking` gets no events, but its worker reads the provider by itself. */
let quiet: Billing
let asking: Billing
test.before(async t => {
  quiet = await openBilling(t, {webhook: false, workers: []})
  asking = await openBilling(t, {webhook: false})
})

let minutes = 0
const later = (more: number) => {
  minutes += more
  return quiet.house.ahead(`${minutes} minutes`)
}

/** Runs one reconcile pass now, as the worker does. */
const goRound = async ({tools, queue}: TestDeployment) => {
  const work = {...tools, drain: new AbortController().signal} as never
  await enqueueWaitingEvents(work, queue)
  await reconcileDue(work)
}

const paymentOf = ({PAYMENT_API_KEY, PAYMENT_API_URL, PAYMENT_WEBHOOK_SECRETS}: Config) => ({
  PAYMENT_API_KEY: PAYMENT_API_KEY!,
  PAYMENT_API_URL: PAYMENT_API_URL!,
  PAYMENT_WEBHOOK_SECRETS: PAYMENT_WEBHOOK_SECRETS.join(),
})

test.serial('an event whose worker is killed before its commit leaves no trace, and another worker applies it once', async t => {
  t.timeout(240_000)
  const billing = await openBilling(t, {workers: []})
  const {house, payment} = billing
  const {org} = await house.makeOrg()
  const start = (more: object = {}) => {
    const worker = startWorker(house.config, {...paymentOf(house.config), ...more}, ['billing'])
    t.teardown(() => endWorker(worker))
    return worker
  }
  for (const [kill, planKey] of (['team', 'business'] as const).entries()) {
    const killed = start({FAULT_POINT: 'in_event'})
    if (kill === 0) await seedSubscription(billing, {org, planKey})
    else await payment.dashboard.changePrice(payment.all('subscription')[0]!.id, billing.prices['business.month'])
    await until(
      () => killed.signalCode,
      signal => signal === 'SIGKILL',
    )
    await endWorker(killed)
    const other = start()
    // The dead worker's billing lock expires, and so does the wait for this lock.
    await house.ahead(`${(kill + 1) * 10} minutes`)
    await until(
      () => planOf(house, org),
      ({plan}) => plan === `${planKey}.1`,
    )
    await untilApplied(house)
    // A worker that gets SIGTERM leaves no lock behind.
    const left = once(other, 'exit')
    other.kill('SIGTERM')
    await left
  }
  t.deepEqual(await historyOf(house, org), ['plan.changed', 'plan.changed'])
  await settleMoney(t, billing)
})

test.serial('reconciling finds what no event reported: a paid plan, its end, and a day later changes made in the dashboard', async t => {
  t.timeout(240_000)
  const billing = asking
  const {house, payment, prices} = billing
  const {org, token} = await house.makeOrg()
  const {url} = await ok(house.as(token)('POST', `/orgs/${org}/billing/checkout`, {kind: 'plan', planKey: 'team'}), 200)
  await payment.payCheckout(sessionOf(url))
  await pass(billing, 0.05)
  await until(
    () => planOf(house, org),
    ({plan}) => plan === 'team.1',
  )
  const {id} = payment.all('subscription').at(-1)!
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

test.serial('a subscription in a trial is read from the provider when the trial should have ended', async t => {
  const billing = asking
  const {house, stripe, prices} = billing
  const {org} = await house.makeOrg()
  const {id: first, customer} = await seedSubscription(billing, {org, planKey: 'team'})
  await stripe.subscriptions.cancel(first)
  const {id} = await stripe.subscriptions.create({
    customer: customer as string,
    items: [{price: prices['team.month']}],
    trial_period_days: 3,
  })
  await sendWebhook(house, makeEvent('evt_trial', 'customer.subscription.created', {id, object: 'subscription', customer}))
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

test.serial("events whose job is lost or whose lock holder died are queued again, but not while the org's billing is locked", async t => {
  t.timeout(240_000)
  const billing = quiet
  const {house} = billing
  const {org} = await house.makeOrg()
  const {id, customer} = await seedSubscription(billing, {org, planKey: 'team'})
  const about = {id, object: 'subscription', customer}
  await sendWebhook(house, makeEvent('evt_lost', 'customer.subscription.updated', about))
  await house.hot.query(`delete from pgboss.job where name = 'payment.event'`)
  const held = await holdBilling(house.db, org)
  t.truthy(held)
  await sendWebhook(house, makeEvent('evt_deferred', 'customer.subscription.updated', about))
  await sendWebhook(house, makeEvent('evt_too', 'customer.subscription.updated', about))
  await goRound(house)
  t.deepEqual(
    await Promise.all(['evt_lost', 'evt_deferred', 'evt_too'].map(event => statusOf(house, event))),
    ['received', 'deferred', 'deferred'],
    'nothing is sent for an org that is held',
  )
  await later(6)
  await goRound(house)
  const {rows} = await house.hot.query(`select data ->> 'event' as event from pgboss.job where name = 'payment.event' order by 1`)
  t.deepEqual(
    rows.map(({event}) => event),
    ['evt_deferred', 'evt_lost', 'evt_too'],
  )
})

test.serial(
  'an event that cannot be applied fails after five attempts with a code and no provider text, and is tried again later',
  async t => {
    const billing = quiet
    const {house, payment} = billing
    const {org} = await house.makeOrg()
    const {id, customer} = await seedSubscription(billing, {org, planKey: 'team'})
    await sendWebhook(house, makeEvent('evt_bad', 'customer.subscription.updated', {id, object: 'subscription', customer}))
    const work = {...house.tools, drain: new AbortController().signal} as never
    payment.faults.add({path: '/v1/subscriptions', times: 99, action: {type: 'status', status: 400}})
    for (let attempt = 1; attempt < 5; attempt++) await t.throwsAsync(applyEvents(work, 'evt_bad'), {name: 'PaymentFailure'})
    t.is(await applyEvents(work, 'evt_bad'), 'failed')
    const read = async () => (await ok(house.as(house.adminToken)('GET', '/billing/admin/events'), 200)).events[0]
    t.like(await read(), {status: 'failed', processedAt: null, orgId: org})
    t.regex((await read()).error, /^PAYMENT_PROVIDER refused 400( [a-z_]+)?$/)

    payment.faults.clear()
    await house.hot.query(`delete from pgboss.job where name = 'payment.event'`)
    const sent = async () =>
      (await house.hot.query(`select from pgboss.job where name = 'payment.event' and data ->> 'event' = 'evt_bad'`)).rowCount
    await goRound(house)
    t.is(await sent(), 0, 'not at once')
    await later(6)
    await goRound(house)
    t.is(await sent(), 1)
    t.is(await applyEvents(work, 'evt_bad'), 'processed')
    t.like(await planOf(house, org), {plan: 'team.1'})
    t.like(await read(), {status: 'processed', error: null})
    await settleMoney(t, billing)
  },
)

test.serial('while the provider is down, one org is tried per pass and no other org loses its turn', async t => {
  const billing = quiet
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
  await later(120)
  await goRound(house)
  t.deepEqual(await plans(), ['team.1', 'team.1', 'team.1'])
  await settleMoney(t, billing)
})

test.serial('the nightly purge deletes events applied more than ninety days ago and keeps unapplied ones', async t => {
  const {house} = quiet
  for (const [id, status, days] of [
    ['evt_old', 'processed', 91],
    ['evt_old_ignored', 'ignored', 91],
    ['evt_young', 'processed', 89],
    ['evt_failed', 'failed', 200],
  ] as const)
    await house.hot.query(
      `insert into payment_events (id, type, status, payload, created_at, processed_at)
       select $1, 'invoice.paid', $2, '{}', at, case when $2 <> 'failed' then at end from (select lading_now() - make_interval(days => $3)) t (at)`,
      [id, status, days],
    )
  t.true(await doNight({...house.tools, drain: new AbortController().signal}))
  const {rows} = await house.hot.query(`select id from payment_events where type = 'invoice.paid' order by id`)
  t.deepEqual(
    rows.map(({id}) => id),
    ['evt_failed', 'evt_young'],
  )
})

test.serial('a plan change that was unanswered when its org closed is not sent again, so the plan still ends', async t => {
  const {house, payment} = quiet
  for (const change of [(payer: Payer) => payer.takeBack(), (payer: Payer) => payer.ask({planKey: 'enterprise'})]) {
    const payer = await openWaiting(quiet, 'C', {planKey: 'business'})
    const charged = payer.charged()
    payment.faults.add({method: 'POST', path: '/v1/subscriptions/*', times: 2, action: {type: 'status', status: 500, when: 'before'}})
    await refused(t, change(payer), 503, 'PAYMENT_PROVIDER_UNAVAILABLE')
    payment.faults.clear()
    t.is((await payer.changes()).at(-1)!.state, 'unknown')
    await ok(house.as(house.adminToken)('POST', `/staff/orgs/${payer.org}/close`, {reason: 'A test'}), 200)
    payment.clearJournal()
    await later(10)
    await goRound(house)
    t.deepEqual(callsOf(quiet), [], 'before the subscription was ended')
    await endBillingOf(house.tools as never, payer.org, {when: 'period_end'})
    payment.clearJournal()
    await later(10)
    await goRound(house)
    t.deepEqual(callsOf(quiet), [])
    t.is(waitsAt(payer), 'C')
    t.is(payer.charged(), charged)
    t.is((await payer.changes()).at(-1)!.state, 'superseded')
  }
})
