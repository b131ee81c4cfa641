import test from 'ava'
import {type Org, ok, openOrg, prepareImport, untilEnded} from '../support/importing.ts'
import {column, prepareFiles} from '../support/lookups.ts'
import {lineSheet, lines, orderOf, orderSheet, orders} from '../support/subforms.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'
import {openLongLivedWorker} from '../support/worker-process.ts'

let here: TestDeployment
let org: Org

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['discovery'], environment: {CRM_TIMEOUT_SECONDS: '5', CRM_LAG_SECONDS: '1'}})
  here.crm.addField('example', 'Accounts', extra)
  org = await openOrg(here)
})

const extra = {name: 'Extra_Note', type: 'text' as const, length: 40}
const flow = {module: 'Accounts', fields: [column('Account_Name', 'name'), column(extra.name, 'note')]}
const worker = openLongLivedWorker(() => here.config)
const discover = () => ok(org.call('POST', `/orgs/${org.org}/discovery/run`, {connectorId: org.connector}, {prefer: 'wait=30'}), 200)

/** Starts a run while no worker is running. Then changes the CRM by `change`, runs a discovery, and starts a worker that executes the run. */
const startThenChange = async (path: string, change: () => unknown, start: object = {}) => {
  await worker.stop()
  const {run} = await ok(org.call('POST', `${path}/runs`, start), 202)
  change()
  await discover()
  await worker.start()
  return untilEnded(org.call, `${path}/runs/${run.id}`)
}

test.serial('a run stops before it writes if a mapped field was made read only or removed, and a retry continues it', async t => {
  const csv = 'name,note\nRuiz,One\nLind,Two\n'
  const {path, source} = await prepareImport(org, {csv, flow})
  const change = (more: object) => () => here.crm.addField('example', 'Accounts', {...extra, ...more})
  const first = await startThenChange(path, change({readOnly: true}))
  t.like(first, {rowsWritten: 0, stop: {stopped: 'FIELD_NOT_WRITABLE'}})
  t.regex(first.stop.message, /^Flow f no longer fits the CRM: Accounts\.Extra_Note is read only\..* Retry this run/)
  change({})()
  await discover()
  const second = await startThenChange(path, () => here.crm.dropField('example', 'Accounts', extra.name), {retryOf: first.id})
  t.like(second, {rowsWritten: 0, stop: {stopped: 'FIELD_NOT_WRITABLE'}})
  t.regex(second.stop.message, /Accounts has no field Extra_Note/)
  const fields = flow.fields.slice(0, 1)
  await ok(org.call('PUT', `${path}/flows`, [{id: 'f', sourceId: source.id, ...flow, fields}]), 200)
  const third = await startThenChange(path, change({}), {retryOf: second.id})
  t.like(third, {stop: null, counts: {Accounts: {created: 2}}}, 'a change of a field that is not mapped stops nothing')
})

test.serial('a run stops before it writes if its subform field was removed', async t => {
  const {path} = await prepareFiles(org, {orders: orderSheet(['Cs-1']), lines: lineSheet([['Cs-1', 'A']])}, [orders(), lines()])
  const run = await startThenChange(path, () => here.crm.dropField('example', 'Orders', 'Order_Lines'))
  t.like(run, {rowsWritten: 0, stop: {stopped: 'FIELD_NOT_WRITABLE'}})
  t.regex(run.stop.message, /^Flow lines no longer fits the CRM: there is no subform field Order_Lines/)
  t.is(orderOf(here, 'Cs-1'), undefined)
})
