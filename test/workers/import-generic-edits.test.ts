import anyTest, {type TestFn} from 'ava'
import type {GenericSimulator} from '../simulators/generic.ts'
import {startGeneric} from '../simulators/generic.ts'
import {column, contactsPath, describeContacts, match, openContacts} from '../support/described.ts'
import {type Org, ok, readLog, runImport} from '../support/importing.ts'
import {startTestDeployment} from '../support/test-deployment.ts'

const companiesPath = '/v1/companies'
const notes = Array.from({length: 60}, (_, n) => `note${n}`)

const convert = (given: any) => (given.name === 'Converted' ? {...given, name: 'CONVERTED'} : given)

type TestSetup = {there: GenericSimulator; org: Org}
const test = anyTest.serial as TestFn<TestSetup>

test.before(async t => {
  const there = await startGeneric({
    collections: {
      [contactsPath]: {idField: 'contact_id', unique: ['email', 'import_key'], convert},
      [companiesPath]: {idField: 'company_id'},
    },
  })
  const here = await startTestDeployment(t, {workers: ['imports', 'discovery', 'writes'], environment: {GENERIC_ORIGINS: there.url}})
  const document = describeContacts(there, {renewal: 'daily at 00:00 UTC'})
  document.modules[0]!.fields.push({apiName: 'import_key', label: 'Import key', type: 'text', length: 26, unique: true} as never)
  const fields = ['name', ...notes].map(apiName => ({apiName, label: apiName, type: 'text', length: 50}))
  document.modules.push({apiName: 'Companies', label: 'Companies', path: '/companies', idField: 'company_id', fields} as never)
  Object.assign(t.context, {there, org: await openContacts(here, document)})
})
test.beforeEach(t => t.context.there.clear())
test.after.always(t => t.context.there?.stop())

const named = (there: GenericSimulator, name: string) => there.records(contactsPath).filter(record => String(record.name).startsWith(name))

test('a value that a person edited at a described destination is kept', async t => {
  const {there, org} = t.context
  const fields = [column('name'), column('email'), column('stage')]
  const flow = {module: 'Contacts', fields, match: {...match, unchanged: 'skip', onEdited: 'keep'}}
  const csvOf = (stage: string) => `name,email,stage\nEdit 1,e1@example.org,${stage}\nEdit 2,e2@example.org,${stage}\n`
  await runImport(org, {csv: csvOf('lead'), flow})
  const [one] = named(there, 'Edit 1')
  one!.stage = null
  const {path, run} = await runImport(org, {csv: csvOf('customer'), flow})
  t.like(run, {keptEdits: 1, counts: {Contacts: {updated: 1, skipped: 1}}})
  t.deepEqual(
    named(there, 'Edit').map(({stage}) => stage),
    [null, 'customer'],
  )
  const kept = (await readLog(org.call, `${path}/runs/${run.id}`)).filter(({phase}) => phase === 'edit')
  t.like(kept, [{code: 'KEPT_EDIT', target: 'stage', recordId: one!.contact_id}])
})

test('a create without an answer is found again by the idempotency field of a described destination', async t => {
  const {there, org} = t.context
  await ok(org.call('PATCH', `/orgs/${org.org}/config/modules/Contacts`, {idempotencyField: 'import_key'}), 200)
  there.fail({method: 'POST', action: {type: 'drop', when: 'after'}})
  const {run} = await runImport(org, {csv: 'name\nLost 1\nLost 2\nLost 3\n', flow: {module: 'Contacts', fields: [column('name')]}})
  const made = named(there, 'Lost')
  t.is(made.length, 3, 'the destination has no record twice')
  t.true(made.every(({import_key}) => /^[0-9A-Z]{26}$/i.test(String(import_key))))
  t.like(run, {stop: null, counts: {Contacts: {created: 3, refused: 0, unanswered: 0}}})
})

test('records of two modules with the same id are compared separately, and all their fields are read at once', async t => {
  const {there, org} = t.context
  const names = ['Converted', ...Array.from({length: 29}, (_, n) => `Twin ${n}`)]
  const fills = notes.map(field => ({field, mode: 'static', staticValue: 'x'}))
  const flow = [
    {module: 'Contacts', fields: [column('name')]},
    {module: 'Companies', fields: [column('name'), ...fills]},
  ]
  const {run} = await runImport(org, {csv: `name\n${names.join('\n')}\n`, flow, start: {verify: 'all'}})
  const [contact] = named(there, 'CONVERTED')
  t.truthy(there.records(companiesPath).find(({company_id: id}) => id === contact!.contact_id))
  t.like(run, {stop: null, verify: {rows: 60, coerced: 1, changed: 0, missing: 0}})
  t.is(there.journal('GET').filter(({path, query}) => path === companiesPath && query.ids).length, 1)
})

const openExternalRun = async ({call, org, connector}: Org) => {
  const body = {declaredRows: 100, connectorId: connector}
  const {runId} = await ok(call('POST', '/entitlements/runs/authorise', body), 200)
  const create = (rowKey: string, payload: object) =>
    call('POST', `/orgs/${org}/connectors/${connector}/records/Contacts`, {runId, items: [{rowKey, payload}]})
  return {runId, create}
}

test('an unanswered create of an external engine is found again by the idempotency field', async t => {
  const {there, org} = t.context
  await ok(org.call('PATCH', `/orgs/${org.org}/config/modules/Contacts`, {idempotencyField: 'import_key'}), 200)
  const {create} = await openExternalRun(org)
  there.fail({method: 'POST', action: {type: 'drop', when: 'after'}})
  t.is((await create('one', {name: 'Outer 1', email: 'outer1@example.org'})).status, 502)
  const [made] = named(there, 'Outer')
  const again = await ok(create('one', {name: 'Outer 1', email: 'outer1@example.org'}), 200)
  t.like(again.results, [{ok: true, outcome: 'created', recordId: made!.contact_id}])
  const other = await ok(create('two', {name: 'Outer 2', email: 'outer1@example.org'}), 200)
  t.like(other.results, [{ok: false, crm: {code: 'DUPLICATE_DATA'}, duplicateOf: made!.contact_id}])
  t.is(named(there, 'Outer').length, 1)
})

test('an exhausted quota that renews is described to an external engine without the words of another CRM', async t => {
  const {there, org} = t.context
  const {runId, create} = await openExternalRun(org)
  there.fail({method: 'POST', action: {type: 'answer', status: 429, headers: {'retry-after': '7200'}}})
  const {status, body} = await create('one', {name: 'Late'})
  const says = /^The daily quota of this destination is exhausted/
  t.is(status, 429)
  t.regex(body.error, says)
  t.regex(body.results[0].error, says)
  t.regex((await readLog(org.call, `/orgs/${org.org}/runs/${runId}`)).at(-1)!.message, says)
})
