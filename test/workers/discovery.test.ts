import anyTest, {type TestFn} from 'ava'
import type {Call} from '../client.ts'
import {openOrg} from '../importing.ts'
import {type World, world} from '../world.ts'

/** The stand-in's schema is one org's: the tests take turns. */
const test = anyTest.serial as TestFn<{world: World; org: string; connector: string; call: Call}>

anyTest.before(async t => {
  const context = t.context as {world: World}
  context.world = await world(t, {workers: ['discovery'], environment: {CRM_TIMEOUT_SECONDS: '2'}})
  Object.assign(context, await openOrg(context.world))
})
anyTest.beforeEach(t => {
  const {crm} = (t.context as {world: World}).world
  crm.faults.clear()
})

type Context = {org: string; connector: string; call: Call}

const discover = async ({call, org, connector}: Context) =>
  (await call('POST', `/orgs/${org}/discovery/run`, {connectorId: connector}, {prefer: 'wait=30'})).body.job
const latest = async ({call, org}: Context) => (await call('GET', `/orgs/${org}/discovery/latest`)).body.discovery
const moduleIn = (discovery: any, apiName: string) => discovery.modules.find((module: any) => module.apiName === apiName)
const fieldIn = (discovery: any, module: string, apiName: string) =>
  moduleIn(discovery, module).fields.find((field: any) => field.apiName === apiName)

test('the modules people write and look up are kept, with every field', async t => {
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

test('a module and its fields in this product’s words', async t => {
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

test('the job says how far it is and what it found', async t => {
  const job = await discover(t.context)
  const discovery = await latest(t.context)
  const fields = discovery.modules.reduce((sum: number, module: any) => sum + module.fields.length, 0)
  t.like(job, {state: 'done', result: {discovery: discovery.id, modules: discovery.modules.length, fields}})
  t.deepEqual(job.progress, {done: discovery.modules.length, total: discovery.modules.length, unit: 'modules'})
})

test('nothing changed is a snapshot without a difference', async t => {
  const before = await latest(t.context)
  await discover(t.context)
  const after = await latest(t.context)
  t.not(after.id, before.id)
  t.deepEqual(after.diff, {since: before.id, added: [], removed: [], changed: []})
})

test('a schema changed at the CRM is told as a difference', async t => {
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

test('a module the user may not read is left out, and the rest is kept', async t => {
  const {crm} = t.context.world
  const body = {code: 'NO_PERMISSION', details: {}, message: 'permission denied', status: 'error'}
  crm.faults.add({match: {path: '/crm/v8/settings/fields'}, action: {type: 'answer', status: 403, body}})
  const before = await latest(t.context)
  t.is((await discover(t.context)).state, 'done')
  const after = await latest(t.context)
  t.is(after.modules.length, before.modules.length - 1)
  t.is(after.diff.removed.length, 1)
  await discover(t.context)
  t.deepEqual((await latest(t.context)).diff.added, after.diff.removed)
})

test('a read that is dropped or told to wait is asked again', async t => {
  const {crm} = t.context.world
  crm.faults.add({match: {path: '/crm/v8/settings/fields', nth: 3}, action: 'dropAfter'})
  crm.faults.add({match: {path: '/crm/v8/settings/layouts', nth: 2}, action: {type: 'rateLimit', retryAfter: 0}})
  crm.faults.add({match: {path: '/crm/v8/settings/modules'}, action: 'status5xxBefore'})
  t.is((await discover(t.context)).state, 'done')
  t.deepEqual((await latest(t.context)).diff.removed, [])
})

test('what the CRM refuses is told to whoever asked, and the snapshot before stays', async t => {
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

test('a connection whose grant ended is told so', async t => {
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
