import test from 'ava'
import fc from 'fast-check'
import {field} from '../support/discovered.ts'
import {ok} from '../support/importing.ts'
import {addConnector, anyRegistry, discover, moduleOf, openRegistry, readChanges, replay, usualModules} from '../support/registry.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

let house: TestDeployment
test.before(async t => {
  house = await startTestDeployment(t)
})

const told = ({status, headers, body}: {status: number; headers: Headers; body: any}) => [
  status,
  body.code ?? null,
  body.registryVersion ?? null,
  headers.get('etag'),
]

test('a new org has an empty registry', async t => {
  const {call, at, connector, org} = await openRegistry(house)
  const {headers, body} = await call('GET', at('registry'))
  t.deepEqual(body, {
    version: 1,
    settings: {dateFormat: 'yyyy-MM-dd', timezone: 'UTC', expressionContext: {}, aiSamplePolicy: 'masked'},
    writing: {},
    modules: [],
    fields: {},
  })
  t.is(headers.get('etag'), '"1"')
  const {body: resolved} = await call('GET', at('resolved'))
  t.like(resolved, {registryVersion: 1, registry: body, libraries: []})
  t.deepEqual(Object.keys(resolved.fields), [connector])
  t.deepEqual(
    resolved.fields[connector].Leads.map((one: any) => [one.apiName, one.annotation]),
    [
      ['Last_Name', null],
      ['Email', null],
      ['Company', null],
    ],
  )
  const fresh = await house.makeOrg({role: 'operator', org})
  t.is((await house.as(fresh.token)('GET', at('resolved'))).status, 200)
})

test('any registry survives PUT, GET and PUT unchanged except for its version; the second PUT changes nothing', async t => {
  const {call, at, connector, org} = await openRegistry(house)
  const other = await addConnector(house, org, 'Two')
  await fc.assert(
    fc.asyncProperty(anyRegistry([connector, other]), async registry => {
      await ok(call('PUT', at('registry'), registry), 200)
      const {version, ...got} = await ok(call('GET', at('registry')), 200)
      t.deepEqual(got, registry)
      const again = await call('PUT', at('registry'), {version, ...got}, {'if-match': String(version)})
      t.deepEqual(told(again), [200, null, version, `"${version}"`])
      t.deepEqual(await ok(call('GET', at('registry')), 200), {version, ...got})
      t.deepEqual(await ok(call('POST', '/config/validate/registry', registry), 200), {valid: true, issues: []})
    }),
    {numRuns: 60},
  )
})

test('an invalid registry is refused by PUT, bundle and validation with the paths of the issues', async t => {
  const {call, at, connector, version} = await openRegistry(house)
  const before = await version()
  const registry = await ok(call('GET', at('registry')), 200)
  const leads = {key: 'leads', apiName: 'Leads', connectorId: connector, enabled: 'yes', singular: null, order: 1, uniqueFields: []}
  const bad = {...registry, modules: [{...leads, match: null, exclusions: [], seedMappings: []}]}
  const put = await call('PUT', at('registry'), bad)
  t.like(put, {status: 400, body: {code: 'INVALID'}})
  t.deepEqual(put.body.issues[0].path, ['modules', 0, 'enabled'])
  const bundle = await call('POST', at('bundle'), {registry: bad})
  t.like(bundle, {status: 400, body: {code: 'INVALID'}})
  t.deepEqual(bundle.body.issues[0].path, ['registry', 'modules', 0, 'enabled'])
  const {status, body} = await house.as(null)('POST', '/config/validate/registry', bad)
  t.is(status, 200)
  t.false(body.valid)
  t.deepEqual(body.issues[0].path, ['modules', 0, 'enabled'])
  t.is(await version(), before)
})

test('validation needs no bearer and refuses a body over a mebibyte', async t => {
  const call = house.as(null)
  t.deepEqual((await ok(call('POST', '/config/validate/registry'), 200)).valid, false)
  t.like(await call('POST', '/config/validate/registry', {a: 'x'.repeat(1024 ** 2)}), {status: 413, body: {code: 'BODY_TOO_LARGE'}})
  t.like(await call('POST', '/config/validate/registry', '{no', {'content-type': 'application/json'}), {body: {code: 'BAD_JSON'}})
})

test('a connection of another org in a registry is refused exactly like an unknown one', async t => {
  const [mine, theirs] = [await openRegistry(house), await openRegistry(house)]
  const registry = await ok(mine.call('GET', mine.at('registry')), 200)
  const leads = {key: 'leads', apiName: 'Leads', enabled: true, singular: null, order: 1, uniqueFields: [], match: null}
  const withId = (id: string) => ({
    ...registry,
    writing: {[id]: {paused: true}},
    modules: [{...leads, connectorId: id, exclusions: [], seedMappings: []}],
  })
  const answers = await Promise.all([theirs.connector, 'con_none'].map(id => mine.call('PUT', mine.at('registry'), withId(id))))
  t.deepEqual(
    answers[0]!.body.issues.map(({path}: any) => path),
    [
      ['writing', theirs.connector],
      ['modules', 0, 'connectorId'],
    ],
  )
  t.is(answers[0]!.text.replaceAll(theirs.connector, 'con_none'), answers[1]!.text)
  t.is(answers[0]!.status, 400)
})

