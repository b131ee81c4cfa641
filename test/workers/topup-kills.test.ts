import {once} from 'node:events'
import anyTest, {type TestFn} from 'ava'
import type {FaultPoint} from '../../shared/fault-point.ts'
import {type Billing, openBilling, settleMoney} from '../support/billing.ts'
import {openTopping, type Topping} from '../support/topups.ts'
import {until} from '../support/until.ts'
import {endWorker, startWorker} from '../support/worker-process.ts'

const test = anyTest.serial as TestFn
let billing: Billing
test.before(async t => {
  billing = await openBilling(t, {workers: [], webhook: false})
})
test.afterEach(t => settleMoney(t, billing))

/** Starts a separate process, which finds the org's job in the queue. */
const work = (t: any, point: `${FaultPoint}:1:${'SIGKILL' | 'SIGSTOP'}`) => {
  const {PAYMENT_API_KEY, PAYMENT_API_URL, PAYMENT_WEBHOOK_SECRETS} = billing.house.config
  const payment = {
    PAYMENT_API_KEY: PAYMENT_API_KEY!,
    PAYMENT_API_URL: PAYMENT_API_URL!,
    PAYMENT_WEBHOOK_SECRETS: PAYMENT_WEBHOOK_SECRETS.join(),
  }
  const worker = startWorker(billing.house.config, {...payment, FAULT_POINT: point}, ['billing'])
  t.teardown(() => endWorker(worker))
  return worker
}

const once500 = async (t: any, org: Topping) => {
  await org.settle()
  t.like(await org.attempts(), [{state: 'succeeded', credits: 500}])
  t.is((await org.attempts()).length, 1)
  t.is(org.intents().length, 1)
  t.like(await org.balance(), {purchased: 500})
}

for (const point of ['before_topup', 'after_topup'] as const)
  test(`a top-up whose worker is killed at ${point} is charged and granted once`, async t => {
    const org = await openTopping(billing, {threshold: 30, monthlyCap: 500})
    const worker = work(t, `${point}:1:SIGKILL`)
    await once(worker, 'exit')
    t.is(worker.signalCode, 'SIGKILL')
    t.like(await org.attempts(), [{state: 'unknown'}])
    t.is(org.intents().length, point === 'after_topup' ? 1 : 0)
    await once500(t, org)
  })

test('a top-up that is settled while its worker is frozen before the charge is charged and granted once', async t => {
  const org = await openTopping(billing, {threshold: 30, monthlyCap: 500})
  // Without the job, only the periodic task reaches the top-up. With the job, the frozen worker would hold a lock for ten seconds.
  await billing.house.hot.query(`delete from pgboss.job where name = 'billing.topup'`)
  const worker = work(t, 'before_topup:1:SIGSTOP')
  await until(org.attempts, ([attempt]) => attempt?.state === 'unknown')
  t.is(org.intents().length, 0)
  await org.settle()
  const calls = () => billing.payment.journal().filter(({method, path}) => method === 'POST' && path === '/v1/payment_intents').length
  const before = calls()
  worker.kill('SIGCONT')
  await until(calls, count => count > before)
  await once500(t, org)
})
