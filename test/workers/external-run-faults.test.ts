import anyTest, {type ExecutionContext, type TestFn} from 'ava'
import {noAnswer} from '../../shared/crm/error.ts'
import {registry} from '../../shared/telemetry/metrics/registry.ts'
import {startWorkers} from '../../workers/start.ts'
import {addDuplicateField} from '../../workers/writes/duplicate-fields.ts'
import {ok} from '../support/importing.ts'
import {readSamples, sumOf} from '../support/metrics.ts'
import {openPostgresProxy} from '../support/postgres-proxy.ts'
import {assertLedger, type ExternalEngine, openExternalEngine, row} from '../support/record-writes.ts'
import {until} from '../support/until.ts'

/** The tests run serially, because they share one CRM. */
const test = anyTest.serial as TestFn<ExternalEngine>

test.before(async t => {
  // Half a minute, so that a busy machine times out no call. The tests end calls by faults, not by this time-out.
  Object.assign(
    t.context,
    await openExternalEngine(t, {workers: ['discovery'], environment: {CRM_TIMEOUT_SECONDS: '30', LEASE_SECONDS: '1'}}),
  )
})
test.beforeEach(t => t.context.house.crm.clear())

/** Starts a worker behind a separate proxy, and returns the proxy. */
const work = async (t: ExecutionContext<ExternalEngine>) => {
  const {config} = t.context.house
  const proxy = await openPostgresProxy(config.DATABASE_URL!)
  const workers = await startWorkers(['writes'], {...config, DATABASE_URL: proxy.url})
  t.teardown(async () => {
    proxy.restore()
    await workers.stop()
    await proxy.close()
  })
  return proxy
}

const countSettled = async () => sumOf(readSamples(await registry.metrics()), 'lading_rows_settled_total')

const statements: [what: string, statement: string][] = [
  ['the intent', 'insert into sends'],
  ['the admission', 'insert into admissions'],
  ['the update of the run head', 'next_batch = next_batch + 1'],
  ['the settlement', 'with gone as'],
  ['the results', 'update write_items'],
]

for (const [what, statement] of statements) {
  for (const when of ['before', 'after', 'commit'] as const) {
    test(`a row is created once, reported so and counted once when the statement of ${what} is lost (${when})`, async t => {
      const here = t.context
      const run = await here.authorise(1)
      const proxy = await work(t)
      proxy.lose(statement, {when})
      const before = await countSettled()
      const {results} = await ok(here.create(run, [row(`${what} ${when}`)]), 200)
      t.is(proxy.lost(statement), 1)
      t.like(results[0], {ok: true, outcome: 'created'})
      t.is(here.held().length, 1)
      t.is(here.posts(), 1)
      const {entries, run: seen} = await assertLedger(here, run)
      t.is(entries.length, 1)
      t.is(seen.rowsWritten, 1)
      t.is((await countSettled()) - before, 1)
    })
  }
}

test('a request that is admitted again leaves another request of its run in flight', async t => {
  const here = t.context
  const {crm} = here.house
  const run = await here.authorise(2)
  const proxy = await work(t)
  crm.faults.add({match: {method: 'POST', path: '/crm/v8/Accounts'}, times: 1, action: {type: 'hold', when: 'after'}})
  const first = here.create(run, [row('in flight')])
  await until(crm.held, held => held === 1)
  proxy.lose('insert into admissions', {when: 'commit'})
  const second = here.create(run, [row('admitted twice')])
  t.like((await ok(second, 200)).results, [{ok: true, outcome: 'created'}])
  t.is(proxy.lost('insert into admissions'), 1)
  crm.release()
  t.like((await ok(first, 200)).results, [{ok: true, outcome: 'created'}])
  const {entries, run: seen} = await assertLedger(here, run)
  t.deepEqual([entries.length, seen.rowsWritten, here.held().length], [2, 2, 2])
})

test('if reading the named duplicates is too slow, the read is aborted and the refusals do not change', async t => {
  const {house, org} = t.context
  const connection = await house.tools.crm.open(org.connector)
  house.crm.faults.add({match: {method: 'GET', path: '/crm/v8/Accounts'}, times: 1, action: 'hold'})
  t.teardown(house.crm.release)
  const [{details}] = house.crm.create('example', 'Accounts', [{Account_Name: 'A', Account_Number: 'A'}]) as [any]
  const crm = {...noAnswer, code: 'DUPLICATE_DATA', status: 207, details: {id: details.id}, unanswered: false}
  const refused = [{ok: false as const, sent: true as const, crm, duplicateOf: String(details.id)}]
  const read = {module: 'Accounts', field: 'Account_Number', records: [{Account_Number: 'A'}], seconds: 0.5}
  const since = performance.now()
  t.deepEqual(await addDuplicateField(house.tools, connection, read, refused), refused)
  t.true(performance.now() - since < 15_000)
})
