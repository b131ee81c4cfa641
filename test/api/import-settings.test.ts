import test, {type ExecutionContext} from 'ava'
import {sql} from '../../sql/database.ts'
import {checkImport} from '../support/import-checks.ts'
import {accountRows, type Org, ok, openOrg, readLog, untilEnded} from '../support/importing.ts'
import {startTestDeployment} from '../support/test-deployment.ts'

let here: Awaited<ReturnType<typeof startTestDeployment>>
let org: Org

test.before(async t => {
  here = await startTestDeployment(t, {
    workers: ['imports', 'checks', 'discovery'],
    environment: {LEASE_SECONDS: '3', CRM_TIMEOUT_SECONDS: '5'},
  })
  org = await openOrg(here)
})

const column = (field: string, source: string, more: object = {}) => ({field, mode: 'column', source, ...more})
const configure = (path: string, values: object) => ok(org.call('PATCH', `/orgs/${org.org}/config/${path}`, values), 200)

/** Creates an import of one file without flows. `put` sets its one flow. */
const open = async (csv: string) => {
  const {import: made} = await ok(org.call('POST', `/orgs/${org.org}/imports`, {name: 'Test', connectorId: org.connector}), 201)
  const path = `/orgs/${org.org}/imports/${made.id}`
  const {source} = await ok(org.call('POST', `${path}/sources?name=test.csv`, csv, {'content-type': 'text/csv'}), 201)
  const put = (flow: object, query = '') => org.call('PUT', `${path}/flows${query}`, [{id: 'f', sourceId: source.id, ...flow}])
  return {path, source, put}
}

const run = async (path: string, start: object = {}) => {
  const {run: begun} = await ok(org.call('POST', `${path}/runs`, start), 202)
  const ended = await untilEnded(org.call, `${path}/runs/${begun.id}`)
  return {ended, log: await readLog(org.call, `${path}/runs/${ended.id}`)}
}

const limitModules = (modules: number) =>
  here.db.query(sql.unsafe`update plan_versions set limits = limits || jsonb_build_object('modules', ${modules}::int)`)

const refused = (t: ExecutionContext, {status, body}: {status: number; body: any}, code: string, expected: number) =>
  t.deepEqual([status, body.code], [expected, code], body.error)

test.serial('a flow without a match uses the module’s match, and null states that every row creates a record', async t => {
  here.crm.create('example', 'Leads', [{Last_Name: 'Old', Email: 'one@set.example'}])
  await configure('modules/Leads', {match: {by: ['Email'], onOne: 'skip'}})
  const csv = 'last,mail\nNew,one@set.example\n'
  const fields = [column('Last_Name', 'last'), column('Email', 'mail')]
  const {path, put} = await open(csv)
  const {flows} = await ok(put({module: 'Leads', fields}), 200)
  t.deepEqual(flows[0].match, {by: ['Email'], onOne: 'skip', onMany: 'ask'})
  const [first] = (await run(path)).log
  t.like(first, {outcome: 'skipped', code: 'MATCH_ONE'})
  t.is((await ok(put({module: 'Leads', match: null, fields}), 200)).flows[0].match, null)
  t.like((await run(path)).ended.counts.Leads, {created: 1})
  const unmapped = await put({module: 'Leads', fields: [column('Last_Name', 'last')]})
  t.deepEqual([unmapped.status, unmapped.body.issues[0].path], [400, [0, 'match', 'by', 0]])
  await configure('modules/Leads', {match: null})
})

test.serial('a new flow gets the default mappings that fit its file, and names a field to keep it out', async t => {
  const seed = (field: string, more: object) => ({field, ...more})
  const seedMappings = [
    seed('Lead_Source', {mode: 'static', staticValue: 'Partner'}),
    seed('City', {source: 'town'}),
    seed('Phone', {source: 'no such column'}),
    seed('Industry', {mode: 'static', staticValue: 'Not in the list'}),
    seed('Company', {mode: 'static', staticValue: 'Skipped'}),
  ]
  await configure('modules/Leads', {seedMappings})
  await configure('fields/Leads/Description', {defaultMapping: {mode: 'static', staticValue: 'Imported'}})
  const {path, put} = await open('last,town\nSeeded,Bonn\n')
  const fields = [column('Last_Name', 'last'), {field: 'Company', mode: 'skip'}]
  const {flows} = await ok(put({module: 'Leads', fields}), 200)
  t.deepEqual(
    flows[0].fields.map(({field}: any) => field),
    ['Last_Name', 'Company', 'Lead_Source', 'City', 'Description'],
  )
  await run(path)
  t.like(
    here.crm.records('example', 'Leads').find(({Last_Name}) => Last_Name === 'Seeded'),
    {Lead_Source: 'Partner', City: 'Bonn', Description: 'Imported', Company: null},
  )
  t.is((await ok(put({module: 'Leads', fields}), 200)).flows[0].fields.length, 2, 'a stored flow is complete as it is sent')
  await configure('modules/Leads', {seedMappings: []})
  await configure('fields/Leads/Description', {defaultMapping: null})
})

