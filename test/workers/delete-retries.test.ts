import test from 'ava'
import {deletion, type Org, ok, openOrg, prepareImport, readLog, untilEnded, untilRun} from '../support/importing.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

let here: TestDeployment
let org: Org

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['discovery', 'imports'], environment: {CRM_TIMEOUT_SECONDS: '5', CRM_LAG_SECONDS: '1'}})
  org = await openOrg(here)
})

const start = async (path: string, body: object) => {
  const {run} = await ok(org.call('POST', `${path}/runs`, body), 202)
  return {run: await untilEnded(org.call, `${path}/runs/${run.id}`), log: await readLog(org.call, `${path}/runs/${run.id}`)}
}
const endsOf = (log: any[]) =>
  log.filter(({outcome}) => outcome !== 'unanswered').map(({rowNumber, outcome, code}) => [rowNumber, outcome, code])

test.serial('a dry run plans the row of an unanswered delete that took effect, and the retry reports it as deleted', async t => {
  here.crm.create('example', 'Accounts', [{Account_Name: 'Firm K-1', Account_Number: 'K-1'}])
  const {path, source} = await prepareImport(org, {csv: 'number,note\nK-1,x\n', flow: deletion})
  await start(path, {dryRun: true})
  here.crm.faults.add({match: {method: 'DELETE', path: '/crm/v8/Accounts'}, times: 100, action: 'dropBefore'})
  const {run: first} = await ok(org.call('POST', `${path}/runs`, {confirmDeletes: 1}), 202)
  await untilRun(org.call, `${path}/runs/${first.id}`, ({counts}) => counts.Accounts.unanswered === 1)
  await ok(org.call('POST', `${path}/runs/${first.id}/cancel`), 200)
  t.like(await untilEnded(org.call, `${path}/runs/${first.id}`), {counts: {Accounts: {unanswered: 1}}})
  here.crm.faults.clear()
  // The CRM executes the delete late.
  const [record] = here.crm.records('example', 'Accounts').filter(({Account_Number}) => Account_Number === 'K-1')
  here.crm.remove('example', 'Accounts', [record!.id])
  const dry = await start(path, {retryOf: first.id, dryRun: true})
  t.like(dry.run, {deleted: 1, counts: {Accounts: {planned: 1, updated: 0}}})
  const {run, log} = await start(path, {retryOf: first.id, confirmDeletes: 1})
  t.like(run, {deleted: 1, counts: {Accounts: {updated: 1}}})
  t.deepEqual(endsOf(log), [[1, 'updated', 'DELETED']])
  const named = {field: 'Account_Name', mode: 'column', source: 'note'}
  const {action: _, ...writes} = deletion
  await ok(org.call('PUT', `${path}/flows`, [{...writes, id: 'f', sourceId: source.id, fields: [...deletion.fields, named]}]), 200)
  const {log: later} = await start(path, {retryOf: run.id})
  t.deepEqual(endsOf(later), [[1, 'skipped', 'DELETED_BEFORE']], 'a retry that writes says that the record was deleted')
})
