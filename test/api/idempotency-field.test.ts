import {randomBytes} from 'node:crypto'
import test from 'ava'
import {validateTemplate} from '../../shared/mapping/templates/validate.ts'
import {openIdempotencyValues} from '../../shared/runs/idempotency-values.ts'
import {resealIdempotencyKeys} from '../../shared/runs/reseal-idempotency.ts'
import type {KeyRing} from '../../shared/security/secrets.ts'
import {openLog} from '../../shared/telemetry/log.ts'
import {sql} from '../../sql/database.ts'
import {findIdempotencyKey} from '../../sql/idempotency.ts'
import {ok, openOrg, prepareImport, runImport} from '../support/importing.ts'
import {leadsTemplate} from '../support/templates.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

let here: TestDeployment
let org: Awaited<ReturnType<typeof openOrg>>

const text = {type: 'text' as const, length: 26, unique: true}
const mapped = {
  module: 'Leads',
  fields: [
    {field: 'Last_Name', mode: 'column', source: 'name'},
    {field: 'Import_Key', mode: 'column', source: 'key'},
  ],
}
const flow = {...mapped, fields: mapped.fields.slice(0, 1)}
const csv = 'name,key\nRuiz,1\n'

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['discovery', 'imports']})
  for (const one of [
    {name: 'Import_Key', ...text},
    {name: 'Other_Key', ...text, length: 255},
    {name: 'Short_Key', ...text, length: 25},
    {name: 'Plain_Key', ...text, unique: false},
    {name: 'Mail_Key', ...text, type: 'email' as const, length: 100},
    {name: 'Made_Key', ...text, readOnly: true},
  ])
    here.crm.addField('example', 'Leads', one)
  org = await openOrg(here)
})

const at = (path: string) => `/orgs/${org.org}/config/${path}`
const setField = (idempotencyField: string | null, module = 'Leads') => org.call('PATCH', at(`modules/${module}`), {idempotencyField})

test.serial('a field that cannot keep its values apart is refused with the reason', async t => {
  const refused = {
    Short_Key: /it holds 25 characters, and 26 are needed/,
    Plain_Key: /it does not refuse duplicate values/,
    Mail_Key: /its type is email, and text is needed/,
    Made_Key: /a create cannot set it/,
  }
  for (const [name, why] of Object.entries(refused)) {
    const answer = await setField(name)
    t.like(answer, {status: 409, body: {code: 'FIELD_NOT_UNIQUE'}}, name)
    t.regex(answer.body.error, why)
  }
  const unknown = await setField('No_Key')
  t.like(unknown, {status: 400, body: {code: 'INVALID'}})
  t.deepEqual(unknown.body.issues[0].path, ['idempotencyField'])
})

test.serial('the field is read with the module and in the registry, and its change is in the history', async t => {
  const {module} = await ok(setField('Other_Key'), 200)
  t.is(module.idempotencyField, 'Other_Key')
  const registry = await ok(org.call('GET', at('registry')), 200)
  t.is(registry.modules[0].idempotencyField, 'Other_Key')
  const {changes} = await ok(org.call('GET', at(`changes?connector=${org.connector}`)), 200)
  const [change] = changes.filter(({subject}: any) => subject === 'module.idempotencyField')
  t.like(change, {target: 'leads', before: null, after: 'Other_Key'})
  const {version, ...document} = registry
  await ok(setField(null), 200)
  const without = await ok(org.call('GET', at('registry')), 200)
  t.false('idempotencyField' in without.modules[0], 'documents from before the field existed stay as they were')
  await ok(org.call('PUT', at('registry'), document), 200)
  t.is((await ok(org.call('GET', at('registry')), 200)).modules[0].idempotencyField, 'Other_Key')
  const short = {...document, modules: [{...document.modules[0], idempotencyField: 'Short_Key'}]}
  t.like(await org.call('PUT', at('registry'), short), {status: 409, body: {code: 'FIELD_NOT_UNIQUE'}})
  t.like(await org.call('POST', at('bundle'), {registry: short}), {status: 409, body: {code: 'FIELD_NOT_UNIQUE'}})
  await ok(setField(null), 200)
})

test.serial('a field that an import or a template maps is refused by its name', async t => {
  const {path} = await prepareImport(org, {csv, flow: mapped})
  const refused = await setField('Import_Key')
  t.like(refused, {status: 409, body: {code: 'FIELD_MAPPED'}})
  t.regex(refused.body.error, /^The import "Test" maps Leads\.Import_Key/)
  const {template} = await ok(org.call('POST', `/orgs/${org.org}/templates`, {fromImport: path.split('/').at(-1), name: 'Keys'}), 201)
  await ok(org.call('DELETE', path), 200)
  t.regex((await setField('Import_Key')).body.error, /^The template "Keys" maps Leads\.Import_Key/)
  await ok(org.call('DELETE', `/orgs/${org.org}/templates/${template.id}`), 200)
  await ok(setField('Import_Key'), 200)
})

