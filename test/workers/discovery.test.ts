import anyTest, {type TestFn} from 'ava'
import type {Call} from '../support/client.ts'
import {openOrg} from '../support/importing.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

/** The tests change the schema of one stand-in org, so they run serially. */
const test = anyTest.serial as TestFn<{world: TestDeployment; org: string; connector: string; call: Call}>

anyTest.before(async t => {
  const context = t.context as {world: TestDeployment}
  context.world = await startTestDeployment(t, {workers: ['discovery'], environment: {CRM_TIMEOUT_SECONDS: '2'}})
  Object.assign(context, await openOrg(context.world))
})
anyTest.beforeEach(t => {
  const {crm} = (t.context as {world: TestDeployment}).world
  crm.faults.clear()
})

type Context = {org: string; connector: string; call: Call}

const discover = async ({call, org, connector}: Context) =>
  (await call('POST', `/orgs/${org}/discovery/run`, {connectorId: connector}, {prefer: 'wait=30'})).body.job
const latest = async ({call, org}: Context) => (await call('GET', `/orgs/${org}/discovery/latest`)).body.discovery
const moduleIn = (discovery: any, apiName: string) => discovery.modules.find((module: any) => module.apiName === apiName)
const fieldIn = (discovery: any, module: string, apiName: string) =>
  moduleIn(discovery, module).fields.find((field: any) => field.apiName === apiName)

test('a discovery keeps the modules that people write or look up, with every field', async t => {
  const discovery = await latest(t.context)
  const names = discovery.modules.map((module: any) => module.apiName)
  t.deepEqual(names, names.toSorted())
  for (const name of ['Leads', 'Contacts', 'Accounts', 'Deals', 'Products', 'Orders', 'Order_Lines', 'Surveys', 'Audit_Notes'])
    t.true(names.includes(name), name)
  t.false(names.includes('Visits'))
  t.false(names.includes('Orders_X_Products'))
  t.true(moduleIn(discovery, 'Surveys').fields.filter(({apiName}: any) => apiName.startsWith('Answer_')).length === 119)
  t.like(discovery.diff, {since: null, added: [], removed: [], changed: []})
})

test('a discovery describes modules and fields in the terms of this product', async t => {
  const discovery = await latest(t.context)
  t.like(moduleIn(discovery, 'Orders'), {
    singular: 'Order',
    label: 'Orders',
    kind: 'custom',
    creatable: true,
    editable: true,
    visible: true,
    namingField: 'Name',
  })
  t.like(moduleIn(discovery, 'Audit_Notes'), {visible: false})
  t.like(moduleIn(discovery, 'Order_Lines'), {kind: 'subform', creatable: false, subformOf: {module: 'Orders', field: 'Order_Lines'}})
  t.like(fieldIn(discovery, 'Orders', 'Order_Lines'), {type: 'subform', subform: {module: 'Order_Lines'}})
  t.like(fieldIn(discovery, 'Orders', 'Name'), {required: true, unique: null, length: 120})
  t.like(fieldIn(discovery, 'Orders', 'Code'), {unique: {caseSensitive: false}, required: false, creatable: true, updatable: true})
  t.like(fieldIn(discovery, 'Orders', 'Weight'), {type: 'double', decimalPlaces: 3})
  t.like(fieldIn(discovery, 'Orders', 'Total'), {type: 'formula', creatable: false, updatable: false})
  t.like(fieldIn(discovery, 'Orders', 'Number'), {type: 'autonumber', creatable: false})
  t.like(fieldIn(discovery, 'Orders', 'Secret'), {visible: false})
  t.deepEqual(fieldIn(discovery, 'Orders', 'Account').lookup, {module: 'Accounts'})
  t.deepEqual(
    fieldIn(discovery, 'Orders', 'Status').picklist.filter(({actual}: any) => actual === 'New'),
    [{display: 'Fresh', actual: 'New'}],
  )
})

test('a discovery job reports its progress and what it found', async t => {
  const job = await discover(t.context)
  const discovery = await latest(t.context)
  const fields = discovery.modules.reduce((sum: number, module: any) => sum + module.fields.length, 0)
  t.like(job, {state: 'done', result: {discovery: discovery.id, modules: discovery.modules.length, fields}})
  t.deepEqual(job.progress, {done: discovery.modules.length, total: discovery.modules.length, unit: 'modules'})
})

test('a discovery without changes keeps a snapshot with an empty difference', async t => {
  const before = await latest(t.context)
  await discover(t.context)
  const after = await latest(t.context)
  t.not(after.id, before.id)
  t.deepEqual(after.diff, {since: before.id, added: [], removed: [], changed: []})
})

