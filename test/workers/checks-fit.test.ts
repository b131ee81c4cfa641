import test from 'ava'
import {assertLike, checkFile, checkImport, column, kindsOf, orders, readChecks} from '../support/import-checks.ts'
import {ok, openOrg, prepareImport} from '../support/importing.ts'
import {startTestDeployment} from '../support/test-deployment.ts'

let here: Awaited<ReturnType<typeof startTestDeployment>>
let org: Awaited<ReturnType<typeof openOrg>>

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['checks', 'discovery']})
  org = await openOrg(here)
})

test.serial('a check reports every flow that no longer fits the CRM or its file, and still reads the other flows', async t => {
  here.crm.addField('example', 'Orders', {name: 'Passing', type: 'text', length: 20})
  const discover = () => ok(org.call('POST', `/orgs/${org.org}/discovery/run`, {connectorId: org.connector}, {prefer: 'wait=30'}), 200)
  await discover()
  const flows = [orders(column('Short', 'short')), orders(column('Passing', 'short')), orders(column('Quantity', 'qty'))]
  const {path, source} = await prepareImport(org, {csv: 'name,short,qty\nA,b,c\n', flow: flows})
  await checkImport(org, path)
  t.false((await readChecks(org.call, path)).checks.stale)
  await discover()
  t.false((await readChecks(org.call, path)).checks.stale, 'nothing changed in the CRM')
  here.crm.dropField('example', 'Orders', 'Passing')
  await discover()
  t.true((await readChecks(org.call, path)).checks.stale)
  await ok(org.call('PATCH', `${path}/sources/${source.id}`, {cleaning: []}), 200)
  const {problems, checks} = await checkImport(org, path)
  assertLike(
    t,
    problems,
    [
      {kind: 'invalid_value', flow: 'f3', field: 'Quantity', rows: [1]},
      {kind: 'field_missing', flow: 'f2', field: 'Passing', rows: [], count: 1},
    ].sort((a, b) => (a.field < b.field ? -1 : 1)),
  )
  t.like(checks, {rows: 2, stale: false})
  await ok(org.call('DELETE', `${path}/sources/${source.id}`), 200)
  t.true((await readChecks(org.call, path)).checks.stale)
  t.deepEqual(kindsOf((await checkImport(org, path)).problems), Array(3).fill('error source_missing'))
})

test.serial('a check also reads fields that are patched later, and reports a flow whose parent flow cannot be read', async t => {
  const late = orders(column('Short', 'short', {patch: {}}))
  const {problems} = await checkFile(org, `name,short\nA,${'x'.repeat(11)}\nB,ok\n`, late)
  assertLike(t, problems, [{severity: 'error', kind: 'too_long', field: 'Short', column: 'short', rows: [1], count: 1}])

  here.crm.addField('example', 'Accounts', {name: 'Leaving', type: 'text', length: 20})
  const discover = () => ok(org.call('POST', `/orgs/${org.org}/discovery/run`, {connectorId: org.connector}, {prefer: 'wait=30'}), 200)
  await discover()
  const parents = {module: 'Accounts', fields: [column('Account_Name', 'name'), column('Leaving', 'short')]}
  const children = {...orders(), parent: {field: 'Account', flow: 'f'}}
  const {path} = await prepareImport(org, {csv: 'name,short\nA,b\n', flow: [parents, children]})
  t.deepEqual((await checkImport(org, path)).problems, [])
  here.crm.dropField('example', 'Accounts', 'Leaving')
  await discover()
  const {job, problems: found} = await checkImport(org, path)
  t.deepEqual(
    found.map(({kind, flow, field}) => [kind, flow, field]),
    [
      ['parent_flow', 'f2', null],
      ['field_missing', 'f', 'Leaving'],
    ],
  )
  t.is(job.result.rows, 0)
})

test.serial('a check reports mapped columns that the file no longer has', async t => {
  const {path, source} = await prepareImport(org, {csv: 'a,name,qty\n1,A,2\n', flow: orders(column('Quantity', 'qty'))})
  await ok(org.call('PATCH', `${path}/sources/${source.id}`, {reader: {headerRow: false}}), 200)
  assertLike(t, (await checkImport(org, path)).problems, [
    {kind: 'column_missing', field: 'Name', column: 'name'},
    {kind: 'column_missing', field: 'Quantity', column: 'qty'},
  ])
})
