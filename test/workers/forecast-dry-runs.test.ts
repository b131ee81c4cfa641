import test from 'ava'
import {accountRows, accounts, type Org, ok, openOrg, prepareImport, untilEnded} from '../support/importing.ts'
import {column} from '../support/lookups.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

let here: TestDeployment
let org: Org

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['discovery', 'imports', 'checks']})
  org = await openOrg(here)
})

const run = async (path: string, body: object) => {
  const {run: begun} = await ok(org.call('POST', `${path}/runs`, body), 202)
  return untilEnded(org.call, `${path}/runs/${begun.id}`)
}
const forecastOf = async (path: string) => (await ok(org.call('POST', `${path}/forecast`, undefined, {prefer: 'wait=60'}), 200)).job.result

test.serial('a forecast of the whole import uses no dry run of some of its rows, and none of a retry', async t => {
  const {path} = await prepareImport(org, {csv: accountRows(40, 'Fs-'), flow: accounts})
  t.is((await run(path, {dryRun: true, rows: {from: 1, to: 5}})).counts.Accounts.planned, 5)
  t.is((await forecastOf(path)).basis, 'file')
  await run(path, {dryRun: true})
  t.is((await forecastOf(path)).basis, 'dry_run')
  here.crm.faults.add({match: {method: 'POST', path: '/crm/v8/Accounts'}, times: 1, action: {type: 'refuse', index: 1}})
  const {id} = await run(path, {})
  t.is((await run(path, {dryRun: true, retryOf: id})).counts.Accounts.planned, 1)
  t.is((await forecastOf(path)).basis, 'file')
})

test.serial('a create whose value is rounded is forecast as a create after a dry run', async t => {
  const lines = Array.from({length: 20}, (_, n) => `Company ${n},Ft-${n},Town,${n}.345`)
  const flow = {...accounts, fields: [...accounts.fields, column('Annual_Revenue', 'revenue')]}
  const {path} = await prepareImport(org, {csv: `name,number,city,revenue\n${lines.join('\n')}\n`, flow})
  t.is((await run(path, {dryRun: true})).counts.Accounts.planned, 20)
  const {basis, credits} = await forecastOf(path)
  t.is(basis, 'dry_run')
  t.deepEqual(credits.byKind.create, {min: 2, max: 2})
})
