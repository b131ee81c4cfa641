import anyTest, {type TestFn} from 'ava'
import {findChangeAuthor} from '../../shared/billing/plan-change-settle.ts'
import {readSubscription} from '../../shared/billing/subscription.ts'
import {type Billing, openBilling, settleMoney} from '../support/billing.ts'
import {ok} from '../support/importing.ts'
import {
  callsOf,
  frozen,
  type Interval,
  openPayer,
  openWaiting,
  type PlanKey,
  refused,
  type WaitingPayer,
  waitsAt,
} from '../support/plan-changing.ts'

/** The tests run serially, because they count calls. */
const test = anyTest.serial as TestFn
let billing: Billing
test.before(async t => {
  billing = await openBilling(t, {workers: [], webhook: false})
})
test.afterEach.always(() => billing.payment.faults.clear())

type Move = {
  from: WaitingPayer
  ask: {planKey: string; interval?: Interval} | 'take back'
  change: string
  to: WaitingPayer
  calls: string[]
  /** `on`: the plan of the subscription after the change. `next`: the next plan in its schedule. */
  on?: `${PlanKey}.${Interval}`
  next?: `${PlanKey}.${Interval}`
}

/**
 * The transitions. Each begins with Business monthly and a pending change: N for none, D for a downgrade to Team monthly, C for a
 * cancellation.
 */
const moves: Move[] = [
  {from: 'N', ask: {planKey: 'team'}, change: 'at_renewal', to: 'D', calls: ['create', 'phases'], next: 'team.month'},
  {from: 'N', ask: {planKey: 'enterprise', interval: 'month'}, change: 'now', to: 'N', calls: ['update'], on: 'enterprise.month'},
  {from: 'N', ask: {planKey: 'business', interval: 'year'}, change: 'now', to: 'N', calls: ['update'], on: 'business.year'},
  {from: 'N', ask: {planKey: 'free'}, change: 'cancel', to: 'C', calls: ['update']},
  {from: 'N', ask: 'take back', change: 'now', to: 'N', calls: []},
  {from: 'D', ask: {planKey: 'team'}, change: 'at_renewal', to: 'D', calls: [], next: 'team.month'},
  {from: 'D', ask: {planKey: 'team', interval: 'year'}, change: 'at_renewal', to: 'D', calls: ['phases'], next: 'team.year'},
  {from: 'D', ask: {planKey: 'free'}, change: 'cancel', to: 'C', calls: ['phases']},
  {from: 'D', ask: {planKey: 'enterprise'}, change: 'now', to: 'N', calls: ['update', 'release'], on: 'enterprise.month'},
  {from: 'D', ask: {planKey: 'business'}, change: 'now', to: 'N', calls: ['release']},
  {from: 'D', ask: 'take back', change: 'now', to: 'N', calls: ['release']},
  {from: 'C', ask: {planKey: 'free'}, change: 'cancel', to: 'C', calls: []},
  {from: 'C', ask: {planKey: 'team', interval: 'year'}, change: 'at_renewal', to: 'D', calls: ['create', 'phases'], next: 'team.year'},
  {from: 'C', ask: {planKey: 'enterprise'}, change: 'now', to: 'N', calls: ['update'], on: 'enterprise.month'},
  {from: 'C', ask: {planKey: 'business'}, change: 'now', to: 'N', calls: ['update']},
  {from: 'C', ask: 'take back', change: 'now', to: 'N', calls: ['update']},
]

