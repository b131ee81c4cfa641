import anyTest, {type ExecutionContext, type TestFn} from 'ava'
import {holdBilling, releaseBilling} from '../../shared/billing/lease.ts'
import {settleChanges} from '../../shared/billing/plan-change-settle.ts'
import {readSubscription} from '../../shared/billing/subscription.ts'
import type {FaultPoint} from '../../shared/fault-point.ts'
import {findSubscription} from '../../sql/subscriptions.ts'
import {writeRead} from '../../workers/billing/reading.ts'
import {startApiProcess} from '../api-process.ts'
import {type Billing, openBilling, settleMoney} from '../billing.ts'
import {type Call, openCalls} from '../client.ts'
import {ok} from '../importing.ts'
import {openWaiting, type Payer, refused, type Waiting, waitsAt} from '../plan-changing.ts'

/** The API is killed for real at every step of every change; whoever looks next brings it to its end. */
const test = anyTest.serial as TestFn
let billing: Billing
test.before(async t => {
  billing = await openBilling(t, {workers: [], webhook: false})
})

type Change = {from: Waiting; ask: {planKey: string} | 'take back'; to: Waiting; steps: 1 | 2}

const changes: Record<string, Change> = {
  'N to D': {from: 'N', ask: {planKey: 'team'}, to: 'D', steps: 2},
  'N to C': {from: 'N', ask: {planKey: 'free'}, to: 'C', steps: 1},
  'C to D': {from: 'C', ask: {planKey: 'team'}, to: 'D', steps: 2},
  'D to C': {from: 'D', ask: {planKey: 'free'}, to: 'C', steps: 1},
  'D to an upgrade': {from: 'D', ask: {planKey: 'enterprise'}, to: 'N', steps: 2},
  'C to an upgrade': {from: 'C', ask: {planKey: 'enterprise'}, to: 'N', steps: 1},
  'D to N': {from: 'D', ask: 'take back', to: 'N', steps: 1},
  'an upgrade': {from: 'N', ask: {planKey: 'enterprise'}, to: 'N', steps: 1},
}

type Point = `${FaultPoint}:${number}`
const pointsOf: Record<1 | 2, Point[]> = {
  1: ['after_plan_change:1', 'after_payment_answer:1', 'before_billing_release:1'],
  2: ['after_plan_change:1', 'after_payment_answer:1', 'between_payment_calls:1', 'after_payment_answer:2', 'before_billing_release:1'],
}

const cases = Object.entries(changes).flatMap(([name, change]) => pointsOf[change.steps].map(point => ({name, change, point})))

for (const [index, {name, change, point}] of cases.entries()) {
  const isAsked = index % 2 === 1
  test(`${name}, killed at ${point}, then ${isAsked ? 'asked again' : 'looked after'}`, async t => {
    const payer = await openWaiting(billing, change.from, {planKey: 'business'})
    await killAt(t, payer, change, point)
    t.true(await payer.isHeld())
    // A hold over nothing that is open is waited for a moment, as a worker's is.
    if (point !== 'before_billing_release:1') await refused(t, payer.takeBack(), 409, 'CHANGE_IN_PROGRESS')
    await holdRunsOut()
    // An upgrade that was written down as taken is no change any more; what was left open is ended, and answered.
    const answer = isUpgrade(change) && point === 'before_billing_release:1' ? 409 : 200
    if (isAsked) t.is((await askFor(payer.call, payer, change)).status, answer)
    await lookAfter(payer)
    await assertSettled(t, payer, change)
    const [charged, again] = [payer.charged(), await askFor(payer.call, payer, change)]
    if (isUpgrade(change)) t.is(again.body.code, 'NO_CHANGE')
    else t.is(again.status, 200, again.text)
    t.is(payer.charged(), charged)
    t.is(waitsAt(payer), change.to)
    await settleMoney(t, billing)
  })
}

const isUpgrade = ({ask}: Change) => ask !== 'take back' && ask.planKey === 'enterprise'

const askFor = (call: Call, {org}: Payer, {ask}: Change) => {
  const path = `/orgs/${org}/billing/plan`
  return ask === 'take back' ? call('DELETE', `${path}/pending`) : call('POST', path, ask)
}

/** The same database, provider and keys; it dies at its point, and so does the request. */
const killAt = async (t: ExecutionContext, payer: Payer, change: Change, point: Point) => {
  const {DATABASE_URL, CRM_STANDIN_URL, PAYMENT_API_KEY, PAYMENT_API_URL, PAYMENT_WEBHOOK_SECRETS, STORAGE_DIR} = billing.house.config
  const api = await startApiProcess({
    ...{NODE_ENV: 'test', DATABASE_URL: DATABASE_URL!, CRM_STANDIN_URL: CRM_STANDIN_URL!, STORAGE_DIR, FAULT_POINT: point},
    ...{PAYMENT_API_KEY: PAYMENT_API_KEY!, PAYMENT_API_URL: PAYMENT_API_URL!, PAYMENT_WEBHOOK_SECRETS: PAYMENT_WEBHOOK_SECRETS.join()},
  })
  t.teardown(() => api.signal('SIGKILL'))
  await t.throwsAsync(askFor(openCalls(api.url)(payer.token), payer, change))
  await api.exit
}

/** Each hold of a process that died runs out in two minutes, and they are waited for one after the other. */
let minutes = 0
const holdRunsOut = () => billing.house.ahead(`${(minutes += 3)} minutes`)

/** As the worker does it: what was begun is ended, then what the provider says is written down. */
const lookAfter = async ({org, id}: Payer) => {
  const {tools, db} = billing.house
  const held = (await holdBilling(db, org))!
  await settleChanges(tools, held)
  const read = await readSubscription(tools, id)
  await db.transaction(tx => writeRead(tx, held, read))
  await settleChanges(tools, held)
  await releaseBilling(tools, held)
}

/** Our rows say what the provider says, the change is its asker's, and it was charged for once. */
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