test('a schema change at the CRM is reported as a difference', async t => {
  const {crm} = t.context.world
  const before = await latest(t.context)
  crm.addModule('example', {name: 'Parcels', kind: 'custom', fields: [{name: 'Name', type: 'text', length: 50}]})
  crm.addField('example', 'Orders', {name: 'Colour', type: 'picklist', options: ['red', 'blue']})
  crm.addField('example', 'Orders', {name: 'Short', type: 'text', length: 20, mandatory: true})
  crm.addField('example', 'Orders', {name: 'Channels', type: 'multiselectpicklist', options: ['Web', 'Shop', 'Fair']})
  crm.dropField('example', 'Orders', 'Weight')
  await discover(t.context)
  const {diff} = await latest(t.context)
  t.like(diff, {since: before.id, added: ['Parcels'], removed: []})
  t.is(diff.changed.length, 1)
  const [{module, changes, fields}] = diff.changed
  t.deepEqual(
    {module, changes, added: fields.added, removed: fields.removed},
    {module: 'Orders', changes: [], added: ['Colour'], removed: ['Weight']},
  )
  t.deepEqual(fields.changed.map(({field}: any) => field).toSorted(), ['Channels', 'Short'])
  const of = (name: string) => fields.changed.find(({field}: any) => field === name).changes
  t.deepEqual(of('Short'), [
    {what: 'length', before: 10, after: 20},
    {what: 'required', before: false, after: true},
    {what: 'layoutRequired', before: false, after: true},
  ])
  t.deepEqual(of('Channels'), [
    {what: 'picklist', before: [{display: 'Phone', actual: 'Phone'}], after: [{display: 'Fair', actual: 'Fair'}]},
  ])
})

for (const status of [400, 403, 404])
  test(`a module whose fields the CRM refuses with ${status} keeps its fields and the reason, and the others are read`, async t => {
    const {crm} = t.context.world
    await discover(t.context)
    const before = await latest(t.context)
    const body = {code: 'NO_PERMISSION', details: {}, message: 'permission denied', status: 'error'}
    crm.faults.add({match: {path: '/crm/v8/settings/fields', module: 'Deals'}, times: 1, action: {type: 'answer', status, body}})
    t.is((await discover(t.context)).state, 'done')
    const after = await latest(t.context)
    t.like(moduleIn(after, 'Deals'), {unread: {code: 'NO_PERMISSION', status}, fields: moduleIn(before, 'Deals').fields})
    t.is(after.modules.length, before.modules.length)
    await discover(t.context)
    t.is(moduleIn(await latest(t.context), 'Deals').unread, undefined)
  })

test('six modules that the CRM refuses do not fail a discovery', async t => {
  const {crm} = t.context.world
  await discover(t.context)
  const body = {code: 'NO_PERMISSION', details: {}, message: 'permission denied', status: 'error'}
  crm.faults.add({match: {path: '/crm/v8/settings/fields'}, times: 6, action: {type: 'answer', status: 403, body}})
  t.is((await discover(t.context)).state, 'done')
  t.is((await latest(t.context)).modules.filter(({unread}: any) => unread).length, 6)
  await discover(t.context)
})

const unreadable = [
  ['answers the fields with 500', 'fields', 'status5xxBefore', {status: 500}],
  ['never answers for the fields', 'fields', 'dropBefore', {status: null, code: null, message: 'The CRM did not answer'}],
  ['answers the layouts with 500', 'layouts', 'status5xxBefore', {status: 500}],
] as const
for (const [what, resource, action, reason] of unreadable) {
  test(`a module for which the CRM ${what} keeps its fields and the reason, and the others are read`, async t => {
    const {crm} = t.context.world
    await discover(t.context)
    const before = await latest(t.context)
    const added = `Read_${crm.journal().length}`
    for (const module of ['Leads', 'Deals']) crm.addField('example', module, {name: added, type: 'text'})
    crm.faults.add({match: {path: `/crm/v8/settings/${resource}`, module: 'Deals'}, times: 4, action})
    t.is((await discover(t.context)).state, 'done')
    const after = await latest(t.context)
    t.like(moduleIn(after, 'Deals').unread, reason)
    t.deepEqual(moduleIn(after, 'Deals').fields, moduleIn(before, 'Deals').fields)
    t.truthy(fieldIn(after, 'Leads', added))
    t.deepEqual(
      after.modules.filter(({unread}: any) => unread).map(({apiName}: any) => apiName),
      ['Deals'],
    )
    const {changes} = after.diff.changed.find(({module}: any) => module === 'Deals')
    t.deepEqual(
      changes.map(({what}: any) => what),
      ['unread'],
    )
    await discover(t.context)
    const again = await latest(t.context)
    t.is(moduleIn(again, 'Deals').unread, undefined)
    t.truthy(fieldIn(again, 'Deals', added))
  })
}

