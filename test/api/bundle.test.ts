import test from 'ava'
import {sql} from '../../sql/database.ts'
import {deleteTemplate, lockSharedTemplate} from '../../sql/templates.ts'
import {field} from '../support/discovered.ts'
import {ok} from '../support/importing.ts'
import {discover, moduleOf, openRegistry, usualModules} from '../support/registry.ts'
import {leadsTemplate, makeTemplate} from '../support/templates.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'

let house: TestDeployment
test.before(async t => {
  house = await startTestDeployment(t)
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

test('applying a bundle writes its registry and returns the new version', async t => {
  const {push, full, call, at, org, connector, version} = await open()
  const answer = await push({registry: full}, '"1"')
  t.deepEqual(answer.body, {ok: true, warnings: [], skippedLibraries: [], registryVersion: 2})
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

test('a bundle with unknown modules and fields is refused with all of them listed, and nothing is written', async t => {
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

test('modules and fields that have left the CRM give warnings', async t => {
  const {push, full, org, connector, leads} = await open()
  await discover(house, org, connector, [usualModules[0]!, moduleOf('Leads', ['Last_Name'])])
  const deals = {...leads, key: 'deals', apiName: 'Deals', order: 2, uniqueFields: ['Deal_Name']}
  const {status, body} = await push({registry: {...full, modules: [leads, deals]}})
  t.is(status, 200)
  t.deepEqual(body.warnings, ['Leads.Email is no longer in the CRM', 'Deals is no longer in the CRM'])
})

test('a bundle with a malformed or unknown part is refused', async t => {
  const {push} = await open()
  t.like(await push({libraries: 'acme'}), {status: 400, body: {code: 'INVALID'}})
  t.like(await push({templates: [{name: 'a'}]}), {status: 400, body: {code: 'INVALID'}})
  t.like(await push({other: 1}), {status: 400, body: {code: 'INVALID'}})
})

test('templates of a bundle are applied by name and shared, and make no configuration version', async t => {
  const {push, full, version, call, org, connector} = await open()
  const mine = await makeTemplate(call, org)
  const [one, two] = [leadsTemplate(), leadsTemplate({name: 'Two', connectorId: connector})]
  const list = async () => (await ok(call('GET', `/orgs/${org}/templates`), 200)).templates
  t.deepEqual((await push({registry: full, templates: [two, one]}, '1')).body, {
    ok: true,
    warnings: [],
    skippedLibraries: [],
    registryVersion: 2,
  })
  const made = (await list()).filter(({shared}: any) => shared)
  t.deepEqual(made.map(({name, version, mine}: any) => [name, version, mine]).sort(), [
    ['Leads of the month', 1, true],
    ['Two', 1, true],
  ])
  t.true(
    (await list()).some(({id, shared}: any) => id === mine.id && !shared),
    'a private one of the name is let be',
  )
  t.deepEqual(told(await push({templates: [one, two]}, '2')), [200, null, 2, '"2"'])
  t.deepEqual(
    (await list()).filter(({shared}: any) => shared),
    made,
    'the same again is no change',
  )
  await ok(push({templates: [{...one, description: 'Newer'}]}), 200)
  t.like(
    (await list()).find(({name, shared}: any) => shared && name === one.name),
    {version: 2, description: 'Newer'},
  )
  t.is(await version(), 2)
  const pushes = Array.from({length: 6}, (_, n) => push({templates: [leadsTemplate({name: 'Raced', description: `${n % 2}`}), two]}))
  t.true((await Promise.all(pushes)).every(({status}) => status === 200))
  t.is((await list()).filter(({name}: any) => name === 'Raced').length, 1)
})

test('invalid templates are all listed before anything is written; removed fields give warnings', async t => {
  const {push, full, version, call, org, connector} = await open()
  const flow = leadsTemplate().flows[0]!
  const over = (source: string, name = 'Emial') => [
    {
      ...flow,
      fields: [
        {field: name, mode: 'column', source: 'mail'},
        {field: 'Company', mode: 'expression', transform: source},
      ],
    },
  ]
  const bad = {registry: full, templates: [leadsTemplate({connectorId: connector, flows: over('acme.one(row.firm)')})]}
  const {status, body} = await push(bad, '1')
  t.deepEqual([status, body.code], [422, 'TEMPLATE_INVALID'])
  t.deepEqual(
    body.issues.map(({code, path}: any) => [code, path.join('.')]),
    [
      ['field_gone', 'templates.0.flows.0.fields.0.field'],
      ['expression_refused', 'templates.0.flows.0.fields.1.transform'],
    ],
  )
  t.is(await version(), 1)
  t.deepEqual((await ok(call('GET', `/orgs/${org}/templates`), 200)).templates, [])
  const library = {
    manifest: {namespace: 'acme', version: '1.0.0', scope: 'org', description: '', functions: [{name: 'one'}]},
    source: 'export const one = firm => firm',
  }
  const good = {libraries: [library], templates: [leadsTemplate({connectorId: connector, flows: over('acme.one(row.firm)', 'Email')})]}
  t.deepEqual((await ok(push(good), 200)).warnings, [], 'a library of the same bundle is there')
  await discover(house, org, connector, [moduleOf('Leads', ['Last_Name', 'Company'])])
  t.deepEqual((await ok(push(good), 200)).warnings, ['Leads of the month: Leads has no field Email'])
})

test('templates of a bundle are checked with the time zone that the bundle sets', async t => {
  const {push, full, org, connector} = await open()
  const leads = moduleOf('Leads', ['Last_Name', 'Email', 'Company'])
  await discover(house, org, connector, [{...leads, fields: [...leads.fields, field('Seen', {type: 'datetime'})]}])
  const [flow] = leadsTemplate().flows
  const seen = {field: 'Seen', mode: 'static', staticValue: '2026-03-04T10:00:00'}
  const templates = [leadsTemplate({connectorId: connector, flows: [{...flow, fields: [...flow!.fields, seen]}]})]
  const pushIn = (timezone: string) => push({registry: {...full, settings: {...full.settings, timezone}}, templates})
  t.deepEqual(told(await pushIn('UTC')).slice(0, 2), [422, 'TEMPLATE_INVALID'])
  t.is((await pushIn('Europe/Berlin')).status, 200)
  t.deepEqual(told(await pushIn('UTC')).slice(0, 2), [422, 'TEMPLATE_INVALID'], 'not with the stored time zone')
})

test('a template of a bundle keeps the slots of its data contract, unless the bundle replaces the contract', async t => {
  const {push, full, call, org, version} = await open()
  const contract = {sources: [{slot: 'leads', columns: [{name: 'mail'}]}]}
  await ok(push({templates: [leadsTemplate({contract})]}), 200)
  const [slot, flow] = [leadsTemplate().sources[0], leadsTemplate().flows[0]]
  const other = leadsTemplate({sources: [{...slot, slot: 'people'}], flows: [{...flow, sourceId: 'people'}]})
  const dropped = await push({registry: full, templates: [other]})
  t.like(dropped, {status: 400, body: {code: 'INVALID', issues: [{path: ['templates', 0, 'sources']}]}})
  const foreign = await push({registry: full, templates: [{...other, contract}]})
  t.like(foreign, {status: 400, body: {code: 'INVALID', issues: [{path: ['templates', 0, 'contract', 'sources', 0, 'slot']}]}})
  t.is(await version(), 1, 'the registry is not written either')
  await ok(push({templates: [{...other, contract: {sources: [{slot: 'people', columns: [{name: 'mail'}]}]}}]}), 200)
  const [{id}] = (await ok(call('GET', `/orgs/${org}/templates`), 200)).templates
  t.like(await ok(call('GET', `/orgs/${org}/templates/${id}/contract`), 200), {contract: {version: 2, sources: [{slot: 'people'}]}})
})

test('a template of a bundle is created again if it is deleted while the bundle is applied', async t => {
  const {push, call, org} = await open()
  const name = 'Deleted meanwhile'
  await ok(push({templates: [leadsTemplate({name})]}), 200)
  const pushing = await house.db.transaction(async tx => {
    const {id} = (await lockSharedTemplate(tx, {org, name}))!
    const answer = push({templates: [leadsTemplate({name, description: 'New'})]})
    await until(
      () => tx.exists(sql.unsafe`select from pg_locks where not granted and pg_backend_pid() = any(pg_blocking_pids(pid))`),
      Boolean,
    )
    await deleteTemplate(tx, id)
    return [answer]
  })
  t.is((await pushing[0])!.status, 200)
  const {templates} = await ok(call('GET', `/orgs/${org}/templates`), 200)
  t.like(templates, [{name, description: 'New', version: 1, shared: true}])
})
