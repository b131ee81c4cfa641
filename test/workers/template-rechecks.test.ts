import test from 'ava'
import type {Db} from '../../sql/database.ts'
import {findLatestDiscovery} from '../../sql/discoveries.ts'
import {lockImport} from '../../sql/imports.ts'
import {deleteOldDiscoveries} from '../../sql/retention.ts'
import {replaceRecheck} from '../../sql/template-rechecks.ts'
import {type Org, ok, openOrg} from '../support/importing.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'

let house: TestDeployment
let org: Org

test.before(async t => {
  house = await startTestDeployment(t, {workers: ['discovery', 'checks']})
  org = await openOrg(house)
})

const column = (field: string, source: string) => ({field, mode: 'column', source, empty: 'leave'})
const csv = `name,number,industry\n${Array.from({length: 7}, (_, n) => `Company ${n},R-${n},${n === 0 ? 'Retail' : 'Food'}`).join('\n')}\n`

const accounts = {
  module: 'Accounts',
  fields: [column('Account_Name', 'name'), column('Account_Number', 'number'), column('Industry', 'industry')],
}

const makeTemplate = async (name: string, file = csv, flow: object = accounts) => {
  const {template} = await ok(
    org.call('POST', `/orgs/${org.org}/templates`, {
      name,
      description: null,
      connectorId: org.connector,
      sources: [{slot: 'companies', label: 'Companies', reader: {}, cleaning: [], choices: {}, columns: ['name', 'number', 'industry']}],
      flows: [{id: 'f', sourceId: 'companies', ...flow}],
    }),
    201,
  )
  const {import: made} = await ok(org.call('POST', `/orgs/${org.org}/imports`, {templateId: template.id}), 201)
  await ok(org.call('POST', `/orgs/${org.org}/imports/${made.id}/sources?name=a.csv`, file, {'content-type': 'text/csv'}), 201)
  return {id: template.id as string, importId: made.id as string}
}

const discover = () => ok(org.call('POST', `/orgs/${org.org}/discovery/run`, {connectorId: org.connector}, {prefer: 'wait=30'}), 200)
const readTemplate = (id: string) => ok(org.call('GET', `/orgs/${org.org}/templates/${id}`), 200)
const noticesOf = async (template: string) =>
  (await house.hot.query(`select about from notices where kind = 'template.broken' and about ->> 'template' = $1`, [template])).rows
const endedJobs = async () => {
  const found = await house.queue.findJobs('templates.recheck')
  return found.every(({state}) => state === 'completed') ? found.length : -1
}

const options = [
  'Banking',
  'Construction',
  'Education',
  'Energy',
  'Food',
  'Healthcare',
  'Manufacturing',
  'Retail',
  'Technology',
  'Transport',
]
const setIndustry = (names: string[]) => house.crm.addField('example', 'Accounts', {name: 'Industry', type: 'picklist', options: names})

test.serial('an option that is gone is reported with the share of rows that use it, once', async t => {
  const {id, importId} = await makeTemplate('Companies')
  t.is((await readTemplate(id)).recheck, null)
  setIndustry(options.filter(name => name !== 'Retail'))
  await discover()
  const {recheck} = await until(
    () => readTemplate(id),
    ({recheck: found}) => found !== null,
  )
  t.like(recheck, {importId, rows: 7})
  t.like(recheck.problems, [{severity: 'error', kind: 'not_in_picklist', module: 'Accounts', field: 'Industry', rows: 1}])
  t.is(recheck.problems.length, 1)
  t.false(JSON.stringify(recheck).includes('Retail'), 'a template stores no cell')
  t.like((await noticesOf(id))[0]!.about, {import: importId, rows: 7, affectedRows: 1, problems: 1})

  const before = await until(endedJobs, count => count >= 0)
  house.crm.addField('example', 'Accounts', {name: 'Fax_2', type: 'text'})
  await discover()
  await until(endedJobs, count => count > before)
  t.is((await noticesOf(id)).length, 1, 'the same problems are announced once')
})

