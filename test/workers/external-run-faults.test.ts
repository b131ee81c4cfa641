import anyTest, {type ExecutionContext, type TestFn} from 'ava'
import {registry} from '../../shared/telemetry/metrics/registry.ts'
import {startWorkers} from '../../workers/start.ts'
import {ok} from '../support/importing.ts'
import {readSamples, sumOf} from '../support/metrics.ts'
import {openPostgresProxy} from '../support/postgres-proxy.ts'
import {assertLedger, type ExternalEngine, openExternalEngine, row} from '../support/record-writes.ts'

/** The tests run serially, because they share one CRM. */
const test = anyTest.serial as TestFn<ExternalEngine>

test.before(async t => {
  Object.assign(
    t.context,
    await openExternalEngine(t, {workers: ['discovery'], environment: {CRM_TIMEOUT_SECONDS: '5', LEASE_SECONDS: '1'}}),
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
