import test from 'ava'
import {sql} from '../../sql/database.ts'
import {jobs, openBulkImports} from '../support/bulk-imports.ts'
import {accountRows, openOrg} from '../support/importing.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'
import {openLongLivedWorker} from '../support/worker-process.ts'

let here: TestDeployment
let imports: ReturnType<typeof openBulkImports>

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['discovery'], environment: {CRM_LAG_SECONDS: '1'}})
  here.crm.setSwitches({bulkSeconds: 0, bulkRowMs: 0})
  imports = openBulkImports(here, await openOrg(here))
})
test.beforeEach(async () => {
  await usual.start()
  here.crm.clearJournal()
})
test.afterEach.always(() => {
  here.crm.release()
  here.crm.faults.clear()
})

const usual = openLongLivedWorker(() => here.config)
const valuesOf = (prefix: string) =>
  imports
    .list(prefix)
    .map(({Account_Name, Account_Number, Billing_City}) => [Account_Name, String(Account_Number).slice(prefix.length), Billing_City])
    .sort()

/** Returns a file with rows that are created, updated, refused (a name of 300 characters), and written twice. */
const mixed = (prefix: string) =>
  `${accountRows(40, prefix)}${'Again,'}${prefix}7,Again\n${'x'.repeat(300)},${prefix}90,Town\nFoe,${prefix}3,Last\n`

test.serial('a run that writes in bulk leaves the same records and the same outcomes as one by record calls', async t => {
  const lists = [`Ba-`, `Bb-`]
  for (const prefix of lists) imports.create(prefix, 20)
  const byRecords = await imports.finish(mixed('Ba-'), {})
  const inBulk = await imports.finish(mixed('Bb-'))
  t.like(byRecords.run.routes, [{flowId: 'f', write: 'records', writeWhy: 'The run was started with record calls'}])
  t.like(inBulk.run.routes, [{flowId: 'f', write: 'bulk', writeWhy: 'The run was started with bulk jobs'}])
  t.deepEqual(inBulk.ends, byRecords.ends)
  t.deepEqual(valuesOf('Bb-'), valuesOf('Ba-'))
  t.deepEqual(inBulk.run.counts, byRecords.run.counts)
  t.is(inBulk.run.rowsWritten, byRecords.run.rowsWritten)
  t.is(here.crm.journal(jobs).length, 2, 'one of creates and one of updates')
  t.true(inBulk.run.cost.byKind.bulk_write > 1_000)
  const left = await here.db.anyFirst(sql.unsafe`select state from bulk_jobs`)
  t.deepEqual([...new Set(left)], ['done'])
  t.deepEqual(await here.db.anyFirst(sql.unsafe`select key from bulk_jobs where key is not null`), [])
})