test.serial('a change that retention makes older than the newest two discoveries still breaks the template', async t => {
  setIndustry(options)
  await discover()
  const {id, importId} = await makeTemplate('Retained')
  const other = await makeTemplate('Checked before')
  const checks = `/orgs/${org.org}/imports/${other.importId}/checks`
  await ok(org.call('POST', checks, undefined, {prefer: 'wait=30'}), 200)
  await house.hot.query('update imports set template_id = null where id = $1', [other.importId])
  setIndustry(options.filter(name => name !== 'Retail'))
  for (const name of ['', 'Later_1', 'Later_2', 'Later_3']) {
    if (name) house.crm.addField('example', 'Accounts', {name, type: 'text'})
    const {job} = await discover()
    const {recheck} = await until(
      () => readTemplate(id),
      ({recheck: found}) => found?.discovery === job.result.discovery,
    )
    t.like(recheck, {importId, problems: [{kind: 'not_in_picklist', field: 'Industry', rows: 1}]}, name)
    await deleteOldDiscoveries(house.db, {org: org.org, limit: 20})
  }
  // Two discoveries without a change push the last change out of the newest two, and no other check names it.
  for (const _ of [1, 2]) await discover()
  await house.hot.query('delete from checks where import_no <> (select import_no from imports where id = $1)', [other.importId])
  await deleteOldDiscoveries(house.db, {org: org.org, limit: 20})
  t.true((await ok(org.call('GET', checks), 200)).checks.stale)
  const left = `select count(distinct id) as all, count(distinct discovery_id) as whole from discoveries left join discovered_modules on discovery_id = id`
  const {rows} = await house.hot.query(left)
  t.true(rows[0].whole < rows[0].all, 'the modules of changes between are deleted')
  await house.hot.query(`update imports set state = 'expired', expired_at = lading_now()`)
  await deleteOldDiscoveries(house.db, {org: org.org, limit: 20})
  t.deepEqual((await house.hot.query(left)).rows[0].all, rows[0].whole)
})

test.serial('an import that waits for its file does not replace the newest import with a file', async t => {
  setIndustry(options)
  await discover()
  const {id, importId} = await makeTemplate('Waiting')
  await ok(org.call('POST', `/orgs/${org.org}/imports`, {templateId: id}), 201)
  setIndustry(options.filter(name => name !== 'Retail'))
  await discover()
  const {recheck} = await until(
    () => readTemplate(id),
    ({recheck: found}) => found !== null,
  )
  t.like(recheck, {importId, rows: 7, problems: [{kind: 'not_in_picklist', field: 'Industry', rows: 1}]})
  t.is(recheck.problems.length, 1)
})

test.serial('rows that failed before a change of the CRM are no problem of that change', async t => {
  setIndustry(options)
  await discover()
  const {id, importId} = await makeTemplate('Old faults', `${csv},,\nLong,R-8,Food,more\n`)
  const {job} = await ok(org.call('POST', `/orgs/${org.org}/imports/${importId}/checks`, undefined, {prefer: 'wait=30'}), 200)
  t.is(job.result.errors, 2)
  house.crm.addField('example', 'Accounts', {name: 'Fax_5', type: 'text'})
  await discover()
  const {recheck} = await until(
    () => readTemplate(id),
    ({recheck: found}) => found !== null,
  )
  t.like(recheck, {importId, rows: 9, problems: []})
  t.is((await noticesOf(id)).length, 0)
})

test.serial('a re-check is announced with the discovery that it read, and never replaces a later one', async t => {
  setIndustry(options)
  await discover()
  const {id, importId} = await makeTemplate('Overtaken')
  const latest = async (db: Db) => (await findLatestDiscovery(db, org.connector))!.id
  setIndustry(options.filter(name => name !== 'Retail'))
  const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%from imports%'`
  const read = await house.db.transaction(async tx => {
    await lockImport(tx, {org: org.org, id: importId})
    await discover()
    await until(
      () => house.hot.query(waiting),
      ({rowCount}) => rowCount === 1,
    )
    const before = await latest(tx)
    house.crm.addField('example', 'Accounts', {name: 'Fax_4', type: 'text'})
    await discover()
    return before
  })
  const later = await latest(house.db)
  const {template, recheck} = await until(
    () => readTemplate(id),
    ({recheck: found}) => found?.discovery === later,
  )
  t.deepEqual(
    (await noticesOf(id)).map(({about}) => about.discovery),
    [read],
  )
  const older = {template: {id, version: template.version}, discovery: read, importId, rows: 7, problems: []}
  t.false(await house.db.transaction(tx => replaceRecheck(tx, older)))
  t.deepEqual((await readTemplate(id)).recheck, recheck)
})