for (const {from, ask, change, to, calls, on = 'business.month', next} of moves) {
  const wanted = ask === 'take back' ? ask : `${ask.planKey}${ask.interval ? ` by the ${ask.interval}` : ''}`
  test(`from ${from}, the request "${wanted}" is ${change} and leads to ${to}`, async t => {
    const {payment, prices} = billing
    const payer = await openWaiting(billing, from, {planKey: 'business'})
    const before = payer.charged()
    const answer = await ok(ask === 'take back' ? payer.takeBack() : payer.ask(ask), 200)
    t.is(answer.change, change)
    t.is(waitsAt(payer), to)
    t.deepEqual(callsOf(billing), calls)
    t.is(payer.price(), prices[on])
    const charged = payer.charged() - before
    t.is(answer.due.amount, charged)
    t.is(charged > 0, calls[0] === 'update' && on !== 'business.month')
    const end = new Date(payer.found().items.data[0].current_period_end * 1000).toISOString()
    if (change !== 'now') t.is(answer.effectiveAt, end)
    if (next) t.is(payment.find(payer.schedule()!.id)!.phases.at(-1).items[0].price, prices[next])
    const rows = (await payer.changes()).slice(from === 'N' ? 0 : 1)
    t.deepEqual(
      rows.map(({state, person}) => [state, person]),
      calls.length ? [['accepted', payer.person]] : [],
    )
    await settleMoney(t, billing)
  })
}

test('a change stores its author and id wherever it is written', async t => {
  const {payment} = billing
  const payer = await openPayer(billing, {planKey: 'team'})
  await ok(payer.ask({planKey: 'business'}), 200)
  const [up] = await payer.changes()
  const said = {app: 'lading', env: 'test', org_id: payer.org, kind: 'plan', requested_by: payer.person}
  const sold = {plan_key: 'business', plan_version_id: 'business.1', interval: 'month'}
  t.deepEqual(payer.found().metadata, {...said, ...sold, change_id: up!.id})
  t.is(payment.journal().find(({key}) => key === `chg:${up!.id}`)?.method, 'POST')

  await ok(payer.ask({planKey: 'team', interval: 'year'}), 200)
  const [, down] = await payer.changes()
  const {metadata, phases} = payer.schedule()!
  t.deepEqual(metadata, {...said, change_id: down!.id})
  t.deepEqual(phases[1].metadata, {...said, change_id: down!.id, plan_key: 'team', plan_version_id: 'team.1', interval: 'year'})
  t.deepEqual(payer.found().metadata.change_id, up!.id, 'the plan that is on is still that one')
  await ok(payer.ask({planKey: 'free'}), 200)
  await settleMoney(t, billing)
})

test('a downgrade keeps other items on the subscription, and metered items have no quantity', async t => {
  const {stripe, prices} = billing
  const payer = await openPayer(billing, {planKey: 'business', interval: 'year'})
  await stripe.subscriptionItems.create({subscription: payer.id, price: prices.overage, proration_behavior: 'none'})
  const {start, end} = {start: payer.found().items.data[0].current_period_start, end: payer.found().items.data[0].current_period_end}
  await ok(payer.ask({planKey: 'team'}), 200)
  const [now, next] = payer.schedule()!.phases
  const priceAndQuantity = ({items}: any) => items.map(({price, quantity}: any) => [price, quantity ?? null])
  t.deepEqual(priceAndQuantity(now), [
    [prices['business.year'], 1],
    [prices.overage, null],
  ])
  t.deepEqual([now.start_date, now.end_date], [start, end])
  t.deepEqual(priceAndQuantity(next), [
    [prices['team.month'], 1],
    [prices.overage, null],
  ])
  t.is(next.billing_cycle_anchor, 'phase_start')
  await settleMoney(t, billing)
})

test('downgrade, cancellation, downgrade and upgrade each replace the pending one; the upgrade is paid', async t => {
  const payer = await openPayer(billing, {planKey: 'business'})
  const bodies = [{planKey: 'team'}, {planKey: 'free'}, {planKey: 'team', interval: 'year'}, {planKey: 'enterprise'}]
  const replaced: unknown[] = []
  for (const body of bodies) replaced.push((await ok(payer.ask(body), 200)).replaces?.planKey ?? null)
  t.deepEqual(replaced, [null, 'team', 'free', 'team'])
  t.is(waitsAt(payer), 'N')
  t.is(payer.schedule(), null)
  t.is(payer.price(), billing.prices['enterprise.month'])
  // An upgrade a second into its month costs nearly the whole difference, and charges no part of it twice.
  t.true(payer.charged() > 48_900 && payer.charged() <= 49_000, `${payer.charged()}`)
  await settleMoney(t, billing)
})

