import test from 'ava'
import {z} from 'zod'
import {sql} from '../../sql/database.ts'
import {ok} from '../support/importing.ts'
import {addConnector, openRegistry} from '../support/registry.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

let house: TestDeployment
test.before(async t => {
  house = await startTestDeployment(t)
})

test('settings have defaults and can be changed one by one', async t => {
  const {call, at} = await openRegistry(house)
  const usual = {
    dateFormat: 'yyyy-MM-dd',
    timezone: 'UTC',
    expressionContext: {},
    aiSamplePolicy: 'masked',
    followsCrmRoles: true,
  }
  t.deepEqual(await ok(call('GET', at('settings')), 200), {settings: usual, registryVersion: 1})
  const changed = {dateFormat: 'dd.MM.yyyy', timezone: 'Europe/Berlin', expressionContext: {vat: {de: 0.19}}, aiSamplePolicy: 'deny'}
  t.deepEqual(await ok(call('PATCH', at('settings'), changed), 200), {settings: {...usual, ...changed}})
  t.deepEqual(await ok(call('PATCH', at('settings'), {followsCrmRoles: false}), 200), {
    settings: {...usual, ...changed, followsCrmRoles: false},
  })
  t.deepEqual((await ok(call('GET', at('settings')), 200)).settings, {...usual, ...changed, followsCrmRoles: false})
})

test('an unknown setting and an invalid value are refused', async t => {
  const {call, at, version} = await openRegistry(house)
  const refused = [
    {colour: 'red'},
    {timezone: 'Mars'},
    {timezone: '+02:00'},
    {timezone: null},
    {aiSamplePolicy: 'some'},
    {expressionContext: []},
  ]
  for (const body of [...refused, {dateFormat: 'dd.dd.yyyy'}, {dateFormat: 'yyyy'}, {dateFormat: "yyyy'x'MM-dd"}, {followsCrmRoles: 'yes'}])
    t.like(await call('PATCH', at('settings'), body), {status: 400, body: {code: 'INVALID'}}, JSON.stringify(body))
  t.is(await version(), 1)
})

test('a demoted admin cannot make the org follow CRM roles with an API token', async t => {
  const {call, at, org, person} = await openRegistry(house)
  const {secret} = await ok(call('POST', `/orgs/${org}/tokens`, {name: 'kept'}), 201)
  await ok(call('PATCH', at('settings'), {followsCrmRoles: false}), 200)
  await house.db.query(sql.unsafe`update members set role = 'builder' where person_id = ${person}`)
  const kept = house.as(secret)
  t.like(await kept('PATCH', at('settings'), {followsCrmRoles: true}), {status: 403, body: {code: 'ROLE_REQUIRED'}})
  t.is((await kept('PATCH', at('settings'), {timezone: 'Europe/Berlin'})).status, 200)
})

test('no route lets a staff view change the embed origins or whether roles follow the CRM; unchanged values are accepted', async t => {
  const {call, at, org} = await openRegistry(house)
  const view = house.as(await house.openView({org, write: true}))
  const registry = await ok(call('GET', at('registry')), 200)
  const embedOrigins = ['https://staff.example.com']
  const other = {...registry, settings: {...registry.settings, embedOrigins}}
  for (const [method, path, body] of [
    ['PATCH', 'settings', {embedOrigins}],
    ['PATCH', 'settings', {followsCrmRoles: false}],
    ['PUT', 'registry', other],
    ['POST', 'bundle', {registry: other}],
  ] as const)
    t.like(await view(method, at(path), body), {status: 403, body: {code: 'IMPERSONATION_REFUSED'}}, `${method} ${path}`)
  const {settings: before} = await ok(call('GET', at('settings')), 200)
  const sent = {...before, timezone: 'Europe/Berlin', embedOrigins: null}
  t.deepEqual((await ok(view('PATCH', at('settings'), sent), 200)).settings, sent)
  await ok(view('PUT', at('registry'), registry), 200)
  t.deepEqual((await ok(call('GET', at('settings')), 200)).settings, before)
})

test('a stated default is no change, so it makes no version and a staff view may send it', async t => {
  const {call, at, org, version} = await openRegistry(house)
  const view = house.as(await house.openView({org, write: true}))
  const stated = {undo: 'on', embedOrigins: []}
  const registry = await ok(call('GET', at('registry')), 200)
  await ok(call('PATCH', at('settings'), stated), 200)
  await ok(view('PUT', at('registry'), {...registry, settings: {...registry.settings, ...stated}}), 200)
  t.is(await version(), 1)
  await ok(call('PATCH', at('settings'), {undo: 'off', embedOrigins: ['https://shop.example.com']}), 200)
  await ok(call('PATCH', at('settings'), stated), 200)
  t.is(await version(), 3)
  t.deepEqual((await ok(call('GET', at('registry')), 200)).settings, registry.settings)
})

const paused = (connector: string) =>
  house.db.oneFirst(sql.type(z.object({paused: z.boolean()}))`select writes_paused as paused from connectors where id = ${connector}`)

test('writing is paused and resumed per connection', async t => {
  const {call, at, org, connector} = await openRegistry(house)
  t.deepEqual(await ok(call('PATCH', at('writing'), {paused: true}), 200), {writing: {[connector]: {paused: true}}})
  t.true(await paused(connector))
  const two = await addConnector(house, org, 'Two')
  const refused = await call('PATCH', at('writing'), {paused: false})
  t.like(refused, {status: 400, body: {code: 'CONNECTION_REQUIRED'}})
  t.deepEqual(
    refused.body.connections.map(({id}: any) => id),
    [connector, two],
  )
  t.deepEqual(await ok(call('PATCH', at(`writing?connector=${two}`), {paused: true}), 200), {
    writing: {[connector]: {paused: true}, [two]: {paused: true}},
  })
  t.deepEqual(await ok(call('PATCH', at(`writing?connector=${connector}`), {paused: false}), 200), {writing: {[two]: {paused: true}}})
  t.false(await paused(connector))
  t.deepEqual((await ok(call('GET', at('registry')), 200)).writing, {[two]: {paused: true}})
})

test('an empty body changes nothing and returns the version given in If-Match', async t => {
  const {call, at, org, version} = await openRegistry(house)
  await addConnector(house, org, 'Two')
  for (const body of [{}, undefined]) {
    const {status, body: answer, headers} = await call('PATCH', at('writing'), body, {'if-match': '"1"'})
    t.deepEqual([status, answer, headers.get('etag')], [200, {writing: {}, registryVersion: 1}, '"1"'])
  }
  t.deepEqual(await ok(call('PATCH', at('writing')), 200), {writing: {}})
  t.like(await call('PATCH', at('writing'), {}, {'if-match': '0'}), {status: 409, body: {code: 'REGISTRY_CONFLICT', registryVersion: 1}})
  t.is(await version(), 1)
})

test('a connection of another org cannot be paused', async t => {
  const [mine, theirs] = [await openRegistry(house), await openRegistry(house)]
  for (const body of [{paused: true}, {}]) {
    for (const id of [theirs.connector, 'con_none'])
      t.like(await mine.call('PATCH', mine.at(`writing?connector=${id}`), body), {status: 404, body: {code: 'CONNECTION_NOT_FOUND'}})
  }
  t.false(await paused(theirs.connector))
})
