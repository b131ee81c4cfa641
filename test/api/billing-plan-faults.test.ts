import anyTest, {type TestFn} from 'ava'
import {holdBilling, releaseBilling} from '../../shared/billing/lease.ts'
import {settleChanges} from '../../shared/billing/plan-change-settle.ts'
import type {FaultAction, FaultSpec} from '../simulators/payment/faults.ts'
import {type Billing, openBilling, pass, settleMoney} from '../support/billing.ts'
import {ok} from '../support/importing.ts'
import {callsOf, frozen, openPayer, openWaiting, type Payer, refused, waitsAt} from '../support/plan-changing.ts'
import {until} from '../support/until.ts'

/** The tests run serially, because they share one payment provider. */
const test = anyTest.serial as TestFn
let billing: Billing
test.before(async t => {
  billing = await openBilling(t, {workers: [], webhook: false})
})
test.afterEach.always(() => billing.payment.faults.clear())

const up = {planKey: 'enterprise'}
const down = {planKey: 'team'}
const updates: Partial<FaultSpec> = {method: 'POST', path: '/v1/subscriptions/*'}
const creates: Partial<FaultSpec> = {method: 'POST', path: '/v1/subscription_schedules'}
const phases: Partial<FaultSpec> = {method: 'POST', path: '/v1/subscription_schedules/*'}
const releases: Partial<FaultSpec> = {method: 'POST', path: '/v1/subscription_schedules/*/release'}
const reads: Partial<FaultSpec> = {method: 'GET', path: '/v1/subscriptions/*'}

const spoil = (where: Partial<FaultSpec>, action: FaultAction, times = 1) => billing.payment.faults.add({...where, times, action})
const broken = (when: 'before' | 'after', more = {}): FaultAction => ({type: 'status', status: 500, when, ...more})
const no: FaultAction = {type: 'status', status: 400, when: 'before'}
const states = async (payer: Payer) => (await payer.changes()).map(({state}) => state)

/** Faults that prevent the first call or lose its answer. The service reads the outcome, and calls again if there was no effect. */
const onceSpoiled: Record<string, FaultAction> = {
  '500 before it is done': broken('before'),
  '500 after it is done': broken('after'),
  'HTML with 503, before': {type: 'status', status: 503, when: 'before', body: 'html'},
  'HTML with 503, after': {type: 'status', status: 503, when: 'after', body: 'html'},
  'JSON without error, before': {type: 'status', status: 502, when: 'before', body: 'bare'},
  'JSON without error, after': {type: 'status', status: 404, when: 'after', body: 'bare'},
  'a connection cut before': {type: 'reset', when: 'before'},
  'a connection cut after': {type: 'reset', when: 'after'},
  'half an answer': {type: 'half'},
}

for (const [what, action] of Object.entries(onceSpoiled)) {
  test(`${what}: every call of an upgrade and a downgrade recovers, and the change is charged once`, async t => {
    const payer = await openPayer(billing, {planKey: 'business'})
    for (const [where, body, to] of [
      [creates, down, 'D'],
      [updates, up, 'N'],
      [phases, {planKey: 'free'}, 'C'],
    ] as const) {
      // In the last case, a cancellation changes the schedule of a downgrade.
      if (to === 'C') await ok(payer.ask({planKey: 'business'}), 200)
      spoil(where, action)
      const [charged, asked] = [payer.charged(), await payer.ask(body)]
      t.is(asked.status, 200, asked.text)
      t.is(waitsAt(payer), to)
      t.is((await states(payer)).at(-1), 'accepted')
      t.is(payer.charged() - charged, asked.body.due.amount)
    }
    await settleMoney(t, billing)
  })
}

test('a failure stored under the idempotency key ends the change; the next request starts a new one', async t => {
  for (const [where, body] of [
    [updates, up],
    [creates, down],
  ] as const) {
    const payer = await openPayer(billing, {planKey: 'business'})
    const before = frozen(payer)
    spoil(where, broken('before', {saved: true}))
    await refused(t, payer.ask(body), 503, 'PAYMENT_PROVIDER_UNAVAILABLE')
    t.is(frozen(payer), before)
    await ok(payer.ask(body), 200)
    t.deepEqual(await states(payer), ['refused', 'accepted'])
  }
  await settleMoney(t, billing)
})

test('a provider rate limit ends the attempt without effect, and the next request is a new change', async t => {
  const payer = await openPayer(billing, {planKey: 'business'})
  const before = frozen(payer)
  spoil(updates, {type: 'rateLimit', code: 'lock_timeout'})
  const {headers} = await refused(t, payer.ask(up), 503, 'PAYMENT_PROVIDER_UNAVAILABLE')
  t.is(headers.get('retry-after'), '30')
  t.is(frozen(payer), before)
  await ok(payer.ask(up), 200)
  t.deepEqual(await states(payer), ['refused', 'accepted'])
  await settleMoney(t, billing)
})

