import anyTest, {type ExecutionContext, type TestFn} from 'ava'
import {listen} from '../../api/listen.ts'
import {withCredits} from '../../shared/assistant/credits.ts'
import {ModelFailure} from '../../shared/assistant/model-failure.ts'
import {readAiUsage} from '../../shared/assistant/usage.ts'
import {processEnd} from '../../shared/process-end.ts'
import {deleteOldAiUsage} from '../../sql/ai-usage.ts'
import {openDatabase} from '../../sql/database.ts'
import {modelEnvironment} from '../simulators/model.ts'
import {type Assisted, type Home, openAssisted, openHome, usageOf} from '../support/ai.ts'
import {sumUp} from '../support/ai-credits.ts'
import {startApiProcess} from '../support/api-process.ts'
import {openCalls} from '../support/client.ts'
import {ok} from '../support/importing.ts'
import {openPostgresProxy} from '../support/postgres-proxy.ts'
import {until} from '../support/until.ts'

/** The tests run serially, because they share one model and one clock. */
const test = anyTest.serial as TestFn<Assisted>
test.before(async t => void Object.assign(t.context, await openAssisted(t)))
test.beforeEach(t => t.context.model.clear())

const mapping = {modules: ['People'], columns: ['Qzx'], rows: [['teal']]}
const formula = {module: 'People', field: 'City', question: 'How?', columns: ['Town'], rows: [['York']]}
const said = {json: {expression: 'row.Town', explanation: ''}}
const forever = Number.POSITIVE_INFINITY

const even = async (t: ExecutionContext<Assisted>, {org}: Pick<Home, 'org'>) => {
  const {account, entries, grants, holds, open} = await sumUp(t.context.house.db, org)
  t.deepEqual(entries, account)
  t.deepEqual(grants, account)
  t.is(holds, open)
  return open
}

test('two hundred concurrent requests reach the model only as far as credits are reserved, and the books balance', async t => {
  const {house, model} = t.context
  const home = await openHome(house, {credits: 10})
  model.faults.add({action: {type: 'hold'}, times: forever})
  const asking = Array.from({length: 200}, (_, at) =>
    at % 2 ? home.call('POST', '/ai/auto-map', mapping) : home.call('POST', '/ai/formula', formula),
  )
  const answers = Promise.all(asking)
  const isTold = new Set<number>()
  for (const [at, one] of asking.entries()) void one.then(() => isTold.add(at))
  // Requests without credits are answered at once; the others wait for the model.
  await until(
    () => isTold.size + model.faults.held(),
    settled => settled === 200,
    75,
  )
  const held = model.faults.held()
  t.true(held >= 1 && held <= 10, `${held} were asked`)
  const open = await even(t, home)
  t.true(open <= 10 && open >= held)
  t.true((await usageOf(home, 'formula')).balance.available < 4, 'no more than another formula could be paid')
  model.always(({schema}) =>
    JSON.stringify(schema).includes('explanation') ? said : {json: {field: 'People.City', confidence: 0.9, why: ''}},
  )
  model.faults.clear()
  model.faults.release()
  const told = (await answers).map(({status, body}) => body.model ?? body.code ?? status)
  t.is(told.filter(one => one === 'used' || one === 200).length, held)
  t.is(told.filter(one => one === 'no_credits' || one === 'CREDITS_EXHAUSTED').length, 200 - held)
  t.is(await even(t, home), 0)
  const [mapped, written] = [await usageOf(home, 'auto_map'), await usageOf(home, 'formula')]
  t.is(mapped.requests + written.requests, held)
  t.is(mapped.credits + written.credits, 10 - written.balance.available)
})

test('a client that disconnects frees its reserved credits and stops the model request', async t => {
  const {house, model} = t.context
  const home = await openHome(house, {credits: 50})
  model.faults.add({action: {type: 'hold'}, times: forever})
  const gone = new AbortController()
  const asking = Array.from({length: 20}, (_, at) =>
    fetch(`${house.url}/ai/${at % 2 ? 'auto-map' : 'formula'}`, {
      method: 'POST',
      body: JSON.stringify(at % 2 ? mapping : formula),
      signal: gone.signal,
      headers: {authorization: `Bearer ${home.token}`, 'content-type': 'application/json'},
    }).catch(() => 'gone'),
  )
  await until(
    () => model.faults.held(),
    held => held >= 10,
  )
  gone.abort()
  t.true((await Promise.all(asking)).every(one => one === 'gone'))
  await until(
    () => model.journal.filter(entry => !entry.gone).length,
    left => left === 0,
  )
  await until(
    () => usageOf(home, 'formula'),
    ({balance}) => balance.reserved === 0,
  )
  t.is(await even(t, home), 0)
  t.is((await usageOf(home, 'formula')).balance.available, 50)
})

