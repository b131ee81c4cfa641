import test from 'ava'
import {ok} from '../importing.ts'
import {discover, moduleOf, openRegistry, usualModules} from '../registering.ts'
import {type World, world} from '../world.ts'

let house: World
test.before(async t => {
  house = await world(t)
})

const open = async () => {
  const home = await openRegistry(house)
  const registry = await ok(home.call('GET', home.at('registry')), 200)
  const usual = {enabled: true, singular: null, match: null, exclusions: [], seedMappings: []}
  const leads = {...usual, key: 'leads', apiName: 'Leads', connectorId: home.connector, order: 1, uniqueFields: ['Email']}
  const push = (bundle: unknown, header?: string) => home.call('POST', home.at('bundle'), bundle, header ? {'if-match': header} : {})
  return {...home, registry, leads, push, full: {...registry, modules: [leads], fields: {leads: [{apiName: 'Email', pii: true}]}}}
}

const told = ({status, headers, body}: {status: number; headers: Headers; body: any}) => [
  status,
  body.code ?? null,
  body.registryVersion ?? null,
  headers.get('etag'),
]

test('a bundle applies its registry, says that it did, and tells the version it made', async t => {
  const {push, full, call, at, org, connector, version} = await open()
  const answer = await push({registry: full}, '"1"')
  t.deepEqual(answer.body, {ok: true, warnings: [], registryVersion: 2})
  t.is(answer.headers.get('etag'), '"2"')
  t.deepEqual(await ok(call('GET', at('registry')), 200), {...full, version: 2})
  const {changes} = await ok(call('GET', `/orgs/${org}/config/changes?connector=${connector}`), 200)
  t.true(changes.every(({before, registryVersion}: any) => before === null && registryVersion === 2))
  t.like(changes[0], {subject: 'bundle', page: 'general', after: {modules: 1, fields: 1, libraries: 0, templates: 0}})
  t.true(changes.some(({subject, after}: any) => subject === 'field.excludeFromAi' && after === true))
  t.deepEqual(told(await push({registry: full}, '2')), [200, null, 2, '"2"'])
  t.deepEqual(told(await push({registry: full}, '1')), [409, 'REGISTRY_CONFLICT', 2, null])
  t.deepEqual(told(await push({registry: full}, 'W/"2"')), [400, 'BAD_IF_MATCH', null, null])
  t.deepEqual(told(await push({registry: full})), [200, null, null, null])
  t.deepEqual(told(await push({}, '2')), [200, null, 2, '"2"'])
  t.is(await version(), 2)
})

test('modules and fields nobody ever saw are all listed, and nothing is written', async t => {
  const {push, full, leads, version, connector} = await open()
  const fax = {...leads, key: 'fax', apiName: 'Fax_Machines', order: 2, uniqueFields: []}
  const bad = {
    ...full,
    settings: {...full.settings, timezone: 'Europe/Berlin'},
    modules: [{...leads, uniqueFields: ['Email', 'Emial'], match: {by: ['Fax']}}, fax],
    fields: {leads: [{apiName: 'Email'}, {apiName: 'Shoe_Size'}]},
  }
  const {status, body} = await push({registry: bad}, '1')
  t.is(status, 422)
  t.is(body.code, 'UNKNOWN_FIELDS')
  t.deepEqual(body.modules, [{path: ['registry', 'modules', 1], key: 'fax', apiName: 'Fax_Machines', connectorId: connector}])
  t.deepEqual(
    body.fields.map(({apiName, module, path}: any) => [module, apiName, path]),
    [
      ['leads', 'Shoe_Size', ['registry', 'fields', 'leads', 1, 'apiName']],
      ['leads', 'Emial', ['registry', 'modules', 0, 'uniqueFields', 1]],
      ['leads', 'Fax', ['registry', 'modules', 0, 'match', 'by', 0]],
    ],
  )
  t.is(await version(), 1)
})

test('what was in the CRM and is no more is a warning', async t => {
  const {push, full, org, connector, leads} = await open()
  await discover(house, org, connector, [usualModules[0]!, moduleOf('Leads', ['Last_Name'])])
  const deals = {...leads, key: 'deals', apiName: 'Deals', order: 2, uniqueFields: ['Deal_Name']}
  const {status, body} = await push({registry: {...full, modules: [leads, deals]}})
  t.is(status, 200)
  t.deepEqual(body.warnings, ['Leads.Email is not in the CRM any more', 'Deals is not in the CRM any more'])
})

test('templates are said not to have been applied, until somebody can', async t => {
  const {push, full, version} = await open()
  const {body} = await push({registry: full, templates: [{name: 'a'}, {name: 'b'}]})
  t.is(body.warnings.length, 1)
  t.regex(body.warnings[0], /^2 templates were not applied/)
  t.is(await version(), 2)
  t.like(await push({libraries: 'acme'}), {status: 400, body: {code: 'INVALID'}})
  t.like(await push({other: 1}), {status: 400, body: {code: 'INVALID'}})
})
