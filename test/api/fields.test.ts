import test from 'ava'
import {ok} from '../support/importing.ts'
import {discover, moduleOf, openRegistry, usualModules} from '../support/registry.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

let house: TestDeployment
test.before(async t => {
  house = await startTestDeployment(t)
})

const open = async () => {
  const home = await openRegistry(house)
  const fields = async (query = '', module = 'Leads') =>
    (await ok(home.call('GET', home.at(`fields/${module}${query}`)), 200)).fields as any[]
  const names = async (query = '') => (await fields(query)).map(({apiName, removed}) => (removed ? `(${apiName})` : apiName))
  return {...home, fields, names}
}

test('the fields of a module are listed with their annotations', async t => {
  const {call, at, fields} = await open()
  const {annotation} = await ok(call('PATCH', at('fields/Leads/Email'), {pii: true, description: 'Where to write'}), 200)
  t.deepEqual(annotation, {apiName: 'Email', pii: true, description: 'Where to write'})
  const [lastName, email] = await fields()
  t.like(lastName, {apiName: 'Last_Name', type: 'text', annotation: null, removed: false})
  t.like(email, {apiName: 'Email', annotation, removed: false})
  t.deepEqual(await fields('', 'leads'), await fields())
})

test('an annotation is changed value by value, and null removes a value', async t => {
  const {call, at} = await open()
  const patch = async (body: unknown) => (await ok(call('PATCH', at('fields/Leads/Email'), body), 200)).annotation
  await patch({pii: true, aliases: ['Mail', 'E-Mail']})
  t.deepEqual(await patch({pii: null, defaultMapping: {mode: 'column', source: 'Mail', searchField: null}}), {
    apiName: 'Email',
    aliases: ['Mail', 'E-Mail'],
    defaultMapping: {mode: 'column', source: 'Mail', searchField: null},
  })
  t.is(await patch({aliases: null, defaultMapping: null}), null)
})

test('an unknown field cannot be annotated', async t => {
  const {call, at, version} = await open()
  t.like(await call('PATCH', at('fields/Leads/Fax'), {pii: true}), {status: 404, body: {code: 'NOT_FOUND'}})
  t.like(await call('PATCH', at('fields/Fax/Email'), {pii: true}), {status: 404, body: {code: 'MODULE_NOT_FOUND'}})
  t.like(await call('GET', at('fields/Fax')), {status: 404, body: {code: 'MODULE_NOT_FOUND'}})
  t.is(await version(), 1)
})

test('all annotations of a module can be replaced, with counts of the changes', async t => {
  const {call, at, fields, version} = await open()
  const put = (set: unknown, module = 'Leads') => call('PUT', at(`fields/${module}/annotations`), set)
  const first = [{apiName: 'Email', pii: true}, {apiName: 'Company'}]
  t.deepEqual((await put(first)).body, {ok: true, added: 2, changed: 0, removed: 0})
  t.deepEqual((await put([{apiName: 'Last_Name', pii: true}, {apiName: 'Email'}], 'leads')).body, {
    ok: true,
    added: 1,
    changed: 1,
    removed: 1,
  })
  t.deepEqual(
    (await fields()).map(({annotation}) => annotation),
    [{apiName: 'Last_Name', pii: true}, {apiName: 'Email'}, null],
  )
  const before = await version()
  t.deepEqual((await ok(call('PATCH', at('fields/Leads/Email'), {}), 200)).annotation, {apiName: 'Email'})
  t.is(await version(), before, 'an empty change changes nothing')
  t.deepEqual((await put([])).body, {ok: true, added: 0, changed: 0, removed: 2})
  t.deepEqual((await put([])).body, {ok: true, added: 0, changed: 0, removed: 0})
})

