import anyTest, {type TestFn} from 'ava'
import {assertLedger, type ExternalEngine, nameless, openExternalEngine, row} from '../support/record-writes.ts'

const test = anyTest.serial as TestFn<ExternalEngine>

test.before(async t => {
  Object.assign(t.context, await openExternalEngine(t, {environment: {CRM_TIMEOUT_SECONDS: '5', LEASE_SECONDS: '1'}}))
})
test.beforeEach(t => t.context.house.crm.clear())

const limit = 150
const callers = 8

for (const share of [0, 0.3]) {
  test(`eight concurrent callers write exactly the run's limit, with ${share * 100} % of the rows refused`, async t => {
    const here = t.context
    const run = await here.authorise(limit)
    const makeRow = (key: string) => (Math.random() < share ? nameless(key) : row(key))
    const told: string[] = []
    const call = async (caller: number) => {
      for (let batch = 0; batch < 30; batch++) {
        const items = Array.from({length: 1 + Math.floor(Math.random() * 12)}, (_, n) => makeRow(`${share}-${caller}-${batch}-${n}`))
        const {status, body} = await here.create(run, items)
        if (status === 403) return told.push(body.code)
        t.is(status, 200, JSON.stringify(body))
        if (body.results.some(({code}: any) => code === 'RUN_STOPPED')) return told.push('RUN_STOPPED')
      }
      return told.push('not stopped')
    }
    await Promise.all(Array.from({length: callers}, (_, caller) => call(caller)))
    t.deepEqual(told, Array(callers).fill('RUN_STOPPED'))
    const {outcomes, run: seen} = await assertLedger(here, run)
    t.is(outcomes.created, limit)
    t.is(here.held().length, limit)
    t.like(seen, {rowsWritten: limit, stop: {stopped: 'LIMIT_ROWS_PER_RUN', rowsWrittenTotal: limit}})
    if (share > 0) t.true(outcomes.refused! > 0)
  })
}

test('the same rows sent by eight concurrent callers are each created once', async t => {
  const here = t.context
  const run = await here.authorise(20)
  const items = Array.from({length: 20}, (_, n) => row(`same-${n}`, null))
  const answers = await Promise.all(Array.from({length: callers}, () => here.create(run, items)))
  for (const {status, body} of answers) {
    t.is(status, 200)
    t.true(body.results.every((one: any) => one.ok || one.code === 'WRITE_UNDER_WAY'))
  }
  t.is(here.held().length, 20)
  t.like(await assertLedger(here, run), {outcomes: {created: 20}, run: {rowsWritten: 20, stop: null}})
})

test('a report of 1,000 entries with the longest messages in any script is accepted', async t => {
  const here = t.context
  const run = await here.authorise(1_000)
  const message = '字'.repeat(1_000)
  const entries = Array.from({length: 1_000}, (_, n) => ({
    rowKey: `long-${n}`,
    module: 'Accounts',
    outcome: 'failed',
    code: 'NO_NAME',
    message,
  }))
  t.like(await here.tell(run, 'entries', {entries}), {status: 200, body: {logged: 1_000}})
})
