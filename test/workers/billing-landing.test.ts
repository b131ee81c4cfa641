import anyTest, {type TestFn} from 'ava'
import {keepAccount, takeHold} from '../../sql/billing-accounts.ts'
import {findSubscription} from '../../sql/subscriptions.ts'
import {type Billing, openBilling, pass, seedSubscription, settleMoney} from '../support/billing.ts'
import {ok} from '../support/importing.ts'
import {makeEvent, sendWebhook, statusOf, untilApplied} from '../support/payment-webhook.ts'
import {openPayer} from '../support/plan-changing.ts'
import {until} from '../support/until.ts'

const test = anyTest.serial as TestFn
let billing: Billing
test.before(async t => {
  billing = await openBilling(t)
})
test.afterEach(t => settleMoney(t, billing))

test('a request to enable overage waits while a purchase is being applied', async t => {
  const {house} = billing
  const {org, token} = await house.makeOrg()
  await seedSubscription(billing, {org, planKey: 'team'})
  await untilApplied(house)
  await keepAccount(house.db, org)
  await until(
    () => takeHold(house.db, {org, holder: 'events:of-another-worker', seconds: 1}),
    taken => taken,
  )
  t.deepEqual(await ok(house.as(token)('POST', '/billing/overage', {enabled: true}), 200), {overageEnabled: true})
})

test('an event about a checkout session that the provider does not know is ignored', async t => {
  const {house} = billing
  const {org} = await house.makeOrg()
  const {customer} = await seedSubscription(billing, {org, planKey: 'team'})
  const session = {id: 'cs_test_of_nobody', object: 'checkout.session', customer, metadata: {}}
  t.is((await sendWebhook(house, makeEvent('evt_unknown_session', 'checkout.session.completed', session))).status, 200)
  await until(
    () => statusOf(house, 'evt_unknown_session'),
    status => status === 'ignored',
  )
  const {rows} = await house.hot.query(`select error, attempts from payment_events where id = 'evt_unknown_session'`)
  t.like(rows[0], {error: 'UNKNOWN_CHECKOUT', attempts: 1})
})

test('an event about an invoice, charge or dispute that the provider does not know is ignored at once', async t => {
  const {house} = billing
  const {org} = await house.makeOrg()
  const {customer} = await seedSubscription(billing, {org, planKey: 'team'})
  const things: [type: string, thing: object, error: string][] = [
    ['invoice.payment_failed', {id: 'in_none', object: 'invoice', customer}, 'UNKNOWN_OBJECT'],
    ['invoice.payment_action_required', {object: 'invoice', customer}, 'UNKNOWN_OBJECT'],
    ['charge.refunded', {id: 'ch_none', object: 'charge', customer}, 'UNKNOWN_OBJECT'],
    ['charge.dispute.closed', {id: 'dp_none', object: 'dispute', customer}, 'UNKNOWN_OBJECT'],
    ['charge.dispute.created', {id: 'dp_none', object: 'dispute', charge: 'ch_none'}, 'UNKNOWN_CUSTOMER'],
  ]
  for (const [type, thing] of things)
    t.is((await sendWebhook(house, makeEvent(`evt_none_${type}`, type, {metadata: {}, ...thing}))).status, 200)
  for (const [type, , error] of things) {
    const id = `evt_none_${type}`
    const seen = await until(
      async () => (await house.hot.query('select status, error, attempts from payment_events where id = $1', [id])).rows[0],
      ({status, attempts}) => status === 'ignored' || attempts > 1,
    )
    t.like(seen, {status: 'ignored', error}, type)
  }
})

test('a downgrade at period end is recorded as made by the schedule, a canceled subscription as made by the provider', async t => {
  const {house} = billing
  const [down, ended] = [await openPayer(billing, {planKey: 'business'}), await openPayer(billing, {planKey: 'business'})]
  await untilApplied(house)
  await ok(down.ask({planKey: 'team'}), 200)
  await ok(ended.ask({planKey: 'free'}), 200)
  for (const {org} of [down, ended])
    await until(
      () => findSubscription(house.db, org),
      row => row?.pending != null,
    )
  await untilApplied(house)
  await pass(billing, 32)
  const changesOf = async (org: string) =>
    (
      await house.hot.query(`select subject, via, user_id as person, after from changes where org_id = $1 and page = 'plan' order by id`, [
        org,
      ])
    ).rows
  const landed = await until(
    () => changesOf(down.org),
    rows => rows.at(-1).after?.plan === 'team',
  )
  t.like(landed.at(-1), {subject: 'plan.changed', via: 'schedule', person: null})
  t.like(
    landed.findLast(({subject}) => subject === 'plan.pending'),
    {via: 'schedule', person: null, after: null},
  )
  t.like(
    landed.find(({subject}) => subject === 'plan.pending'),
    {via: 'session', person: down.person},
  )
  const {payment, prices} = billing
  const early = await openPayer(billing, {planKey: 'business'})
  await untilApplied(house)
  await ok(early.ask({planKey: 'team'}), 200)
  await until(
    () => findSubscription(house.db, early.org),
    row => row?.pending != null,
  )
  await payment.dashboard.changePrice(early.id, prices['team.month'])
  const byStaff = await until(
    () => changesOf(early.org),
    rows => rows.at(-1).after?.plan === 'team',
  )
  t.like(byStaff.at(-1), {subject: 'plan.changed', via: 'payment'})
  const over = await until(
    () => changesOf(ended.org),
    rows => rows.at(-1).after?.plan === 'free',
  )
  t.like(over.at(-1), {subject: 'plan.changed', via: 'payment', person: null})
})

test('a pending plan change that an API token cancels is recorded as made by the token, not by the person who created it', async t => {
  const {house} = billing
  const {org, call, ask} = await openPayer(billing, {planKey: 'business'})
  await untilApplied(house)
  await ok(ask({planKey: 'team'}), 200)
  const latest = (isIt: (pending: object | null) => boolean) =>
    until(
      async () => {
        const {changes} = await ok(call('GET', `/orgs/${org}/config/changes?page=plan`), 200)
        return changes.find(({subject}: {subject: string}) => subject === 'plan.pending')
      },
      entry => entry !== undefined && isIt(entry.after),
    )
  await latest(pending => pending !== null)
  const ci = await ok(call('POST', `/orgs/${org}/tokens`, {name: 'CI'}), 201)
  await ok(house.as(ci.secret)('DELETE', `/orgs/${org}/billing/plan/pending`), 200)
  const entry = await latest(pending => pending === null)
  t.like(entry, {via: 'token', userId: null, userName: null, tokenId: ci.token.id, tokenName: 'CI'})
})
