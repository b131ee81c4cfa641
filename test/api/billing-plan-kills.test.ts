import {spawnSync} from 'node:child_process'
import anyTest, {type ExecutionContext, type TestFn} from 'ava'
import {armFault, type FaultPoint} from '../../shared/fault-point.ts'
import {findSubscription} from '../../sql/subscriptions.ts'
import {reconcileOrg} from '../../workers/billing/reconcile.ts'
import type {WorkerDeps as WorkerTools} from '../../workers/deps.ts'
import {startApiProcess} from '../support/api-process.ts'
import {type Billing, openBilling, settleMoney} from '../support/billing.ts'
import {type Call, openCalls} from '../support/client.ts'
import {ok} from '../support/importing.ts'
import {frozen, openWaiting, type Payer, refused, type WaitingPayer, waitsAt} from '../support/plan-changing.ts'
import {until} from '../support/until.ts'

/** The tests run serially, because they share one payment provider. */
const test = anyTest.serial as TestFn
let billing: Billing
test.before(async t => {
  billing = await openBilling(t, {workers: [], webhook: false})
})
test.afterEach.always(() => armFault(undefined))

test('a process that wakes after its billing lock expired does not undo what others did meanwhile', async t => {
  const {payment, prices} = billing
  const sleeper = await startApiProcess({...environment(), FAULT_POINT: 'after_plan_change:1:SIGSTOP'})
  t.teardown(() => sleeper.signal('SIGKILL'))
  const payer = await openWaiting(billing, 'N', {planKey: 'team'})
  const asked = openCalls(sleeper.url)(payer.token)('POST', `/orgs/${payer.org}/billing/plan`, {planKey: 'enterprise'})
  await until(
    () => spawnSync('ps', ['-o', 'stat=', '-p', String(sleeper.pid)]).stdout.toString(),
    state => state.startsWith('T'),
  )
  await payment.dashboard.changePrice(payer.id, prices['business.month'])
  await holdRunsOut()
  // The remaining calls of the paused request could now change another plan, so the request must send none when it resumes.
  t.is((await ok(payer.ask({planKey: 'free'}), 200)).change, 'cancel')
  const [before, charged] = [frozen(payer), payer.charged()]
  sleeper.signal('SIGCONT')
  const late = await asked
  t.deepEqual([late.status, late.body.code], [409, 'CHANGE_IN_PROGRESS'])
  t.deepEqual([frozen(payer), payer.charged()], [before, charged])
  t.deepEqual(
    (await payer.changes()).map(({state}) => state),
    ['refused', 'accepted'],
  )

  // Twenty requests go to two processes at once.
  const other = openCalls(sleeper.url)(payer.token)
  const path = `/orgs/${payer.org}/billing/plan`
  const answers = await Promise.all(Array.from({length: 20}, (_, n) => (n % 2 ? other : payer.call)('POST', path, {planKey: 'enterprise'})))
  const done = answers.filter(({status}) => status === 200)
  t.is(done.length, 1)
  for (const {status, body} of answers.filter(one => !done.includes(one)))
    t.true(status === 409 && ['CHANGE_IN_PROGRESS', 'NO_CHANGE'].includes(body.code), `${status} ${body.code}`)
  t.is(payer.charged() - charged, done[0]!.body.due.amount)
  t.false(await payer.isHeld())
  await settleMoney(t, billing)
  sleeper.signal('SIGTERM')
  await sleeper.exit
})

type Change = {from: WaitingPayer; ask: {planKey: string} | 'take back'; to: WaitingPayer; steps: 1 | 2}

const changes: Record<string, Change> = {
  'N to D': {from: 'N', ask: {planKey: 'team'}, to: 'D', steps: 2},
  'N to C': {from: 'N', ask: {planKey: 'free'}, to: 'C', steps: 1},
  'C to D': {from: 'C', ask: {planKey: 'team'}, to: 'D', steps: 2},
  'D to C': {from: 'D', ask: {planKey: 'free'}, to: 'C', steps: 1},
  'D to an upgrade': {from: 'D', ask: {planKey: 'enterprise'}, to: 'N', steps: 2},
  'C to an upgrade': {from: 'C', ask: {planKey: 'enterprise'}, to: 'N', steps: 1},
  'D to N': {from: 'D', ask: 'take back', to: 'N', steps: 1},
  'D to N by asking for the plan one is on': {from: 'D', ask: {planKey: 'business'}, to: 'N', steps: 1},
  'an upgrade': {from: 'N', ask: {planKey: 'enterprise'}, to: 'N', steps: 1},
}

type Point = `${FaultPoint}:${number}`
const pointsOf: Record<1 | 2, Point[]> = {
  1: ['after_plan_change:1', 'after_payment_answer:1', 'before_billing_release:1'],
  2: ['after_plan_change:1', 'after_payment_answer:1', 'between_payment_calls:1', 'after_payment_answer:2', 'before_billing_release:1'],
}

/**
 * The changes during which a real process is killed after the first answer of the provider. `isForReal` adds every point of an upgrade beside a
 * pending downgrade, and the point between the two calls of `N to D`. At other points, an error interrupts this process.
 */