test('a process that ends during an answer charges nothing for it', async t => {
  const {house, model} = t.context
  const home = await openHome(house, {credits: 20})
  model.faults.add({action: {type: 'hold'}, times: forever})
  const other = await listen({...house.tools, config: {...house.config, DRAIN_SECONDS: 0}})
  const asking = openCalls(other.url)(home.token)('POST', '/ai/formula', formula).catch(() => 'closed')
  await until(model.faults.held, held => held > 0)
  await other.drain()
  t.is(await asking, 'closed')
  const {balance, ...usage} = await until(
    () => usageOf(home, 'formula'),
    ({balance}) => balance.reserved === 0,
  )
  t.like(usage, {requests: 1, failed: 1, credits: 0})
  t.is(balance.available, 20)
})

test('credits reserved by a process that dies are released by themselves', async t => {
  const {house, model} = t.context
  const home = await openHome(house, {credits: 20})
  const {DATABASE_URL, CRM_STANDIN_URL, STORAGE_DIR} = house.config
  const own = {NODE_ENV: 'test', DATABASE_URL: DATABASE_URL!, CRM_STANDIN_URL: CRM_STANDIN_URL!, STORAGE_DIR}
  const api = await startApiProcess({...own, ...modelEnvironment(model)})
  t.teardown(() => api.signal('SIGKILL'))
  model.faults.add({action: {type: 'hold'}})
  const asking = openCalls(api.url)(home.token)('POST', '/ai/formula', formula).catch(() => 'gone')
  await until(() => model.faults.held(), Boolean)
  api.signal('SIGKILL')
  await api.exit
  t.is(await asking, 'gone')
  const before = await usageOf(home, 'formula')
  t.true(before.balance.reserved > 0)
  await house.ahead('7 minutes')
  const {balance} = await usageOf(home, 'formula')
  t.deepEqual([balance.available, balance.reserved], [20, 0])
  t.is(await even(t, home), 0)
  await house.ahead('0 seconds')
})

test('a stopped answer costs the tokens so far, a failed one costs nothing, and a kept one is stored with its price', async t => {
  const {house} = t.context
  const home = await openHome(house, {credits: 20})
  const {org} = home
  const held = {org, feature: 'chat', hold: {inputTokens: 4000, outputTokens: 4000}} as const
  const gone = new AbortController()
  const breaking = withCredits(house.tools, {...held, signal: gone.signal}, async spent => {
    spent({inputTokens: 4000, outputTokens: 1500})
    gone.abort(new Error('gone'))
    throw gone.signal.reason
  })
  await t.throwsAsync(breaking, {message: 'gone'})
  t.like(await usageOf(home, 'chat'), {requests: 1, failed: 1, credits: 3, inputTokens: 4000, outputTokens: 1500})
  const ending = new AbortController()
  const interrupted = withCredits(house.tools, {...held, signal: ending.signal}, async spent => {
    spent({inputTokens: 0, outputTokens: 1500})
    ending.abort(processEnd)
    throw ending.signal.reason
  })
  await t.throwsAsync(interrupted, {message: processEnd.message})
  t.like(await usageOf(home, 'chat'), {requests: 2, failed: 2, credits: 3, outputTokens: 3000})
  const {signal} = new AbortController()
  const failing = withCredits(house.tools, {...held, signal}, async () => {
    throw new ModelFailure('No', {kind: 'unavailable', usage: {inputTokens: 10, outputTokens: 0}})
  })
  await t.throwsAsync(failing, {instanceOf: ModelFailure})
  t.like(await usageOf(home, 'chat'), {requests: 3, failed: 3, credits: 3, inputTokens: 4010})
  const usage = {inputTokens: 100_000, outputTokens: 100_000}
  const keeping = withCredits(house.tools, {...held, signal}, async () => ({
    value: 1,
    usage,
    keep: () => Promise.reject(new Error('not kept')),
  }))
  await t.throwsAsync(keeping, {message: 'not kept'})
  t.like(await usageOf(home, 'chat'), {requests: 4, failed: 4, credits: 3, balance: {reserved: 0}})
  const {credits, balance} = await withCredits(house.tools, {...held, signal}, async () => ({value: 1, usage}))
  t.is(credits, 5, 'no more than was set aside')
  t.deepEqual([balance.included, balance.reserved], [12, 0])
})