test.serial('an import of an earlier version, or with other flows than its template, is not checked again', async t => {
  setIndustry(options)
  await discover()
  const [control, older, edited] = [await makeTemplate('Control'), await makeTemplate('Older'), await makeTemplate('Edited')]
  const withoutIndustry = (flows: any[]) => flows.map(flow => ({...flow, fields: flow.fields.slice(0, 2)}))
  const {name, description, connectorId, sources, flows} = (await readTemplate(older.id)).template
  const changed = {name, description, connectorId, sources, flows: withoutIndustry(flows)}
  await ok(org.call('PUT', `/orgs/${org.org}/templates/${older.id}`, changed), 200)
  const path = `/orgs/${org.org}/imports/${edited.importId}`
  const {import: made} = await ok(org.call('GET', path), 200)
  await ok(org.call('PUT', `${path}/flows`, withoutIndustry(made.flows)), 200)
  setIndustry(options.filter(name => name !== 'Retail'))
  await discover()
  // The template with the oldest import is checked last.
  await until(
    () => readTemplate(control.id),
    ({recheck}) => recheck !== null,
  )
  for (const {id} of [older, edited]) t.is((await readTemplate(id)).recheck, null)
})

test.serial('a mapped field that is gone breaks the flow, and a change elsewhere is not checked', async t => {
  setIndustry(options)
  await discover()
  const {id} = await makeTemplate('Numbers')
  house.crm.addField('example', 'Leads', {name: 'Fax_3', type: 'text'})
  await discover()
  await until(endedJobs, count => count >= 0)
  t.is((await readTemplate(id)).recheck, null, 'only a module changed that the template does not use')
  house.crm.dropField('example', 'Accounts', 'Account_Number')
  await discover()
  const {recheck} = await until(
    () => readTemplate(id),
    ({recheck: found}) => found !== null,
  )
  t.like(
    recheck.problems.find(({field}: any) => field === 'Account_Number'),
    {severity: 'error', module: 'Accounts', rows: null},
  )
})

test.serial('a field that the CRM removed breaks each flow that searches records by this field', async t => {
  house.crm.addField('example', 'Accounts', {name: 'Code', type: 'text'})
  await discover()
  const search = {field: 'Account_Name', mode: 'search', source: 'number', searchField: 'Code', empty: 'leave'}
  const {id} = await makeTemplate('Searches', csv, {module: 'Contacts', fields: [column('Last_Name', 'name'), search]})
  house.crm.dropField('example', 'Accounts', 'Code')
  await discover()
  const {recheck} = await until(
    () => readTemplate(id),
    ({recheck: found}) => found !== null,
  )
  t.like(recheck.problems, [{severity: 'error', kind: 'flow', module: 'Contacts', field: 'Account_Name', rows: null}])
  t.is(recheck.problems.length, 1)
  t.like((await noticesOf(id))[0]!.about, {problems: 1})
})

test.serial('a new version of the template has no re-check, and a deleted template leaves none', async t => {
  const {id} = await makeTemplate('Versions')
  house.crm.addField('example', 'Accounts', {name: 'Description', type: 'textarea', mandatory: true})
  await discover()
  const {template, recheck} = await until(
    () => readTemplate(id),
    ({recheck: found}) => found !== null,
  )
  t.true(recheck.problems.some(({kind, field}: any) => kind === 'required' && field === null))
  const {name, description, connectorId, sources, flows} = template
  const [flow] = flows
  const changed = [{...flow, fields: [...flow.fields, {field: 'Description', mode: 'static', staticValue: 'From the list'}]}]
  await ok(org.call('PUT', `/orgs/${org.org}/templates/${id}`, {name, description, connectorId, sources, flows: changed}), 200)
  t.is((await readTemplate(id)).recheck, null)
  await ok(org.call('DELETE', `/orgs/${org.org}/templates/${id}`), 200)
  t.is((await house.hot.query('select from template_rechecks where template_id = $1', [id])).rowCount, 0)
})
