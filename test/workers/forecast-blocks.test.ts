import test from 'ava'
import {sql} from '../../sql/database.ts'
import {accountRows, accounts, type Org, ok, openOrg, prepareImport, untilEnded} from '../support/importing.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

let here: TestDeployment
let org: Org

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['discovery', 'imports', 'checks']})
  here.crm.setSwitches({bulkSeconds: 0, bulkRowMs: 0})
  org = await openOrg(here)
})

const forecastOf = async (path: string) => {
  const {job} = await ok(org.call('POST', `${path}/forecast`, undefined, {prefer: 'wait=60'}), 200)
  return job.result
}

test.serial('a flow with more fields than one query reads matches by queries, and its forecast says so', async t => {
  here.crm.setSwitches({coqlColumns: 10})
  await here.db.query(sql.unsafe`update connectors set capabilities = '{"coqlColumns": 10}' where id = ${org.connector}`)
  const names = ['Name', ...Array.from({length: 8}, (_, n) => `Answer_${n + 1}`)]
  const flow = {
    module: 'Surveys',
    match: {by: ['Name'], onOne: 'update', onMany: 'skip', unchanged: 'skip'},
    fields: names.map(field => ({field, mode: 'column', source: field})),
  }
  const {path} = await prepareImport(org, {csv: `${names.join()}\n${names.map(name => `of ${name}`).join()}\n`, flow})
  const why = 'The flow matches and compares more than 8 fields'
  const [, exported] = (await forecastOf(path)).routes
  t.like(exported, {match: 'snapshot', blockedBy: why})
  const {run} = await ok(org.call('POST', `${path}/runs`, {match: 'snapshot'}), 202)
  t.like(await untilEnded(org.call, `${path}/runs/${run.id}`), {
    stop: null,
    routes: [{match: 'query', why}],
    counts: {Surveys: {created: 1}},
  })
  t.deepEqual(here.crm.journal({method: 'POST', path: '/crm/bulk/v8/read'}), [])
})

test.serial('the forecast offers no bulk jobs in a data centre without a host for uploads', async t => {
  const flow = {...accounts, match: undefined, automations: true}
  const {path} = await prepareImport(org, {csv: accountRows(400, 'Fb-'), flow})
  const bulkRoute = async () => (await forecastOf(path)).routes[2]
  t.like(await bulkRoute(), {write: 'bulk', blockedBy: null})
  await here.db.query(sql.unsafe`update connectors set dc = 'uk' where id = ${org.connector}`)
  t.like(await bulkRoute(), {write: 'bulk', blockedBy: 'This destination writes no files'})
})