test('an upgrade replaces a cancellation that waits on a schedule: it is paid before the schedule is released', async t => {
  const payer = await openWaiting(billing, 'D', {planKey: 'business'})
  await ok(payer.ask({planKey: 'free'}), 200)
  t.not(payer.schedule(), null)
  billing.payment.clearJournal()
  await ok(payer.ask({planKey: 'enterprise'}), 200)
  t.deepEqual(callsOf(billing), ['update', 'release'])
  t.is(waitsAt(payer), 'N')
  await settleMoney(t, billing)
})

test('a cancellation that waits on a schedule is withdrawn together with it', async t => {
  const payer = await openWaiting(billing, 'D', {planKey: 'business'})
  await ok(payer.ask({planKey: 'free'}), 200)
  const {replaces} = await ok(payer.takeBack(), 200)
  t.is(replaces.planKey, 'free')
  t.is(waitsAt(payer), 'N')
  await settleMoney(t, billing)
})

test('a cancellation made at the portal, which sets a date, can be withdrawn', async t => {
  const {stripe, payment} = billing
  const payer = await openPayer(billing, {planKey: 'business'})
  const features = {subscription_cancel: {enabled: true, mode: 'at_period_end' as const}}
  const {id: configuration} = await stripe.billingPortal.configurations.create({features})
  const {id: session} = await stripe.billingPortal.sessions.create({customer: payer.customer, configuration})
  for (const back of [() => payer.takeBack(), () => payer.ask({planKey: 'business'}), () => payer.ask({planKey: 'enterprise'})]) {
    await payment.actAtPortal(session, {do: 'cancel', subscription: payer.id})
    t.like(payer.found(), {cancel_at_period_end: false})
    t.is(waitsAt(payer), 'C')
    payment.clearJournal()
    t.is((await ok(back(), 200)).replaces.planKey, 'free')
    t.is(waitsAt(payer), 'N')
    t.regex(payment.journal({method: 'POST'}).at(-1)!.body, /(^|&)cancel_at=(&|$)/, 'by the date too')
  }
  await payment.dashboard.cancelAtPeriodEnd(payer.id)
  payment.clearJournal()
  await ok(payer.takeBack(), 200)
  t.regex(payment.journal({method: 'POST'}).at(-1)!.body, /(^|&)cancel_at_period_end=false(&|$)/, 'what the flag said, by the flag')
  await settleMoney(t, billing)
})

test('unsold plans, a missing plan and the current plan are refused without a provider call', async t => {
  const payer = await openPayer(billing, {planKey: 'team'})
  const {org, token} = await billing.house.makeOrg({role: 'admin'})
  const nobody = billing.house.as(token)
  billing.payment.clearJournal()
  for (const path of ['plan', 'plan/preview']) {
    const ask = (body: object) => payer.call('POST', `/orgs/${payer.org}/billing/${path}`, body)
    await refused(t, ask({planKey: 'gold'}), 400, 'NOT_SOLD')
    await refused(t, ask({planKey: 'trial'}), 400, 'NOT_SOLD')
    await refused(t, ask({planKey: 'team', interval: 'week'}), 400, 'INVALID')
    await refused(t, ask({}), 400, 'INVALID')
    await refused(t, ask({planKey: 'team'}), 409, 'NO_CHANGE')
    await refused(t, nobody('POST', `/orgs/${org}/billing/${path}`, {planKey: 'team'}), 409, 'NOT_SUBSCRIBED')
  }
  await refused(t, nobody('DELETE', `/orgs/${org}/billing/plan/pending`), 409, 'NOT_SUBSCRIBED')
  t.deepEqual(callsOf(billing), [])
  await settleMoney(t, billing)
})

test('a cancelled subscription counts as none', async t => {
  const {payment} = billing
  const payer = await openPayer(billing, {planKey: 'team'})
  await payment.dashboard.cancelNow(payer.id)
  await refused(t, payer.ask({planKey: 'business'}), 409, 'NOT_SUBSCRIBED')
  await refused(t, payer.takeBack(), 409, 'NOT_SUBSCRIBED')
  await settleMoney(t, billing)
})