test.serial('neither a flow nor a template can map the field', async t => {
  await ok(setField('Import_Key'), 200)
  const {path, source} = await prepareImport(org, {csv, flow})
  const refused = await org.call('PUT', `${path}/flows`, [{id: 'f', sourceId: source.id, ...mapped}])
  t.like(refused, {status: 409, body: {code: 'FIELD_MAPPED'}})
  const {template} = await ok(org.call('POST', `/orgs/${org.org}/templates`, {fromImport: path.split('/').at(-1), name: 'Plain'}), 201)
  const {name, connectorId, sources, flows} = (await ok(org.call('GET', `/orgs/${org.org}/templates/${template.id}`), 200)).template
  const body = {name, connectorId, sources, flows: [{...flows[0], fields: mapped.fields}]}
  t.like(await org.call('PUT', `/orgs/${org.org}/templates/${template.id}`, body), {status: 409, body: {code: 'FIELD_MAPPED'}})
  const pushed = {templates: [{...body, name: 'Pushed'}]}
  t.like(await org.call('POST', at('bundle'), pushed), {status: 409, body: {code: 'FIELD_MAPPED'}}, 'a bundle without a registry')
  const checked = await validateTemplate(here.db, {org: org.org, document: body})
  t.like(checked, {valid: false, issues: [{path: 'flows.0.fields.1.field'}]})
})

test.serial('a bundle can set the field and replace the shared templates that map it', async t => {
  await ok(setField('Import_Key'), 200)
  const registry = await ok(org.call('GET', at('registry')), 200)
  await ok(setField(null), 200)
  const [plain] = leadsTemplate().flows
  const mapping = {...plain, fields: [...plain!.fields, {field: 'Import_Key', mode: 'column', source: 'mail', empty: 'leave'}]}
  const templatesOf = (flow: object) => [
    leadsTemplate({name: 'With a connection', connectorId: org.connector, flows: [flow]}),
    leadsTemplate({name: 'Without a connection', flows: [flow]}),
  ]
  const push = (bundle: object) => org.call('POST', at('bundle'), bundle)
  await ok(push({templates: templatesOf(mapping)}), 200)
  const [unmapped, stillMapped] = [templatesOf(plain!)[0], templatesOf(mapping)[1]]
  for (const templates of [[], [unmapped], [unmapped, stillMapped], templatesOf(mapping)])
    t.like(await push({registry, templates}), {status: 409, body: {code: 'FIELD_MAPPED'}}, `${templates.length}`)
  await ok(push({registry, templates: templatesOf(plain!)}), 200)
  t.is((await ok(org.call('GET', at('registry')), 200)).modules[0].idempotencyField, 'Import_Key')
})

test.serial('a flow gets no default mapping of the field', async t => {
  await ok(setField(null), 200)
  const defaultMapping = {mode: 'column', source: 'key'}
  await ok(org.call('PATCH', at('fields/Leads/Import_Key'), {defaultMapping}), 200)
  const listFields = async (): Promise<string[]> => {
    const {path, source} = await prepareImport(org, {csv, flow})
    const {flows} = await ok(org.call('PUT', `${path}/flows`, [{id: 'new', sourceId: source.id, ...flow}]), 200)
    await ok(org.call('DELETE', path), 200)
    return flows[0].fields.map(({field}: {field: string}) => field)
  }
  t.deepEqual(await listFields(), ['Last_Name', 'Import_Key'])
  await ok(setField('Import_Key'), 200)
  t.deepEqual(await listFields(), ['Last_Name'])
  await ok(org.call('PATCH', at('fields/Leads/Import_Key'), {defaultMapping: null}), 200)
})

test.serial('a mapping that skips the field does not map it', async t => {
  await ok(setField(null), 200)
  const skipped = {...flow, fields: [...flow.fields, {field: 'Import_Key', mode: 'skip'}]}
  const {path, source} = await prepareImport(org, {csv, flow: skipped})
  await ok(setField('Import_Key'), 200)
  t.like(await org.call('PUT', `${path}/flows`, [{id: 'f', sourceId: source.id, ...skipped}]), {status: 200})
})

test.serial('a flow that was stored before the field was set does not run', async t => {
  await ok(setField(null), 200)
  const {path} = await prepareImport(org, {csv, flow: mapped})
  // An older process, which does not know the setting, could store a flow that maps the field. This statement produces that state.
  await here.db.query(sql.unsafe`update curated_modules set idempotency_field = 'Import_Key' where org_id = ${org.org}`)
  t.like(await org.call('POST', `${path}/runs`, {}), {status: 409, body: {code: 'FIELD_MAPPED'}})
})

test.serial('the key of the values is sealed, and resealing it changes no value', async t => {
  await here.db.query(sql.unsafe`update curated_modules set idempotency_field = 'Other_Key' where org_id = ${org.org}`)
  const {run} = await runImport(org, {csv, flow})
  const [record] = here.crm.records('example', 'Leads').filter(one => one.Other_Key)
  const ring = here.config.SECRETS_KEYS
  const derive = async (ring: KeyRing) => (await openIdempotencyValues({db: here.db, ring}, {org: org.org, run: run.id}))('Leads', 'f.1')
  t.is(await derive(ring), record!.Other_Key)
  const sealed = await findIdempotencyKey(here.db, org.org)
  t.true(sealed!.startsWith(`v1.${ring[0]!.id}.`))
  const rotated = [{id: 'new', key: randomBytes(32)}, ...ring]
  t.deepEqual(await resealIdempotencyKeys({db: here.db, ring: rotated, log: openLog('test', 'silent')}), {resealed: 1, remaining: 0})
  t.is(await derive(rotated.slice(0, 1)), record!.Other_Key)
})