test('an invalid set of annotations is refused as a whole, with the paths of the issues', async t => {
  const {call, at, version} = await open()
  const refused: [unknown, (string | number)[]][] = [
    [{apiName: 'Email'}, []],
    [
      [{apiName: 'Email'}, {pii: true}],
      [1, 'apiName'],
    ],
    [[{apiName: ''}], [0, 'apiName']],
    [[{apiName: 'Email', pii: 'yes'}], [0, 'pii']],
    [[{apiName: 'Email', examples: 'a'}], [0, 'examples']],
    [[{apiName: 'Email', colour: 'red'}], [0]],
    [[{apiName: 'Email', defaultMapping: {mode: 'magic'}}], [0, 'defaultMapping', 'mode']],
    [[{apiName: 'Email', defaultMapping: {patch: {overwrite: 'never'}}}], [0, 'defaultMapping', 'patch', 'overwrite']],
    [
      [{apiName: 'Email'}, {apiName: 'Email'}],
      [1, 'apiName'],
    ],
    [
      [{apiName: 'Email'}, {apiName: 'Emial'}],
      [1, 'apiName'],
    ],
    [Array.from({length: 1001}, () => ({})), []],
  ]
  for (const [body, place] of refused) {
    const answer = await call('PUT', at('fields/Leads/annotations'), body)
    t.like(answer, {status: 400, body: {code: 'INVALID'}}, JSON.stringify(body))
    t.deepEqual(answer.body.issues[0].path, place)
  }
  t.like(await call('PUT', at('fields/Fax/annotations'), []), {status: 404, body: {code: 'MODULE_NOT_FOUND'}})
  t.is(await version(), 1)
})

test('a removed field keeps its annotation, is listed on request, and regains the annotation', async t => {
  const {call, at, fields, names, org, connector} = await open()
  await ok(call('PUT', at('fields/Leads/annotations'), [{apiName: 'Email', pii: true}]), 200)
  const without = usualModules.map(module => (module.apiName === 'Leads' ? moduleOf('Leads', ['Last_Name', 'Score']) : module))
  await discover(house, org, connector, without)
  t.deepEqual(await names(), ['Last_Name', 'Score'])
  t.deepEqual(await names('?all=1'), ['Last_Name', 'Score', '(Company)', '(Email)'])
  const email = (await fields('?all=1'))[3]
  t.like(email, {apiName: 'Email', type: 'text', removed: true, annotation: {apiName: 'Email', pii: true}})
  t.regex(email.removedAt, /^\d{4}-.*Z$/)
  t.is((await call('PATCH', at('fields/Leads/Email'), {description: 'Still said'})).status, 200)
  t.is((await call('PUT', at('fields/Leads/annotations'), [{apiName: 'Email', pii: true}])).status, 200)
  await discover(house, org, connector)
  t.deepEqual(await names('?all=1'), ['Last_Name', 'Email', 'Company', '(Score)'])
  t.like((await fields())[1], {apiName: 'Email', annotation: {pii: true}, removed: false})
})

test('an annotation of a never discovered field is listed with the removed fields', async t => {
  const {call, at, names} = await open()
  await ok(call('PATCH', at('modules/Leads'), {enabled: true}), 200)
  const registry = await ok(call('GET', at('registry')), 200)
  await ok(call('PUT', at('registry'), {...registry, fields: {leads: [{apiName: 'Dream', pii: true}]}}), 200)
  t.deepEqual(await names('?all=1'), ['Last_Name', 'Email', 'Company', '(Dream)'])
  t.is((await names()).length, 3)
})

test('a module whose key is `constructor` does not break requests for other modules', async t => {
  const {call, at, org, connector} = await open()
  await discover(house, org, connector, [...usualModules, moduleOf('Constructor', ['Name'])])
  const {module} = await ok(call('PATCH', at('modules/Constructor'), {enabled: true}), 200)
  t.is(module.key, 'constructor')
  const tested = {expression: '1', columns: ['A'], rows: [['x']], module: 'Leads', field: 'Email'}
  await ok(call('POST', `/orgs/${org}/expressions/test`, tested), 200)
})

test('members below admin can read the configuration and cannot change it', async t => {
  const {org, at} = await open()
  const {token} = await house.makeOrg({role: 'builder', org})
  const call = house.as(token)
  for (const path of ['fields/Leads', 'modules', 'settings', 'registry', 'resolved', 'changes'])
    t.is((await call('GET', at(path))).status, 200)
  t.like(await call('PATCH', at('fields/Leads/Email'), {pii: true}), {status: 403, body: {code: 'ROLE_REQUIRED'}})
})
