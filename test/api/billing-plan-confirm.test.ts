import anyTest, {type ExecutionContext, type TestFn} from 'ava'
import {findSubscription} from '../../sql/subscriptions.ts'
import {reconcileOrg} from '../../workers/billing/reconcile.ts'
import type {WorkerDeps} from '../../workers/deps.ts'
import {type Billing, openBilling, settleMoney} from '../support/billing.ts'
import {ok} from '../support/importing.ts'
import {openWaiting, type Payer, refused, type WaitingPayer, waitsAt} from '../support/plan-changing.ts'

/** The tests run serially, because they share one payment provider. */
const test = anyTest.serial as TestFn
let billing: Billing
test.before(async t => {
  billing = await openBilling(t, {workers: [], webhook: false})
})
test.afterEach(t => settleMoney(t, billing))
test.afterEach.always(() => billing.payment.faults.clear())

const up = {planKey: 'enterprise'}
const releases = {method: 'POST', path: '/v1/subscription_schedules/*/release'}

const openCareful = async (waiting: WaitingPayer = 'N') => {
  const payer = await openWaiting(billing, waiting, {planKey: 'business'})
  billing.payment.setCard(payer.found().default_payment_method, 'authentication_required')
  return payer
}

/** Syncs the org, as the worker does for an event of the provider. */
const hear = ({org}: Payer) => reconcileOrg({...billing.house.tools, drain: new AbortController().signal} as unknown as WorkerDeps, org)
const planOf = async ({org}: Payer) => (await findSubscription(billing.house.db, org))?.planVersionId

/** Submits the card number on the payment page, as a customer who confirms does. */
const confirm = async (url: string) => {
  const answer = await fetch(url, {method: 'POST', body: new URLSearchParams({card: '4000002760003184'}), redirect: 'manual'})
  return answer.status
}

const invoiceAt = (url: string) => billing.payment.find(new URL(url).pathname.split('/').at(-1)!)!

const askFor = async (t: ExecutionContext<any>, payer: Payer, body: object = up) => {
  const answer = await refused(t, payer.ask(body), 402, 'CARD_DECLINED')
  const {url, expiresAt} = answer.body.confirmation
  t.true(answer.body.error.includes(url), 'the sentence names the page, for a client that shows nothing else')
  t.true(Date.parse(expiresAt) <= (billing.payment.now() + 23 * 3600) * 1000)
  return url as string
}

for (const waiting of ['N', 'D', 'C'] as const)
  test(`the plan changes when the payment is confirmed, and not before; ${waiting} waited before`, async t => {
    const payer = await openCareful(waiting)
    await hear(payer)
    const [price, charged] = [payer.price(), payer.charged()]
    const url = await askFor(t, payer)
    t.like((await payer.changes()).at(-1), {kind: 'now', state: 'confirming'})
    await hear(payer)
    t.deepEqual([payer.price(), payer.charged(), await planOf(payer)], [price, charged, 'business.1'])
    t.is(waitsAt(payer), waiting)

    t.is(await confirm(url), 303)
    await hear(payer)
    t.is(await planOf(payer), 'enterprise.1')
    t.is(payer.charged(), charged + invoiceAt(url).amount_due)
    await hear(payer)
    t.is(waitsAt(payer), 'N')
    t.like((await payer.changes()).at(-1), {kind: 'now', state: 'landed'})
    const {body} = await payer.call('GET', `/orgs/${payer.org}/config/changes`)
    t.like(
      body.changes.find(({subject}: {subject: string}) => subject === 'plan.changed'),
      {via: 'session'},
    )
    t.is((await payer.ask(up)).body.code, 'NO_CHANGE')
  })

test('an unconfirmed payment leaves the old plan and nothing to pay', async t => {
  const payer = await openCareful()
  const charged = payer.charged()
  const url = await askFor(t, payer)
  await billing.payment.advance(24 * 3600)
  await hear(payer)
  t.is(await planOf(payer), 'business.1')
  t.is(payer.charged(), charged)
  t.is(invoiceAt(url).status, 'void')
  t.is(payer.found().pending_update, null)
  t.like((await payer.changes()).at(-1), {state: 'declined', error: 'not_confirmed'})
  await confirm(url)
  t.is(payer.charged(), charged, 'the old page takes no money')
})

test('another change request closes the confirmation page and voids its invoice', async t => {
  const payer = await openCareful()
  const charged = payer.charged()
  const first = await askFor(t, payer)
  const second = await askFor(t, payer)
  t.not(first, second)
  t.is(invoiceAt(first).status, 'void')
  t.is((await ok(payer.ask({planKey: 'free'}), 200)).change, 'cancel')
  t.is(invoiceAt(second).status, 'void')
  t.is(payer.found().pending_update, null)
  t.is(payer.charged(), charged)
  t.is(waitsAt(payer), 'C')
})

test('cancelling the pending change voids its invoice', async t => {
  const payer = await openCareful('D')
  const url = await askFor(t, payer)
  t.is((await payer.takeBack()).status, 200)
  t.is(invoiceAt(url).status, 'void')
  t.is(waitsAt(payer), 'N')
})