test('an org with an unpaid plan cannot upgrade, but can downgrade and cancel', async t => {
  const {payment} = billing
  for (const [afterRetries, status, code] of [
    ['past_due', 'past_due', 'STATUS_PAST_DUE'],
    ['unpaid', 'unpaid', 'STATUS_SUSPENDED'],
    ['pause', 'paused', 'STATUS_SUSPENDED'],
  ] as const) {
    payment.setSettings({afterRetries, retryAfterDays: [1]})
    const payer = await openPayer(billing, {planKey: 'business'})
    payment.setCard(payer.found().default_payment_method, 'card_declined')
    await payment.advance(35 * 86_400)
    t.is(payer.found().status, status)
    const [charged, before] = [payer.charged(), frozen(payer)]
    for (const ask of [payer.ask, payer.preview]) {
      const {body} = await refused(t, ask({planKey: 'enterprise'}), 402, code)
      t.is(typeof body.balance.available, 'number')
      t.deepEqual(body.lift, [{by: 'payment'}])
    }
    t.is(frozen(payer), before)
    t.is((await ok(payer.ask({planKey: 'team'}), 200)).change, 'at_renewal')
    t.is((await ok(payer.ask({planKey: 'free'}), 200)).change, 'cancel')
    t.is(payer.charged(), charged)
    await settleMoney(t, billing)
  }
})

test('a change from monthly to yearly is charged at the renewal, and begins a year', async t => {
  const {payment, prices} = billing
  const payer = await openPayer(billing, {planKey: 'business'})
  await ok(payer.ask({planKey: 'team', interval: 'year'}), 200)
  const end = payer.found().items.data[0].current_period_end
  await payment.advanceTo(end + 2 * 3600)
  t.is(payer.price(), prices['team.year'])
  const [{current_period_start: from, current_period_end: to}] = payer.found().items.data
  t.is(from, end)
  t.true(to - from >= 365 * 86_400)
  t.is(payer.charged(), 9000 + 30_000)
  t.like(payer.found().metadata, {plan_key: 'team', plan_version_id: 'team.1', interval: 'year'})
  await settleMoney(t, billing)
})

test('a change read from the provider has an author only if it equals the requested change', async t => {
  const {house, payment, prices} = billing
  const payer = await openPayer(billing, {planKey: 'team'})
  await ok(payer.ask({planKey: 'enterprise'}), 200)
  const author = async () => {
    const read = (await readSubscription(house.tools, payer.id))!
    return house.db.transaction(tx => findChangeAuthor(tx, {org: payer.org, read}))
  }
  t.deepEqual(await author(), {org: payer.org, via: 'session', person: payer.person})
  await payment.dashboard.changePrice(payer.id, prices['business.month'])
  t.is(await author(), null)
  await settleMoney(t, billing)
})

test('in a trial an upgrade costs nothing yet, and a downgrade waits for the end of the trial', async t => {
  const {stripe, payment, prices} = billing
  const payer = await openPayer(billing, {planKey: 'team'})
  await payment.dashboard.cancelNow(payer.id)
  const trial = await stripe.subscriptions.create({
    customer: payer.customer,
    items: [{price: prices['business.month']}],
    trial_end: payment.now() + 10 * 86_400,
  })
  const item = () => payment.find(trial.id)!.items.data[0]
  const charged = payer.charged()
  t.like(await ok(payer.ask({planKey: 'enterprise'}), 200), {change: 'now', due: {amount: 0}})
  t.is(item().price.id, prices['enterprise.month'])
  const {change, effectiveAt} = await ok(payer.ask({planKey: 'team', interval: 'year'}), 200)
  t.deepEqual([change, Date.parse(effectiveAt)], ['at_renewal', trial.trial_end! * 1000])
  t.is(payer.charged(), charged)
  await payment.advanceTo(trial.trial_end! + 2 * 3600)
  t.is(item().price.id, prices['team.year'])
  t.is(payer.charged(), charged + 30_000)
  await settleMoney(t, billing)
})