test('of a hundred writes against one version one succeeds; the others get the current version', async t => {
  const {call, at, version, org, connector} = await openRegistry(house)
  const snapshot = await ok(call('GET', at('registry')), 200)
  const writes = Array.from({length: 100}, (_, n) =>
    n % 2
      ? call('PATCH', at('settings'), {expressionContext: {n}}, {'if-match': '"1"'})
      : call('PATCH', at('modules/Leads'), {singular: `Lead ${n}`}, {'if-match': '1'}),
  )
  const answers = (await Promise.all(writes)).map(told)
  t.deepEqual(
    answers.filter(([status]) => status === 200),
    [[200, null, 2, '"2"']],
  )
  t.deepEqual(
    answers.filter(([status]) => status !== 200),
    Array(99).fill([409, 'REGISTRY_CONFLICT', 2, null]),
  )
  t.is(await version(), 2)
  const {version: _, ...last} = await ok(call('GET', at('registry')), 200)
  t.deepEqual(replay(snapshot, await readChanges(call, org, [connector])), {...last, version: 1})
})

test('parallel writes without a condition all succeed, each with its own version, which is not returned', async t => {
  const {call, at, version, org, connector} = await openRegistry(house)
  const writes = Array.from({length: 30}, (_, n) => call('PATCH', at('settings'), {expressionContext: {n}}))
  for (const answer of await Promise.all(writes)) t.deepEqual(told(answer), [200, null, null, null])
  t.is(await version(), 31)
  const versions = (await readChanges(call, org, [connector])).map(({registryVersion}) => registryVersion)
  t.deepEqual(
    versions,
    Array.from({length: 30}, (_, n) => n + 2),
  )
})

test('a snapshot plus the recorded changes since then gives the current registry', async t => {
  const {call, at, org, connector} = await openRegistry(house)
  const two = await addConnector(house, org, 'Two')
  await discover(house, org, two, [moduleOf('Orders', ['Name', 'Code']), moduleOf('Leads', ['Last_Name'])])
  await ok(call('PATCH', at('modules/Orders'), {enabled: true, uniqueFields: ['Code']}), 200)
  const snapshot = await ok(call('GET', at('registry')), 200)
  const whole = async (connectors: string[]) => {
    const [registry] = fc.sample(anyRegistry(connectors), 1)
    await ok(call('PUT', at('registry'), registry), 200)
  }
  await ok(call('PATCH', at(`modules/Leads?connector=${connector}`), {enabled: true, match: {by: ['Email'], onOne: 'update'}}), 200)
  await ok(call('PUT', at('fields/leads/annotations'), [{apiName: 'Email', pii: true}, {apiName: 'Company'}]), 200)
  await ok(call('PATCH', at('fields/leads/Company'), {description: 'Who they work for', aliases: ['Firm']}), 200)
  await ok(
    call('PUT', at('fields/leads/annotations'), [
      {apiName: 'Company', aliases: []},
      {apiName: 'Email', pii: true},
    ]),
    200,
  )
  await ok(call('PATCH', at(`writing?connector=${two}`), {paused: true}), 200)
  await ok(call('PUT', at(`modules/order?connector=${connector}`), {modules: ['Deals', 'leads']}), 200)
  await ok(call('PATCH', at('settings'), {timezone: 'Europe/Berlin', followsCrmRoles: false}), 200)
  for (let n = 0; n < 10; n++) await whole([connector, two])
  await ok(call('PATCH', at(`fields/Leads/Last_Name?connector=${two}`), {excluded: true}), 200)
  await ok(call('PATCH', at(`fields/Leads/Last_Name?connector=${two}`), {excluded: null}), 200)
  const changes = await readChanges(call, org, [connector, two])
  const since = changes.filter(({registryVersion}) => registryVersion! > snapshot.version)
  const {version, ...last} = await ok(call('GET', at('registry')), 200)
  t.deepEqual(replay(snapshot, since), {...last, version: snapshot.version})
  t.is(Math.max(...since.map(({registryVersion}) => registryVersion!)), version)
})

test('writing a whole registry records the earlier value of each change', async t => {
  const {call, at, org} = await openRegistry(house)
  await ok(call('PATCH', at('settings'), {timezone: 'Europe/Berlin'}), 200)
  const registry = await ok(call('GET', at('registry')), 200)
  await ok(call('PUT', at('registry'), {...registry, settings: {...registry.settings, timezone: 'Asia/Tokyo'}}), 200)
  const {changes} = await ok(call('GET', `/orgs/${org}/config/changes`), 200)
  t.like(changes[0], {subject: 'settings.timezone', before: null, after: 'Asia/Tokyo', registryVersion: 3})
  t.like(changes[1], {subject: 'settings.timezone', before: 'UTC', after: 'Europe/Berlin', registryVersion: 2})
})