test.serial('a module that an administrator disabled refuses flows, runs and dry runs, and one without a decision is open', async t => {
  const {path, put} = await open(accountRows(2, 'Dis-'))
  const flow = {module: 'Accounts', fields: [column('Account_Name', 'name'), column('Account_Number', 'number')]}
  await configure('fields/Accounts/Account_Name', {description: 'A note configures the module and decides nothing'})
  await ok(put(flow), 200)
  await run(path, {dryRun: true})
  await configure('modules/Accounts', {enabled: false})
  refused(t, await org.call('POST', `${path}/runs`, {}), 'MODULE_DISABLED', 409)
  refused(t, await org.call('POST', `${path}/runs`, {dryRun: true}), 'MODULE_DISABLED', 409)
  refused(t, await put(flow), 'MODULE_DISABLED', 409)
  t.like((await checkImport(org, path)).problems[0], {severity: 'error', kind: 'module_disabled', module: 'Accounts'})
  await configure('modules/Accounts', {enabled: true})
  t.like((await run(path)).ended.counts.Accounts, {created: 2})
})

test.serial('the plan’s modules are those that are enabled or imported into, and a disabled one makes room', async t => {
  const used = async () => (await ok(org.call('GET', '/entitlements/me'), 200)).usage.modules
  const {path, put} = await open('name\nWidget\n')
  await ok(put({module: 'Products', fields: [column('Product_Name', 'name')]}), 200)
  const before = await used()
  await run(path, {dryRun: true})
  t.is((await used()).used, before.used, 'a dry run takes no module')
  await run(path)
  await run(path)
  t.is((await used()).used, before.used + 1)
  await limitModules(before.used + 1)
  const other = await open('name\nDeal\n')
  const fields = [column('Deal_Name', 'name'), {field: 'Stage', mode: 'static', staticValue: 'Qualification'}]
  await ok(other.put({module: 'Deals', fields}), 200)
  const {status, body} = await org.call('POST', `${other.path}/runs`, {})
  t.like({status, ...body}, {status: 402, code: 'LIMIT_MODULES', used: before.used + 1, limit: before.used + 1})
  await configure('modules/Products', {enabled: false})
  t.like((await run(other.path)).ended.counts.Deals, {created: 1})
  await limitModules(1_000)
})

test.serial('a flow may write an excluded field only with force, and keeps it afterwards', async t => {
  await configure('modules/Contacts', {exclusions: ['Phone']})
  await configure('fields/Contacts/Mobile', {excluded: true})
  const {put} = await open('last,phone\nExcluded,1\n')
  const flow = (field: string) => ({module: 'Contacts', fields: [column('Last_Name', 'last'), column(field, 'phone')]})
  for (const field of ['Phone', 'Mobile']) {
    const {status, body} = await put(flow(field))
    t.deepEqual([status, body.issues.map(({path}: any) => path)], [400, [[0, 'fields', 1, 'field']]], field)
  }
  await ok(put(flow('Phone'), '?force=true'), 200)
  await ok(put(flow('Phone')), 200)
  t.is((await put(flow('Mobile'))).status, 400)
  const {fields} = await ok(org.call('GET', `/orgs/${org.org}/config/fields/Contacts?connector=${org.connector}`), 200)
  t.deepEqual(
    fields
      .filter(({excluded}: any) => excluded)
      .map(({apiName}: any) => apiName)
      .sort(),
    ['Mobile', 'Phone'],
  )
  const columns = ['Phone', 'Mobile']
  const {proposals} = await ok(org.call('POST', '/ai/auto-map', {modules: ['Contacts'], connectorId: org.connector, columns}), 200)
  t.false(proposals.some(({field}: any) => field === 'Phone' || field === 'Mobile'))
})

test.serial('the org’s date format and time zone read dates whose order nothing decides', async t => {
  const csv = 'name,day,due\nDated,03/04/2001,2026-03-04T10:00:00\n'
  const fields = [column('Name', 'name'), column('Order_Date', 'day'), column('Due_At', 'due')]
  const {path, put} = await open(csv)
  await ok(put({module: 'Orders', fields}), 200)
  t.like((await run(path, {dryRun: true})).log.at(-1), {outcome: 'failed', code: 'INVALID_VALUE'})
  await configure('settings', {dateFormat: 'dd/MM/yyyy', timezone: 'Europe/Berlin'})
  await run(path)
  const made = here.crm.records('example', 'Orders').find(({Name}) => Name === 'Dated')
  t.is(made?.Order_Date, '2001-04-03')
  t.is(Date.parse(String(made?.Due_At)), Date.parse('2026-03-04T09:00:00Z'))
  const fixed = {field: 'Due_At', mode: 'static', staticValue: '2026-07-04T10:00:00'}
  const later = await open('name\nFixed\n')
  await ok(later.put({module: 'Orders', fields: [fields[0], fixed]}), 200)
  await run(later.path)
  const written = here.crm.records('example', 'Orders').find(({Name}) => Name === 'Fixed')
  t.is(Date.parse(String(written?.Due_At)), Date.parse('2026-07-04T08:00:00Z'))
})
