import {mkdtemp, readFile} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {fileURLToPath} from 'node:url'
import test from 'ava'
import {openClient} from '../stack/client.ts'
import {countAccounts} from '../stack/crm-count.ts'
import {keysOf, readResults, tallyOfLog, tallyOfRun} from '../stack/evidence.ts'
import {connect, discover, prepareImport, readLog, runImport, signIn} from '../stack/journey.ts'
import {startStack} from '../stack/stack.ts'
import {createDatabase} from '../support/database.ts'

const email = 'ana@example.org'

test("the demo's import completes after its worker was killed with SIGKILL", async t => {
  const database = await createDatabase('killed')
  const directory = await mkdtemp(join(tmpdir(), 'lading-killed-'))
  const stack = await startStack({directory, keep: false, env: {DATABASE_URL: database.url, LEASE_SECONDS: '2'}})
  t.teardown(async () => {
    await stack.stop()
    await database.drop()
  })
  const session = openClient(stack.apiUrl, await signIn(stack.apiUrl, email))
  const {org} = await session.call<{org: {id: string}}>('GET', '/auth/me')
  const connectorId = await connect(session, stack.apiUrl, org.id, email)
  await discover(session, org.id, connectorId)
  const csv = await readFile(fileURLToPath(new URL('../data/airports.csv', import.meta.resolve('vega-datasets'))), 'utf8')
  const prepared = await prepareImport(session, {org: org.id, connectorId, csv})

  // Two answers are slow, so their batches are in flight when the worker dies.
  const slow = {match: {method: 'POST', path: '/crm/v8/Accounts', nth: 9}, times: 2, action: {type: 'slow', ms: 3_000, when: 'after'}}
  await fetch(`${stack.crmUrl}/__sim/faults`, {method: 'POST', body: JSON.stringify(slow)})
  const imports = stack.processes.get('imports')!
  let victim: number | undefined
  const run = await runImport(session, prepared, ({done}) => {
    if (done < 800 || victim) return
    victim = imports.pid!
    process.kill(victim, 'SIGKILL')
  })

  t.truthy(victim)
  t.is(imports.starts, 2, 'the worker was replaced')
  const whole = {read: 3376, created: 3376, updated: 0, skipped: 0, failed: 0, unanswered: 0}
  t.deepEqual(tallyOfRun(run.counts, prepared.rows), whole)
  const log = await readLog(session, prepared.path, run.id)
  t.deepEqual(tallyOfLog(log), whole)
  t.true(
    log.some(({outcome}) => outcome === 'unanswered'),
    'what was in flight is told',
  )
  const results = readResults(await (await session.send('GET', `${prepared.path}/results.csv?run=${run.id}`)).text())
  t.deepEqual(
    results.map(({key}) => key),
    keysOf(csv),
  )
  t.true(results.every(({result}) => result === 'Written'))
  t.is(new Set(results.map(({record}) => record)).size, 3376)
  t.is(await countAccounts(stack.crmUrl, email), 3376)
})
