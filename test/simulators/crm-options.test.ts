import test from 'ava'
import {openCrm} from './crm-caller.ts'

const namesOf = (record: any) => record.Tag.map(({name}: any) => name)

test('a record that names a layout loses the fields outside it, unless a switch keeps them', async t => {
  const {crm, call} = await openCrm(t)
  const layout = crm.addLayout('example', 'Leads', {name: 'Short', without: ['Phone'], required: ['Email']})
  const lead = {Last_Name: 'Ono', Email: 'ono@example.org', Phone: '1'}
  const {body} = await call('POST', 'Leads', {data: [{...lead, Layout: {id: layout}}]})
  const {id} = body.data[0].details
  t.like(crm.record('example', 'Leads', id), {Phone: null, Layout: {id: layout, name: 'Short'}})
  crm.setSwitches({layoutDrops: false})
  await call('PUT', 'Leads', {data: [{id, Phone: '2', Layout: {id: layout}}]})
  t.is(crm.record('example', 'Leads', id)!.Phone, '2')
  const refused = await call('POST', 'Leads', {data: [{Last_Name: 'Ono', Layout: {id: layout}}]})
  t.like(refused.body.data[0], {code: 'MANDATORY_NOT_FOUND', details: {api_name: 'Email'}})
  const unknown = await call('POST', 'Leads', {data: [{...lead, Layout: {id: '1'}}]})
  t.like(unknown.body.data[0], {code: 'INVALID_DATA', details: {api_name: 'Layout'}})
})

test('layouts are listed with their own fields and required fields', async t => {
  const {crm, call} = await openCrm(t)
  const layout = crm.addLayout('example', 'Leads', {name: 'Short', without: ['Phone'], required: ['Email']})
  const {layouts} = (await call('GET', 'settings/layouts?module=Leads')).body
  t.deepEqual(
    layouts.map(({name, status}: any) => [name, status]),
    [
      ['Standard', 'active'],
      ['Short', 'active'],
    ],
  )
  const fields = layouts[1].sections[0].fields
  t.false(fields.some(({api_name}: any) => api_name === 'Phone'))
  t.true(fields.find(({api_name}: any) => api_name === 'Email').required)
  t.is((await call('GET', `settings/layouts/${layout}?module=Leads`)).body.layouts[0].name, 'Short')
})

test('an assignment rule chooses the owner of a created record, and an unknown rule refuses the call', async t => {
  const {crm, call} = await openCrm(t)
  t.is((await call('GET', 'settings/automation/assignment_rules?module=Leads')).status, 204)
  const lar_id = crm.addAssignmentRule('example', 'Leads', {name: 'By region', assignTo: 'ben@example.org'})
  const {assignment_rules} = (await call('GET', 'settings/automation/assignment_rules?module=Leads')).body
  t.like(assignment_rules[0], {id: lar_id, name: 'By region', module: {api_name: 'Leads'}})
  const {body} = await call('POST', 'Leads', {data: [{Last_Name: 'Ono'}], lar_id})
  t.like(crm.record('example', 'Leads', body.data[0].details.id), {Owner: {email: 'ben@example.org'}})
  t.like(await call('POST', 'Leads', {data: [{Last_Name: 'Ono'}], lar_id: '1'}), {status: 400, body: {code: 'INVALID_DATA'}})
  const refused = async (module: string) => (await call('GET', `settings/automation/assignment_rules?module=${module}`)).body.code
  t.deepEqual([await refused('Products'), await refused('Nothing')], ['NOT_SUPPORTED', 'INVALID_MODULE'])
})

test('tags are added once, removed, and overwritten on request', async t => {
  const {crm, call} = await openCrm(t)
  const {body} = await call('POST', 'Leads', {data: [{Last_Name: 'Ono'}, {Last_Name: 'Ito'}]})
  const ids: string[] = body.data.map(({details}: any) => details.id)
  const change = (path: string, more: object) => call('POST', `Leads/${path}`, {ids, ...more})
  const added = await change('actions/add_tags', {tags: [{name: 'Fair'}, {name: 'May'}]})
  t.like(added, {status: 200, body: {success_count: '2', locked_count: '0'}})
  t.like(added.body.data[0], {
    code: 'SUCCESS',
    details: {id: ids[0], tags: [{name: 'Fair'}, {name: 'May'}]},
    message: 'tags updated successfully',
  })
  await change('actions/add_tags', {tags: [{name: 'fair'}]})
  await change(`${ids[1]}/actions/remove_tags`, {tags: [{name: 'May'}]})
  const all = () => ids.map(id => namesOf(crm.record('example', 'Leads', id)))
  t.deepEqual(all(), [['Fair', 'May'], ['Fair']])
  await change('actions/add_tags', {tags: [{name: 'June'}], over_write: true})
  t.deepEqual(all(), [['June'], ['June']])
})

test('tag calls are refused for long names, unknown records and more than 500 records, and cost a credit for 50 records', async t => {
  const {crm, call} = await openCrm(t)
  const post = async (body: object) => call('POST', 'Leads/actions/add_tags', body)
  t.like(await post({ids: ['1'], tags: [{name: 'x'.repeat(26)}]}), {status: 400, body: {tags: [{code: 'INVALID_DATA'}]}})
  t.like(await post({ids: ['1'], tags: [{name: 'x'}]}), {status: 400, body: {data: [{code: 'INVALID_DATA', details: {id: '1'}}]}})
  t.like(await post({ids: Array(501).fill('1'), tags: [{name: 'x'}]}), {status: 400, body: {code: 'LIMIT_EXCEEDED'}})
  const before = crm.credits('example').used
  await post({ids: Array(120).fill('1'), tags: [{name: 'x'}]})
  t.is(crm.credits('example').used - before, 3)
})