test('a late settlement is charged once, from the credits left, to the period of its request', async t => {
  const {house} = t.context
  const home = await openHome(house, {credits: 6})
  const held = {
    org: home.org,
    feature: 'chat',
    hold: {inputTokens: 4000, outputTokens: 3000},
    signal: new AbortController().signal,
  } as const
  const usage = {inputTokens: 4000, outputTokens: 2000}
  const late = withCredits(house.tools, held, async () => {
    await house.ahead('10 minutes')
    t.is((await usageOf(home, 'chat')).balance.reserved, 0, 'what was set aside has come back meanwhile')
    const other = await withCredits(house.tools, held, async () => ({value: 1, usage}))
    t.is(other.credits, 3)
    return {value: 1, usage}
  })
  t.is((await late).credits, 3, 'the other left three')
  t.like(await usageOf(home, 'chat'), {requests: 2, credits: 6, balance: {available: 0, reserved: 0, spent: 6}})
  t.is(await even(t, home), 0)
  const next = await openHome(house, {credits: 6})
  const before = await ok(next.call('GET', '/ai/usage'), 200)
  const over = await withCredits({...house.tools, config: {MODEL_TIMEOUT_SECONDS: 40 * 86_400}}, {...held, org: next.org}, async () => {
    await house.ahead('32 days')
    return {value: 1, usage}
  })
  t.is(over.credits, 3)
  // The reservation has expired by now.
  const after = await readAiUsage(house.db, next.org)
  t.true(after.periodStart > before.periodStart)
  t.like(after.credits, {available: 6, reserved: 0, spent: 0}, 'the new period is untouched')
  t.is(await even(t, next), 0)
  await house.ahead('0 seconds')
})

test('an org without metered use gets the local mapping with a reason; nothing is sent or reserved', async t => {
  const {house, model} = t.context
  const home = await openHome(house, {credits: 20})
  for (const [status, days] of [
    ['past_due', 8],
    ['suspended', null],
  ]) {
    const since = 'lading_now() - make_interval(days => $3)'
    await house.hot.query(`update orgs set plan_status = $2, past_due_since = ${since} where id = $1`, [home.org, status, days])
    const mapped = await ok(home.call('POST', '/ai/auto-map', mapping), 200)
    t.deepEqual([mapped.model, mapped.samples, mapped.credits], ['not_allowed', 'none', 0])
  }
  const written = await home.call('POST', '/ai/formula', formula)
  t.deepEqual([written.status, written.body.code], [402, 'STATUS_SUSPENDED'])
  t.is(model.journal.length, 0)
  t.like(await usageOf(home, 'formula'), {requests: 0, balance: {available: 20, reserved: 0}})
})

test('usage is reported by feature and by day, and deleted after retention', async t => {
  const {house, model} = t.context
  const home = await openHome(house)
  model.script(said)
  await ok(home.call('POST', '/ai/formula', formula), 200)
  const staff = house.as(house.adminToken)
  const {usage} = await ok(staff('GET', `/ai/admin/usage?org=${home.org}`), 200)
  t.is(usage.length, 1)
  t.like(usage[0], {feature: 'formula', requests: 1, failed: 0})
  const all = await ok(staff('GET', '/ai/admin/usage'), 200)
  t.true(all.usage.find((one: {feature: string}) => one.feature === 'formula').requests >= 1)
  t.deepEqual((await ok(staff('GET', '/ai/admin/usage?org=org_none'), 200)).usage, [])
  await house.ahead('400 days')
  t.is(await deleteOldAiUsage(house.db, {days: 400}), 0)
  await house.ahead('402 days')
  t.true((await deleteOldAiUsage(house.db, {days: 400})) >= 1)
  await house.ahead('0 seconds')
})

test('a request whose settlement got no answer is counted and charged once', async t => {
  const {house} = t.context
  const home = await openHome(house, {credits: 20})
  const proxy = await openPostgresProxy(house.config.DATABASE_URL!)
  const db = await openDatabase(proxy.url, {connections: 2})
  t.teardown(async () => {
    await db.end()
    await proxy.close()
  })
  proxy.lose('insert into ai_usage', {when: 'commit'})
  const hold = {inputTokens: 4000, outputTokens: 4000}
  const held = {org: home.org, feature: 'chat', hold, signal: new AbortController().signal} as const
  const usage = {inputTokens: 4000, outputTokens: 2000}
  await t.throwsAsync(withCredits({...house.tools, db}, held, async () => ({value: 1, usage})))
  t.is(proxy.lost('insert into ai_usage'), 1)
  t.like(await usageOf(home, 'chat'), {requests: 1, failed: 0, credits: 3, inputTokens: 4000, balance: {available: 17, reserved: 0}})
})
