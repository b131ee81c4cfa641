import test from 'ava'
import {sql} from '../../sql/database.ts'
import {ok} from '../support/importing.ts'
import {addConnector, discover, moduleOf, openRegistry, usualModules} from '../support/registry.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

let house: TestDeployment
test.before(async t => {
  house = await startTestDeployment(t)
})

const open = async () => {
  const home = await openRegistry(house)
  const list = async (query = '') => (await ok(home.call('GET', home.at(`modules${query}`)), 200)).modules as any[]
  return {...home, list}
}

test('all modules of the connection are listed, those not curated with their defaults', async t => {
  const {list, connector} = await open()
  const modules = await list()
  t.deepEqual(
    modules.map(({apiName}) => apiName),
    ['Accounts', 'Deals', 'Leads'],
  )
  t.deepEqual(modules[2], {
    key: null,
    apiName: 'Leads',
    connectorId: connector,
    enabled: null,
    singular: null,
    order: null,
    uniqueFields: [],
    match: null,
    idempotencyField: null,
    exclusions: [],
    seedMappings: [],
    label: 'Leads',
    crmSingular: 'Lead',
    kind: 'default',
    creatable: true,
    editable: true,
    visible: true,
    removed: false,
    layouts: [],
    assignmentRules: [],
    hasWriteOptions: true,
    onEdited: null,
  })
})

test('curating a module gives it a key and an order, and each value changes separately', async t => {
  const {call, at, list} = await open()
  const {module} = await ok(call('PATCH', at('modules/Leads'), {enabled: true}), 200)
  t.like(module, {key: 'leads', order: 1, enabled: true, apiName: 'Leads', singular: null})
  const more = {
    singular: 'Prospect',
    uniqueFields: ['Email'],
    match: {by: ['Email'], onOne: 'update', onMany: 'ask'},
    exclusions: ['Company'],
    seedMappings: [{field: 'Last_Name', mode: 'column', source: 'Name'}],
  }
  const patched = await ok(call('PATCH', at('modules/leads'), more), 200)
  t.like(patched.module, {...more, enabled: true})
  t.deepEqual((await list())[0], patched.module)
  t.like((await ok(call('PATCH', at('modules/leads'), {match: null, singular: null}), 200)).module, {match: null, singular: null})
})

test('an unknown field or a value of the wrong type is refused with its path', async t => {
  const {call, at, version} = await open()
  const refused: [unknown, (string | number)[]][] = [
    [{uniqueFields: ['Email', 'Emial']}, ['uniqueFields', 1]],
    [{match: {by: ['Fax']}}, ['match', 'by', 0]],
    [{exclusions: ['Fax']}, ['exclusions', 0]],
    [{seedMappings: [{field: 'Fax'}]}, ['seedMappings', 0, 'field']],
    [{enabled: 'yes'}, ['enabled']],
    [{order: 1}, []],
    [{singular: ''}, ['singular']],
  ]
  for (const [body, place] of refused) {
    const answer = await call('PATCH', at('modules/Leads'), body)
    t.like(answer, {status: 400, body: {code: 'INVALID'}}, JSON.stringify(body))
    t.deepEqual(answer.body.issues[0].path, place)
  }
  t.is(await version(), 1)
})

test('an unknown module is not found', async t => {
  const {call, at} = await open()
  for (const name of ['Fax', 'leads', 'constructor', '__proto__'])
    t.like(await call('PATCH', at(`modules/${name}`), {enabled: true}), {status: 404, body: {code: 'MODULE_NOT_FOUND'}}, name)
})

test('an API name shared by two connections needs the connection; a key does not', async t => {
  const {call, at, org, connector, list} = await open()
  const two = await addConnector(house, org, 'Two')
  await discover(house, org, two)
  const refused = await call('PATCH', at('modules/Leads'), {enabled: true})
  t.like(refused, {status: 400, body: {code: 'CONNECTION_REQUIRED'}})
  t.deepEqual(refused.body.connections, [
    {id: connector, name: 'One', state: 'connected'},
    {id: two, name: 'Two', state: 'connected'},
  ])
  const second = await ok(call('PATCH', at(`modules/Leads?connector=${two}`), {enabled: true}), 200)
  t.like(second.module, {key: 'leads', connectorId: two})
  t.like((await ok(call('PATCH', at(`modules/Leads?connector=${connector}`), {}), 200)).module, {key: null, connectorId: connector})
  const first = await ok(call('PATCH', at(`modules/Leads?connector=${connector}`), {enabled: true}), 200)
  t.like(first.module, {key: 'leads_2', connectorId: connector})
  t.like((await ok(call('PATCH', at('modules/leads_2'), {singular: 'L'}), 200)).module, {connectorId: connector})
  t.is((await list(`?connector=${two}`)).length, 3)
  t.is((await list()).length, 6)
  await house.db.query(sql.unsafe`update connectors set state = 'disconnected' where id = ${two}`)
  t.like((await ok(call('PATCH', at('modules/Leads'), {}), 200)).module, {key: 'leads_2'})
})

