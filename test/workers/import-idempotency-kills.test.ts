import test from 'ava'
import {ok, openOrg, prepareImport, untilEnded} from '../support/importing.ts'
import {assertAccounted, countBy} from '../support/oracle.ts'
import {startTestDeployment} from '../support/test-deployment.ts'
import {killAt, openWorkers} from '../support/worker-process.ts'

let here: Awaited<ReturnType<typeof startTestDeployment>>
let org: Awaited<ReturnType<typeof openOrg>>

const field = {name: 'Import_Key', type: 'text' as const, length: 40, unique: true}
const flow = {module: 'Leads', fields: [{field: 'Last_Name', mode: 'column', source: 'name'}]}

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['discovery'], environment: {LEASE_SECONDS: '1.5', CRM_TIMEOUT_SECONDS: '5'}})
  here.crm.addField('example', 'Leads', field)
  org = await openOrg(here)
  await ok(org.call('PATCH', `/orgs/${org.org}/config/modules/Leads`, {idempotencyField: field.name}), 200)
})

const start = openWorkers(() => here.config)

const begin = async (rows: number) => {
  const {path} = await prepareImport(org, {csv: `name\n${'Ruiz\n'.repeat(rows)}`, flow})
  const {run} = await ok(org.call('POST', `${path}/runs`, {}), 202)
  return async () => {
    const ended = await untilEnded(org.call, `${path}/runs/${run.id}`, 90)
    return {run: ended, ...(await assertAccounted(here, {org, path, run: ended, rows, module: 'Leads'}))}
  }
}

test.serial('a successor finds the records of creates that were lost with their worker, at once and all', async t => {
  const end = await begin(150)
  await killAt(start, 'after_send:1')
  start()
  const {outcomes, log, run} = await end()
  t.deepEqual(outcomes, {created: 150})
  t.is(here.crm.count('example', 'Leads'), 150)
  t.is(run.mayExistTwice, 0)
  t.true(countBy(log, ({code}) => String(code)).MADE_EARLIER! >= 50)
  t.is(here.crm.journal({path: '/crm/v8/coql'}).length, 0, 'no record is searched for')
})

test.serial('a started run stops before its first row once the field accepts duplicates, and a retry continues it', async t => {
  const before = here.crm.count('example', 'Leads')
  const {path} = await prepareImport(org, {csv: 'name\nLind\n', flow})
  const begun = async (body: object) => `${path}/runs/${(await ok(org.call('POST', `${path}/runs`, body), 202)).run.id}`
  const setUnique = async (unique: boolean) => {
    here.crm.addField('example', 'Leads', {...field, unique})
    await ok(org.call('POST', `/orgs/${org.org}/discovery/run`, {connectorId: org.connector}, {prefer: 'wait=30'}), 200)
  }
  const stopped = await begun({})
  await setUnique(false)
  start()
  const run = await untilEnded(org.call, stopped, 90)
  t.is(run.stop.stopped, 'FIELD_NOT_UNIQUE')
  t.regex(run.stop.message, /^Leads\.Import_Key cannot be the idempotency field: it does not refuse duplicate values.* Retry this run/)
  t.is(run.rowsWritten, 0)
  t.is(here.crm.count('example', 'Leads'), before)
  await setUnique(true)
  const retried = await untilEnded(org.call, await begun({retryOf: run.id}), 90)
  t.like(retried.counts.Leads, {created: 1})
})