/** Restores what the tables held before the process stored the outcome of the change, as after a crash. */
const forgetOutcome = ({org}: Payer) =>
  billing.house.hot.query(`update plan_changes set state = 'started' where org_id = $1 and state = 'confirming'`, [org])

test('after a crash, another change still closes the confirmation page and takes effect', async t => {
  const payer = await openWaiting(billing, 'N', {planKey: 'team'})
  billing.payment.setCard(payer.found().default_payment_method, 'authentication_required')
  const url = await askFor(t, payer)
  await forgetOutcome(payer)
  const other = await askFor(t, payer, {planKey: 'business'})
  t.not(url, other)
  t.is(invoiceAt(url).status, 'void')
  t.deepEqual(
    (await payer.changes()).map(({target, state}) => [target.planKey, state]),
    [
      ['enterprise', 'declined'],
      ['business', 'confirming'],
    ],
  )
  await forgetOutcome(payer)
  t.is(await askFor(t, payer, {planKey: 'business'}), other, 'the same request returns the same page')
  t.is(await confirm(other), 303)
  await hear(payer)
  t.is(await planOf(payer), 'business.1')
})

test('after a crash, cancelling the pending change still voids its invoice', async t => {
  const payer = await openCareful('D')
  const url = await askFor(t, payer)
  await forgetOutcome(payer)
  t.is((await payer.takeBack()).status, 200)
  t.is(invoiceAt(url).status, 'void')
  t.is(payer.found().pending_update, null)
  t.is(waitsAt(payer), 'N')
  t.like((await payer.changes()).at(0), {kind: 'at_renewal'})
  t.like(
    (await payer.changes()).find(({kind}) => kind === 'now'),
    {state: 'declined', error: 'not_confirmed'},
  )
})

test('a change that was paid just before another request stays in effect', async t => {
  const payer = await openCareful()
  const url = await askFor(t, payer)
  await confirm(url)
  t.is((await payer.ask(up)).body.code, 'NO_CHANGE')
  t.is((await payer.changes()).at(-1)!.state, 'accepted')
})

test('another request replaces a confirmed change whose old schedule the provider did not release', async t => {
  for (const [next, to] of [
    [(payer: Payer) => payer.takeBack(), 'N'],
    [(payer: Payer) => payer.ask({planKey: 'free'}), 'C'],
  ] as const) {
    const payer = await openCareful('D')
    await confirm(await askFor(t, payer))
    billing.payment.faults.add({...releases, action: {type: 'status', status: 400}})
    await ok(next(payer), 200)
    t.is(waitsAt(payer), to)
    t.deepEqual(
      (await payer.changes()).map(({state}) => state),
      ['accepted', 'superseded', 'accepted'],
    )
  }
})

test('a confirmed change whose last call is unanswered refuses another request', async t => {
  const payer = await openCareful('D')
  await confirm(await askFor(t, payer))
  billing.payment.faults.add({...releases, times: 2, action: {type: 'status', status: 500}})
  await refused(t, payer.takeBack(), 409, 'CHANGE_UNCONFIRMED')
  t.is((await payer.changes()).at(-1)!.state, 'unknown')
  await ok(payer.takeBack(), 200)
  t.is(waitsAt(payer), 'N')
})

for (const when of ['before', 'after'] as const)
  test(`if the connection breaks ${when} the provider opens the confirmation page, the customer still gets its link and is charged once`, async t => {
    const payer = await openCareful()
    const charged = payer.charged()
    billing.payment.faults.add({method: 'POST', path: `/v1/subscriptions/${payer.id}`, nth: 2, times: 1, action: {type: 'reset', when}})
    const url = await askFor(t, payer)
    await confirm(url)
    await hear(payer)
    t.is(await planOf(payer), 'enterprise.1')
    t.is(payer.charged(), charged + invoiceAt(url).amount_due)
    t.is(billing.payment.all('invoice').filter(({customer, status}) => customer === payer.customer && status === 'open').length, 0)
  })

test('if the provider opens no confirmation page, the change is declined and the price stays', async t => {
  const payer = await openCareful()
  const price = payer.price()
  billing.payment.faults.add({
    method: 'POST',
    path: `/v1/subscriptions/${payer.id}`,
    nth: 2,
    times: 1,
    action: {type: 'status', status: 400},
  })
  const {body} = await refused(t, payer.ask(up), 402, 'CARD_DECLINED')
  t.is(body.confirmation, undefined)
  t.regex(body.error, /portal/)
  t.is(payer.price(), price)
  t.like((await payer.changes()).at(-1), {state: 'declined'})
})

test('an upgrade that already waits for a confirmation at the provider is not reported as made', async t => {
  const payer = await openCareful()
  const {id, items} = payer.found()
  await billing.stripe.subscriptions.update(id, {
    items: [{id: items.data[0].id, price: billing.prices['enterprise.month']}],
    payment_behavior: 'pending_if_incomplete',
    proration_behavior: 'always_invoice',
  })
  const url = await askFor(t, payer)
  t.deepEqual(await payer.changes(), [])
  t.is(await confirm(url), 303)
  await hear(payer)
  t.is(await planOf(payer), 'enterprise.1')
})