test('a subform module keeps its place in its parent when the parent cannot be read', async t => {
  const {crm} = t.context.world
  await discover(t.context)
  const {subformOf} = moduleIn(await latest(t.context), 'Order_Lines')
  crm.faults.add({match: {path: '/crm/v8/settings/fields', module: 'Orders'}, times: 4, action: 'status5xxBefore'})
  t.is((await discover(t.context)).state, 'done')
  const after = await latest(t.context)
  t.like(moduleIn(after, 'Orders').unread, {status: 500})
  t.deepEqual(moduleIn(after, 'Order_Lines').subformOf, subformOf)
  await discover(t.context)
})

test('a refusal that concerns one module flags that module alone', async t => {
  const {crm} = t.context.world
  const before = await latest(t.context)
  const body = {code: 'NOT_SUPPORTED', details: {}, message: 'not supported', status: 'error'}
  crm.faults.add({match: {path: '/crm/v8/settings/fields', module: 'Deals'}, times: 1, action: {type: 'answer', status: 405, body}})
  t.is((await discover(t.context)).state, 'done')
  const after = await latest(t.context)
  t.like(moduleIn(after, 'Deals').unread, {status: 405, code: 'NOT_SUPPORTED'})
  t.deepEqual(moduleIn(after, 'Deals').fields, moduleIn(before, 'Deals').fields)
  await discover(t.context)
})

test('a discovery fails and keeps the earlier snapshot if the CRM answers for no module', async t => {
  const {crm} = t.context.world
  const before = await latest(t.context)
  crm.faults.add({match: {path: '/crm/v8/settings/fields'}, times: 1000, action: 'status5xxBefore'})
  t.like(await discover(t.context), {state: 'refused', error: {code: 'CRM_REFUSED', crm: {status: 500}}})
  t.is((await latest(t.context)).id, before.id)
})

test('a schema read that is dropped or rate-limited is retried', async t => {
  const {crm} = t.context.world
  crm.faults.add({match: {path: '/crm/v8/settings/fields', nth: 3}, action: 'dropAfter'})
  crm.faults.add({match: {path: '/crm/v8/settings/layouts', nth: 2}, action: {type: 'rateLimit', retryAfter: 0}})
  crm.faults.add({match: {path: '/crm/v8/settings/modules'}, action: 'status5xxBefore'})
  t.is((await discover(t.context)).state, 'done')
  t.deepEqual((await latest(t.context)).diff.removed, [])
})

test('a refusal by the CRM is reported to the caller, and the earlier snapshot stays', async t => {
  const {crm, ahead} = t.context.world
  const before = await latest(t.context)
  crm.faults.add({match: {path: '/crm/v8/settings/fields'}, times: 9, action: {type: 'rateLimit', credits: 0}})
  const job = await discover(t.context)
  t.is(job.state, 'refused')
  t.like(job.error, {code: 'CRM_REFUSED', crm: {code: 'TOO_MANY_REQUESTS', quotaSpent: true, status: 429}})
  t.is((await latest(t.context)).id, before.id)
  crm.faults.clear()
  t.like((await discover(t.context)).error, {code: 'DAILY_ALLOWANCE_SPENT'})
  await ahead('61 seconds')
  t.is((await discover(t.context)).state, 'done')
})

test('a discovery on a connection whose grant was revoked is refused and ends the connection', async t => {
  const {crm, signIn, connect, as} = t.context.world
  const session = await signIn('zoe@other.example')
  const call = as(session)
  const org = (await call('GET', '/auth/me')).body.org.id
  const connector = await connect(session, {user: 'zoe@other.example'})
  crm.faults.add({match: {path: '/crm/**', org: 'other'}, action: ['revokeGrant', 'expireToken']})
  const job = await discover({call, org, connector})
  t.is(job.state, 'refused')
  t.like(job.error, {code: 'CONNECTION_UNAVAILABLE'})
  const {body} = await call('GET', `/orgs/${org}/connectors`)
  t.like(body.connectors[0], {id: connector, state: 'ended'})
})