test('a module key never equals an API name of another connection', async t => {
  const {call, at, org, connector} = await open()
  const two = await addConnector(house, org, 'Two')
  await discover(house, org, two, [moduleOf('leads', ['mail']), moduleOf('orders', ['code'])])
  t.like((await ok(call('PATCH', at('modules/Leads'), {enabled: true}), 200)).module, {key: 'leads_2', connectorId: connector})
  t.like((await ok(call('GET', at('fields/leads')), 200)).module, {apiName: 'leads', connectorId: two})
  t.like(await ok(call('PUT', at('fields/leads/annotations'), [{apiName: 'mail', pii: true}]), 200), {added: 1})
  t.like((await ok(call('PATCH', at('modules/orders'), {enabled: true}), 200)).module, {key: 'orders', connectorId: two})
})

test('a new module key differs from every other key in more than case', async t => {
  const {call, at} = await open()
  await ok(call('PATCH', at('modules/Leads'), {enabled: true}), 200)
  const registry = await ok(call('GET', at('registry')), 200)
  await ok(call('PUT', at('registry'), {...registry, modules: [{...registry.modules[0], key: 'DEALS'}]}), 200)
  t.is((await ok(call('PATCH', at('modules/Deals'), {enabled: true}), 200)).module.key, 'deals_2')
})

test('a connection of another org is not found for its modules', async t => {
  const [mine, theirs] = [await open(), await open()]
  for (const id of [theirs.connector, 'con_none']) {
    for (const answer of [
      await mine.call('GET', mine.at(`modules?connector=${id}`)),
      await mine.call('PATCH', mine.at(`modules/Leads?connector=${id}`), {enabled: true}),
      await mine.call('PUT', mine.at(`modules/order?connector=${id}`), {modules: ['Leads']}),
    ])
      t.like(answer, {status: 404, body: {code: 'CONNECTION_NOT_FOUND'}})
  }
})

test('the order is that of the named modules, followed by the others', async t => {
  const {call, at, list} = await open()
  for (const name of ['Leads', 'Accounts', 'Deals']) await ok(call('PATCH', at(`modules/${name}`), {enabled: true}), 200)
  const {modules} = await ok(call('PUT', at('modules/order'), {modules: ['Deals', 'accounts']}), 200)
  t.deepEqual(modules, [
    {key: 'deals', order: 1},
    {key: 'accounts', order: 2},
    {key: 'leads', order: 3},
  ])
  t.deepEqual(
    (await list()).map(({key}) => key),
    ['deals', 'accounts', 'leads'],
  )
  const twice = await call('PUT', at('modules/order'), {modules: ['Deals', 'deals']})
  t.like(twice, {status: 400, body: {code: 'INVALID'}})
  t.deepEqual(twice.body.issues[0].path, ['modules', 1])
  t.like(await call('PUT', at('modules/order'), {modules: ['Fax']}), {status: 404, body: {code: 'MODULE_NOT_FOUND'}})
})

test('a module that is configured after the highest position renumbers the others, and the document stays valid', async t => {
  const {call, at} = await open()
  await ok(call('PATCH', at('modules/Leads'), {enabled: true}), 200)
  const registry = await ok(call('GET', at('registry')), 200)
  await ok(call('PUT', at('registry'), {...registry, modules: [{...registry.modules[0], order: 1_000_000}]}), 200)
  t.like((await ok(call('PATCH', at('modules/Deals'), {enabled: true}), 200)).module, {key: 'deals', order: 2})
  const after = await ok(call('GET', at('registry')), 200)
  t.deepEqual(
    after.modules.map(({key, order}: any) => [key, order]),
    [
      ['leads', 1],
      ['deals', 2],
    ],
  )
  await ok(call('PUT', at('registry'), after), 200)
})

test('a curated module that left the CRM is flagged as removed until it returns', async t => {
  const {call, at, list, org, connector} = await open()
  await ok(call('PATCH', at('modules/Leads'), {enabled: true, singular: 'Prospect'}), 200)
  await discover(house, org, connector, [moduleOf('Accounts', ['Account_Name'])])
  t.like((await list())[0], {key: 'leads', removed: true, label: null, singular: 'Prospect'})
  t.is((await list()).length, 2)
  await discover(house, org, connector, usualModules)
  t.like((await list())[0], {key: 'leads', removed: false, label: 'Leads', singular: 'Prospect'})
})