test('a provider refusal gives 502, without a charge or a pending change', async t => {
  const payer = await openPayer(billing, {planKey: 'business'})
  const before = frozen(payer)
  spoil(updates, no)
  const {text} = await refused(t, payer.ask(up), 502, 'PAYMENT_PROVIDER_REFUSED')
  t.notRegex(text, /stand-in|request_log|param/)
  t.is(frozen(payer), before)
  t.deepEqual(await states(payer), ['refused'])
  await ok(payer.ask(up), 200)
  await settleMoney(t, billing)
})

test('an invalid provider key gives NOT_CONFIGURED and leaves no change open', async t => {
  const payer = await openPayer(billing, {planKey: 'business'})
  const unauthorised: FaultAction = {type: 'status', status: 401, when: 'before'}
  spoil(updates, unauthorised)
  billing.payment.faults.add({...reads, nth: 2, action: unauthorised})
  await refused(t, payer.ask(up), 503, 'NOT_CONFIGURED')
  t.deepEqual(await states(payer), ['refused'])
  await ok(payer.ask(up), 200)
  await settleMoney(t, billing)
})

test('an unknown outcome gives 503, then 409 without a new call, until the same request gets its result', async t => {
  const payer = await openPayer(billing, {planKey: 'business'})
  const before = frozen(payer)
  spoil(updates, broken('before'), 4)
  const {headers, body} = await refused(t, payer.ask(up), 503, 'PAYMENT_PROVIDER_UNAVAILABLE')
  t.is(headers.get('retry-after'), '30')
  t.regex(body.error, /may have succeeded/)
  t.deepEqual(await states(payer), ['unknown'])
  billing.payment.clearJournal()
  await refused(t, payer.ask({planKey: 'free'}), 409, 'CHANGE_UNCONFIRMED')
  const keys = billing.payment.journal({method: 'POST'}).map(({key}) => key)
  const key = `chg:${(await payer.changes())[0]!.id}`
  t.deepEqual(keys, [key, key], 'what was asked before, to the byte')
  t.is(frozen(payer), before)

  const {due} = await ok(payer.ask(up), 200)
  t.is(payer.charged(), 9000 + due.amount)
  t.deepEqual(await states(payer), ['accepted'])
  await refused(t, payer.ask(up), 409, 'NO_CHANGE')
  await settleMoney(t, billing)
})

test('an unknown outcome that did take effect is found by the same request, without a second charge', async t => {
  const payer = await openPayer(billing, {planKey: 'business'})
  spoil(updates, broken('after'), 2)
  // The first read belongs to the change itself, so the fault begins with the second.
  billing.payment.faults.add({...reads, nth: 2, times: 4, action: broken('before')})
  await refused(t, payer.ask(up), 503, 'PAYMENT_PROVIDER_UNAVAILABLE')
  t.deepEqual(await states(payer), ['unknown'])
  await refused(t, payer.takeBack(), 409, 'CHANGE_UNCONFIRMED')
  billing.payment.faults.clear()
  billing.payment.clearJournal()
  t.is((await ok(payer.ask(up), 200)).due.amount, payer.charged() - 9000)
  t.deepEqual(callsOf(billing), [])
  await settleMoney(t, billing)
})

test('a decline whose answer was lost is recorded as declined, and a new card is charged anew', async t => {
  const {payment} = billing
  const payer = await openPayer(billing, {planKey: 'business'})
  const card = payer.found().default_payment_method
  payment.setCard(card, 'card_declined')
  spoil(updates, {type: 'half'}, 2)
  await refused(t, payer.ask(up), 503, 'PAYMENT_PROVIDER_UNAVAILABLE')
  payment.setCard(card, 'ok')
  await ok(payer.ask(up), 200)
  t.deepEqual(await states(payer), ['declined', 'accepted'])
  await settleMoney(t, billing)
})

test('a change of unknown outcome is not sent again after a day, or after a staff change', async t => {
  const {payment, prices} = billing
  const late = await openPayer(billing, {planKey: 'team'})
  const overtaken = await openPayer(billing, {planKey: 'team'})
  for (const payer of [late, overtaken]) {
    spoil(updates, broken('before'), 2)
    await refused(t, payer.ask(up), 503, 'PAYMENT_PROVIDER_UNAVAILABLE')
  }
  await payment.dashboard.changePrice(overtaken.id, prices['business.month'])
  payment.clearJournal()
  t.is((await ok(overtaken.ask({planKey: 'free'}), 200)).change, 'cancel')
  t.deepEqual(callsOf(billing), ['update'])
  t.deepEqual(await states(overtaken), ['refused', 'accepted'])

  await pass(billing, 1)
  await late.signIn()
  payment.clearJournal()
  t.is((await ok(late.ask({planKey: 'free'}), 200)).change, 'cancel')
  t.deepEqual(callsOf(billing), ['update'])
  t.deepEqual(await states(late), ['refused', 'accepted'])
  t.is(late.price(), prices['team.month'])
  await settleMoney(t, billing)
})