/** Routes that write the registry, each with a body that changes something, and with one that changes nothing, or null if there is none. */
const writes: [string, string, unknown, unknown][] = [
  ['PATCH', 'settings', {timezone: 'Europe/Berlin'}, {timezone: 'UTC'}],
  ['PATCH', 'settings', {followsCrmRoles: false}, {}],
  ['PATCH', 'writing', {paused: true}, {}],
  ['PATCH', 'modules/Leads', {enabled: true}, {}],
  ['PUT', 'modules/order', {modules: ['Deals', 'Leads']}, null],
  ['PATCH', 'fields/Leads/Email', {pii: true}, {pii: null}],
  ['PUT', 'fields/Leads/annotations', [{apiName: 'Email', pii: true}], []],
]
for (const [method, path, change, nothing] of writes) {
  test(`${method} ${path} ${JSON.stringify(change)} checks If-Match and returns the version`, async t => {
    const {call, at, version} = await openRegistry(house)
    const write = (body: unknown, header?: string) => call(method, at(path), body, header === undefined ? {} : {'if-match': header})
    if (nothing !== null) t.deepEqual(told(await write(nothing, '"1"')), [200, null, 1, '"1"'])
    t.deepEqual(told(await write(change, '0')), [409, 'REGISTRY_CONFLICT', 1, null])
    for (const junk of ['W/"1"', 'one', '']) t.deepEqual(told(await write(change, junk)), [400, 'BAD_IF_MATCH', null, null], junk)
    t.is(await version(), 1)
    t.deepEqual(told(await write(change, '1')), [200, null, 2, '"2"'])
    t.deepEqual(told(await write(change, '1')), [409, 'REGISTRY_CONFLICT', 2, null])
    t.deepEqual(told(await write(change, '"2"')), [200, null, 2, '"2"'])
    t.deepEqual(told(await write(change)), [200, null, null, null])
    t.deepEqual(told(await write(change, '*')), [200, null, null, null])
    t.is(await version(), 2)
  })
}

test('an unchanged configuration answers 304 until it changes', async t => {
  const {call, at, org, connector} = await openRegistry(house)
  const first = await call('GET', at('resolved'))
  const etag = first.headers.get('etag')!
  t.is(etag, '"1"')
  for (const header of [etag, 'W/"1"', '*', `"0", ${etag}`]) {
    const {status, text, headers} = await call('GET', at('resolved'), undefined, {'if-none-match': header})
    t.deepEqual([status, text, headers.get('etag')], [304, '', etag])
  }
  for (const header of ['"0"', '1', 'x']) t.is((await call('GET', at('resolved'), undefined, {'if-none-match': header})).status, 200)
  await ok(call('PATCH', at('fields/Leads/Email'), {pii: true}), 200)
  const second = await call('GET', at('resolved'), undefined, {'if-none-match': etag})
  t.deepEqual([second.status, second.headers.get('etag')], [200, '"2"'])
  t.like(second.body.fields[connector].Leads[1], {apiName: 'Email', annotation: {apiName: 'Email', pii: true}})
  await discover(house, org, connector)
  t.is((await call('GET', at('resolved'), undefined, {'if-none-match': '"2"'})).status, 304)
  const options = [field('Email', {picklist: [{display: 'a', actual: 'a'}]}), field('Last_Name')]
  await discover(house, org, connector, [usualModules[0]!, {...usualModules[1]!, fields: options}])
  t.is((await call('GET', at('resolved'), undefined, {'if-none-match': '"2"'})).headers.get('etag'), '"3"')
  await discover(house, org, connector, [usualModules[0]!, {...usualModules[1]!, fields: options.toReversed()}])
  t.is((await call('GET', at('resolved'), undefined, {'if-none-match': '"3"'})).headers.get('etag'), '"4"')
})

test('a read during writes is consistent', async t => {
  const {call, at} = await openRegistry(house)
  const write = async () => {
    for (let n = 0; n < 20; n++) {
      const registry = await ok(call('GET', at('registry')), 200)
      const settings = {...registry.settings, expressionContext: {version: registry.version + 1}}
      await ok(call('PUT', at('registry'), {...registry, settings}, {'if-match': String(registry.version)}), 200)
    }
  }
  const read = async () => {
    for (let n = 0; n < 40; n++) {
      const {registryVersion, registry} = await ok(call('GET', at('resolved')), 200)
      t.true(registryVersion === 1 || registry.settings.expressionContext.version === registryVersion)
    }
  }
  await Promise.all([write(), read(), read()])
})

test('a change that would make the configuration too large for a body is refused', async t => {
  const {call, at, version} = await openRegistry(house)
  const registry = await ok(call('GET', at('registry')), 200)
  const {connector} = {connector: (await ok(call('GET', at('modules')), 200)).modules[0].connectorId}
  const leads = {key: 'leads', apiName: 'Leads', connectorId: connector, enabled: true, singular: null, order: 1, uniqueFields: []}
  const set = Array.from({length: 103}, (_, n) => ({apiName: `F${n}`, description: 'x'.repeat(10_000)}))
  const big = {...registry, modules: [{...leads, match: null, exclusions: [], seedMappings: []}], fields: {leads: set}}
  const {status, body} = await call('PUT', at('registry'), big)
  t.is(status, 400)
  t.deepEqual(body.issues[0].path, [])
  t.is(await version(), 1)
})
