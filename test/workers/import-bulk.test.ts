import test from 'ava'
import {sql} from '../../sql/database.ts'
import {accountRows, accounts, type Org, ok, openOrg, prepareImport, readLog, untilEnded} from '../support/importing.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'
import {openLongLivedWorker} from '../support/worker-process.ts'

let here: TestDeployment
let org: Org

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['discovery'], environment: {CRM_LAG_SECONDS: '1'}})
  here.crm.setSwitches({bulkSeconds: 0, bulkRowMs: 0})
  org = await openOrg(here)
})
test.beforeEach(async () => {
  await usual.start()
  here.crm.clearJournal()
})
test.afterEach.always(() => {
  here.crm.release()
  here.crm.faults.clear()
  here.crm.setSwitches({bulkNamesSkipped: false, bulkAutomations: false})
})

const usual = openLongLivedWorker(() => here.config)
const flow = {...accounts, automations: true}
const bulk = {write: 'bulk'}
const jobs = {method: 'POST', path: '/crm/bulk/v8/write'}
const list = (prefix: string) =>
  here.crm.records('example', 'Accounts').filter(({Account_Number: number}) => String(number).startsWith(prefix))
const valuesOf = (prefix: string) =>
  list(prefix)
    .map(({Account_Name, Account_Number, Billing_City}) => [Account_Name, String(Account_Number).slice(prefix.length), Billing_City])
    .sort()
const create = (numbers: string[], values: object = {Billing_City: 'Old'}) =>
  here.crm.create(
    'example',
    'Accounts',
    numbers.map(number => ({Account_Name: `Company of ${number}`, Account_Number: number, ...values})),
    {as: 'ben@example.org'},
  )
const begin = async (csv: string, start: object = bulk, into: object = flow) => {
  const {path} = await prepareImport(org, {csv, flow: into})
  const {run} = await ok(org.call('POST', `${path}/runs`, start), 202)
  return {path: `${path}/runs/${run.id}`, end: () => untilEnded(org.call, `${path}/runs/${run.id}`)}
}
const finish = async (csv: string, start?: object, into?: object) => {
  const {path, end} = await begin(csv, start, into)
  const run = await end()
  const log = await readLog(org.call, path)
  return {path, run, log, ends: log.map(({rowNumber, attempt, outcome, code}) => [rowNumber, attempt, outcome, code]).sort()}
}
const columnsSent = () => here.crm.journal({method: 'PUT', path: '/crm/v8/Accounts'}).length
const created = () => here.crm.journal({method: 'POST', path: '/crm/v8/Accounts'}).length

/** Rows that are created, updated, refused (a row without a name), and written twice. */
const mixed = (prefix: string) =>
  `${accountRows(40, prefix)}${'Again,'}${prefix}7,Again\n${'x'.repeat(300)},${prefix}90,Town\nFoe,${prefix}3,Last\n`

test.serial('a run that writes in bulk leaves the same records and the same outcomes as one by record calls', async t => {
  const lists = [`Ba-`, `Bb-`]
  for (const prefix of lists) create(Array.from({length: 20}, (_, n) => `${prefix}${n + 1}`))
  const byRecords = await finish(mixed('Ba-'), {})
  const inBulk = await finish(mixed('Bb-'))
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