test('a schedule without phases is reported as partly applied and finished by the same request', async t => {
  const payer = await openPayer(billing, {planKey: 'business'})
  spoil(phases, no)
  const {body} = await refused(t, payer.ask(down), 409, 'CHANGE_INCOMPLETE')
  t.like(body.stands, {planKey: 'business', interval: 'month', pending: null, scheduled: true})
  t.deepEqual([await states(payer), waitsAt(payer)], [['partial'], 'N'])
  t.is((await ok(payer.ask(down), 200)).change, 'at_renewal')
  t.deepEqual([await states(payer), waitsAt(payer)], [['accepted'], 'D'])
  await settleMoney(t, billing)
})

test('a partly applied change is cleared by cancelling it or replaced by another change', async t => {
  for (const [next, to] of [
    [(payer: Payer) => payer.takeBack(), 'N'],
    [(payer: Payer) => payer.ask({planKey: 'free'}), 'C'],
    [(payer: Payer) => payer.ask({planKey: 'team', interval: 'year'}), 'D'],
    [(payer: Payer) => payer.ask(up), 'N'],
  ] as const) {
    const payer = await openPayer(billing, {planKey: 'business'})
    // Two faults: the provider also refuses the attempt to finish the change.
    spoil(phases, no, 2)
    await refused(t, payer.ask(down), 409, 'CHANGE_INCOMPLETE')
    await ok(next(payer), 200)
    t.is(waitsAt(payer), to)
    t.deepEqual(await states(payer), ['superseded', 'accepted'])
    if (to === 'N') t.is(payer.schedule(), null)
  }
  await settleMoney(t, billing)
})

test('a paid upgrade with its old schedule left is partial, charged once, and finished by any next attempt', async t => {
  for (const finish of ['again', 'take back', 'settle'] as const) {
    const payer = await openWaiting(billing, 'D', {planKey: 'business'})
    spoil(releases, no)
    const {body} = await refused(t, payer.ask(up), 409, 'CHANGE_INCOMPLETE')
    t.like(body.stands, {planKey: 'enterprise', pending: {planKey: 'team'}})
    t.deepEqual(await states(payer), ['accepted', 'partial'])
    const charged = payer.charged()
    if (finish === 'again') t.is((await ok(payer.ask(up), 200)).due.amount, charged - 9000)
    if (finish === 'take back') await ok(payer.takeBack(), 200)
    if (finish === 'settle') await settle(payer)
    t.is(payer.charged(), charged)
    t.is(payer.schedule(), null)
    t.is((await states(payer))[1], 'accepted')
  }
  await settleMoney(t, billing)
})

const settle = async ({org}: Payer) => {
  const {tools} = billing.house
  const held = (await holdBilling(tools.db, org))!
  await settleChanges(tools, held)
  await releaseBilling(tools, held)
}

test('of two concurrent changes one succeeds and the other gets 409 without a provider call', async t => {
  const {payment} = billing
  const payer = await openPayer(billing, {planKey: 'business'})
  spoil(updates, {type: 'hold', when: 'after'})
  const first = payer.ask(up)
  await until(
    () => payment.faults.held(),
    held => held === 1,
  )
  payment.clearJournal()
  await refused(t, payer.ask(down), 409, 'CHANGE_IN_PROGRESS')
  await refused(t, payer.takeBack(), 409, 'CHANGE_IN_PROGRESS')
  t.deepEqual(payment.journal(), [])
  payment.faults.release()
  await ok(first, 200)
  await settleMoney(t, billing)
})

test('a held billing lock is waited for briefly, then the request is refused', async t => {
  const {db, tools} = billing.house
  const payer = await openPayer(billing, {planKey: 'business'})
  const held = (await holdBilling(db, payer.org))!
  billing.payment.clearJournal()
  await refused(t, payer.ask(up), 409, 'CHANGE_IN_PROGRESS')
  t.deepEqual(billing.payment.journal(), [])
  await releaseBilling(tools, held)
  await ok(payer.ask(up), 200)
  await settleMoney(t, billing)
})

test('of six concurrent changes one is charged and the others are refused', async t => {
  const payer = await openPayer(billing, {planKey: 'business'})
  const answers = await Promise.all(Array.from({length: 6}, () => payer.ask(up)))
  const done = answers.filter(({status}) => status === 200)
  t.is(done.length, 1)
  for (const {status, body} of answers.filter(one => !done.includes(one)))
    t.true(status === 409 && ['CHANGE_IN_PROGRESS', 'NO_CHANGE'].includes(body.code), body.code)
  t.is(payer.charged(), 9000 + done[0]!.body.due.amount)
  t.is((await payer.changes()).length, 1)
  t.false(await payer.isHeld())
  await settleMoney(t, billing)
})