const calls = ['N to D', 'N to C', 'D to C', 'D to N', 'an upgrade']
const isForReal = (name: string, point: Point) =>
  name === 'D to an upgrade' ||
  (calls.includes(name) && point === 'after_payment_answer:1') ||
  (name === 'N to D' && point === 'between_payment_calls:1')

const cases = Object.entries(changes).flatMap(([name, change]) => pointsOf[change.steps].map(point => ({name, change, point})))

for (const [index, {name, change, point}] of cases.entries()) {
  const [isAsked, isKilled] = [index % 2 === 1, isForReal(name, point)]
  const how = `${isKilled ? 'killed' : 'interrupted'} at ${point}, then ${isAsked ? 'requested again' : 'settled by the worker'}`
  test(`a plan change from ${name} is finished and charged once, ${how}`, async t => {
    const payer = await openWaiting(billing, change.from, {planKey: 'business'})
    await (isKilled ? killAt(t, payer, change, point) : breakOffAt(t, payer, change, point))
    // A repeated request for a plan that is already active gets 409. A request for a change that is still open finishes it.
    const answer = isOn(change) && point === 'before_billing_release:1' ? 409 : 200
    if (isAsked) t.is((await askFor(payer.call, payer, change)).status, answer)
    await lookAfter(payer)
    await assertSettled(t, payer, change)
    const [charged, again] = [payer.charged(), await askFor(payer.call, payer, change)]
    if (isOn(change)) t.is(again.body.code, 'NO_CHANGE')
    else t.is(again.status, 200, again.text)
    t.is(payer.charged(), charged)
    t.is(waitsAt(payer), change.to)
    await settleMoney(t, billing)
  })
}

const isUpgrade = ({ask}: Change) => ask !== 'take back' && ask.planKey === 'enterprise'

/** Whether a repeated request asks for the plan that is active after the change. */
const isOn = ({ask, to}: Change) => ask !== 'take back' && to === 'N'

const askFor = (call: Call, {org}: Payer, {ask}: Change) => {
  const path = `/orgs/${org}/billing/plan`
  return ask === 'take back' ? call('DELETE', `${path}/pending`) : call('POST', path, ask)
}

/** Kills a separate process with the same database, provider and keys at the point, so its request fails. Then lets its billing lock expire. */
const killAt = async (t: ExecutionContext, payer: Payer, change: Change, point: Point) => {
  const api = await startApiProcess({...environment(), FAULT_POINT: point})
  t.teardown(() => api.signal('SIGKILL'))
  await t.throwsAsync(askFor(openCalls(api.url)(payer.token), payer, change))
  await api.exit
  t.true(await payer.isHeld())
  // Before the release of the lock, the change has ended. A request without an open change only waits for the lock.
  if (point !== 'before_billing_release:1') await refused(t, payer.takeBack(), 409, 'CHANGE_IN_PROGRESS')
  await holdRunsOut()
}

/** Interrupts the same code in this process by an error. Nothing after the point runs, but the lock is released. */
const breakOffAt = async (t: ExecutionContext, payer: Payer, change: Change, point: Point) => {
  armFault(point, () => {
    throw new Error('Broken off')
  })
  await refused(t, askFor(payer.call, payer, change), 500, 'INTERNAL')
}

const environment = () => {
  const {DATABASE_URL, CRM_STANDIN_URL, PAYMENT_API_KEY, PAYMENT_API_URL, PAYMENT_WEBHOOK_SECRETS, STORAGE_DIR} = billing.house.config
  return {
    NODE_ENV: 'test',
    DATABASE_URL: DATABASE_URL!,
    CRM_STANDIN_URL: CRM_STANDIN_URL!,
    STORAGE_DIR,
    PAYMENT_API_KEY: PAYMENT_API_KEY!,
    PAYMENT_API_URL: PAYMENT_API_URL!,
    PAYMENT_WEBHOOK_SECRETS: PAYMENT_WEBHOOK_SECRETS.join(),
  }
}

let minutes = 0
const holdRunsOut = () => billing.house.ahead(`${(minutes += 3)} minutes`)

/** Processes open changes, as the worker does. */
const lookAfter = ({org}: Payer) => {
  const {tools} = billing.house
  return reconcileOrg({...tools, drain: new AbortController().signal} as unknown as WorkerTools, org)
}

/** Asserts that our row equals the provider's, that the change names its author, and that it was charged once. */
const assertSettled = async (t: ExecutionContext, payer: Payer, change: Change) => {
  t.is(waitsAt(payer), change.to)
  const row = (await findSubscription(billing.house.db, payer.org))!
  t.is(row.priceId, payer.price())
  t.is(row.planVersionId, isUpgrade(change) ? 'enterprise.1' : 'business.1')
  t.is(row.pending?.planKey ?? 'N', {N: 'N', D: 'team', C: 'free'}[change.to])
  t.is((await payer.changes()).at(-1)!.state, 'landed')
  const extra = payer.charged() - 9000
  t.true(isUpgrade(change) ? extra > 39_000 && extra <= 40_000 : extra === 0, `${extra}`)
  const {changes: told} = await ok(payer.call('GET', `/orgs/${payer.org}/config/changes?page=plan`), 200)
  if (isUpgrade(change) || change.to !== 'N') t.like(told[0], {via: 'session', userId: payer.person})
}
