import test from 'ava'
import {ok} from '../support/importing.ts'
import {discover, openRegistry, usualModules} from '../support/registry.ts'
import {leadsCsv, leadsTemplate, upload} from '../support/templates.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

let house: TestDeployment
test.before(async t => {
  house = await startTestDeployment(t)
})

const options = {automations: true, layout: '31', assignmentRule: '41', tags: ['Fair']}
const templateOf = (more: object) => leadsTemplate({flows: leadsTemplate().flows.map(flow => ({...flow, ...more}))})
const optionsOf = ({automations, layout, assignmentRule, tags}: any) => ({automations, layout, assignmentRule, tags})

test('a bundle, its template, an import of it and a template saved from that import keep the write options', async t => {
  const {call, org, connector, at} = await openRegistry(house)
  const modules = usualModules.map(module => ({
    ...module,
    layouts: [{id: '31', name: 'Standard', fields: module.fields.map(({apiName}) => apiName), required: []}],
    assignmentRules: [{id: '41', name: 'By region'}],
  }))
  await discover(house, org, connector, modules)
  await ok(call('POST', at('bundle'), {templates: [templateOf(options)]}), 200)
  const [{id}] = (await ok(call('GET', `/orgs/${org}/templates`), 200)).templates
  const {template} = await ok(call('GET', `/orgs/${org}/templates/${id}`), 200)
  t.deepEqual(optionsOf(template.flows[0]), options)
  const {import: made} = await ok(call('POST', `/orgs/${org}/imports`, {templateId: id, connectorId: connector}), 201)
  const path = `/orgs/${org}/imports/${made.id}`
  t.deepEqual((await ok(upload(call, path, leadsCsv, 'name=leads.csv&slot=leads'), 201)).filled.issues, [])
  t.deepEqual(optionsOf((await ok(call('GET', path), 200)).import.flows[0]), options)
  const saved = await ok(call('POST', `/orgs/${org}/templates`, {fromImport: made.id, name: 'Saved'}), 201)
  t.deepEqual(optionsOf(saved.template.flows[0]), options)
})

test('a template whose layout the CRM lacks is named when its file arrives', async t => {
  const {call, org, connector, at} = await openRegistry(house)
  await discover(house, org, connector, usualModules)
  await ok(call('POST', at('bundle'), {templates: [templateOf({layout: '31'})]}), 200)
  const [{id}] = (await ok(call('GET', `/orgs/${org}/templates`), 200)).templates
  const {import: made} = await ok(call('POST', `/orgs/${org}/imports`, {templateId: id, connectorId: connector}), 201)
  const {filled} = await ok(upload(call, `/orgs/${org}/imports/${made.id}`, leadsCsv, 'name=leads.csv&slot=leads'), 201)
  t.deepEqual(
    filled.issues.map(({path}: any) => path),
    [[0, 'layout']],
  )
})
