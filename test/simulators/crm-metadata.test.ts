import test from 'ava'
import {callAs, openCrm} from './crm-caller.ts'

const fieldOf = (fields: any[], name: string) => fields.find(field => field.api_name === name)

test('modules have their kind, their permissions and their naming field', async t => {
  const {call} = await openCrm(t)
  const {status, body} = await call('GET', 'settings/modules')
  t.is(status, 200)
  const module = (name: string) => body.modules.find((one: any) => one.api_name === name)
  t.like(module('Leads'), {generated_type: 'default', api_supported: true, creatable: true, singular_label: 'Lead', convertable: true})
  t.like(module('Accounts').display_field, {api_name: 'Account_Name'})
  t.like(module('Orders'), {generated_type: 'custom', visible: true, status: 'visible'})
  t.like(module('Order_Lines'), {generated_type: 'subform', creatable: false, show_as_tab: false, parent_module: {api_name: 'Orders'}})
  t.like(module('Orders_X_Products'), {generated_type: 'linking', creatable: false})
  t.like(module('Audit_Notes'), {status: 'user_hidden', visible: false})
  t.like(module('Visits'), {api_supported: false})
})

test('modules are filtered by status, and an unknown status is refused', async t => {
  const {call} = await openCrm(t)
  const hidden = await call('GET', 'settings/modules?status=user_hidden')
  t.deepEqual(
    hidden.body.modules.map((module: any) => module.api_name),
    ['Audit_Notes'],
  )
  t.is((await call('GET', 'settings/modules?status=scheduled_for_deletion')).status, 204)
  t.like(await call('GET', 'settings/modules?status=gone'), {
    status: 400,
    body: {code: 'INVALID_DATA', details: {param_name: 'status', index: 0}},
  })
})

test('one module is found by name or id, and an unknown one is INVALID_MODULE', async t => {
  const {call} = await openCrm(t)
  const {body} = await call('GET', 'settings/modules/Orders')
  t.is((await call('GET', `settings/modules/${body.modules[0].id}`)).body.modules[0].api_name, 'Orders')
  t.like(await call('GET', 'settings/modules/Nothing'), {status: 400, body: {code: 'INVALID_MODULE', details: {resource_path_index: 2}}})
})

test('the naming field of a module may be an object, a text or null', async t => {
  const {crm, call} = await openCrm(t)
  const read = async () => (await call('GET', 'settings/modules/Accounts')).body.modules[0].display_field
  t.like(await read(), {api_name: 'Account_Name'})
  crm.setSwitches({displayField: 'string'})
  t.is(await read(), 'Account_Name')
  crm.setSwitches({displayField: 'null'})
  t.is(await read(), null)
  const {fields} = (await call('GET', 'settings/fields?module=Accounts')).body
  t.true(fieldOf(fields, 'Account_Name').display_field)
})

test('fields have type, length, uniqueness and write permissions', async t => {
  const {call} = await openCrm(t)
  const {fields} = (await call('GET', 'settings/fields?module=Accounts')).body
  t.like(fieldOf(fields, 'Account_Name'), {data_type: 'text', json_type: 'string', length: 200, system_mandatory: true, unique: {}})
  t.deepEqual(fieldOf(fields, 'Account_Number').unique, {case_sensitive: false})
  t.like(fieldOf(fields, 'Latitude'), {data_type: 'double', decimal_place: 9, custom_field: true})
  t.like(fieldOf(fields, 'Created_Time'), {data_type: 'datetime', read_only: true, operation_type: {api_create: false, api_update: false}})
  t.like(fieldOf(fields, 'Owner'), {data_type: 'ownerlookup', read_only: false})
  t.like(fieldOf(fields, 'Parent_Account').lookup.module, {api_name: 'Accounts'})
})

test('the custom module has a field of every kind', async t => {
  const {call} = await openCrm(t)
  const {fields} = (await call('GET', 'settings/fields?module=Orders')).body
  t.deepEqual(fieldOf(fields, 'Order_Lines').associated_module.module, 'Order_Lines')
  t.like(fieldOf(fields, 'Status').pick_list_values[0], {display_value: 'Fresh', actual_value: 'New', type: 'used'})
  t.like(fieldOf(fields, 'Number'), {data_type: 'autonumber', operation_type: {api_create: false}})
  t.like(fieldOf(fields, 'Total'), {data_type: 'formula', operation_type: {api_create: false}})
  t.like(fieldOf(fields, 'Short'), {length: 10})
  t.like(fieldOf(fields, 'Related_Products').multiselectlookup.linking_details.module, {api_name: 'Orders_X_Products'})
  t.like(fieldOf(fields, 'Secret'), {visible: false, type: 'unused'})
  const types = new Set(fields.map((field: any) => field.data_type))
  for (const type of [
    'multiselectpicklist',
    'integer',
    'bigint',
    'currency',
    'date',
    'datetime',
    'boolean',
    'percent',
    'email',
    'textarea',
    'lookup',
  ]) {
    t.true(types.has(type), type)
  }
})

test('used and unused fields can be requested separately', async t => {
  const {call} = await openCrm(t)
  const unused = await call('GET', 'settings/fields?module=Orders&type=unused')
  t.true(unused.body.fields.some((field: any) => field.api_name === 'Secret'))
  const used = await call('GET', 'settings/fields?module=Orders&type=used')
  t.false(used.body.fields.some((field: any) => field.api_name === 'Secret'))
})

test('a subform has its own fields, including the parent', async t => {
  const {call} = await openCrm(t)
  const {fields} = (await call('GET', 'settings/fields?module=Order_Lines')).body
  t.like(fieldOf(fields, 'Parent_Id'), {data_type: 'lookup', read_only: true, lookup: {module: {api_name: 'Orders'}}})
  t.true(fields.filter((field: any) => field.custom_field).length >= 4)
})

test('one module has more fields than two reads can request', async t => {
  const {call} = await openCrm(t)
  t.true((await call('GET', 'settings/fields?module=Surveys')).body.fields.length >= 120)
})

test('fields without a known module are refused', async t => {
  const {call} = await openCrm(t)
  t.like(await call('GET', 'settings/fields'), {status: 400, body: {code: 'REQUIRED_PARAM_MISSING', details: {param_name: 'module'}}})
  t.like(await call('GET', 'settings/fields?module=Nothing'), {status: 400, body: {code: 'INVALID_MODULE', details: {}}})
})

test('a layout lists its required fields', async t => {
  const {call} = await openCrm(t)
  const {layouts} = (await call('GET', 'settings/layouts?module=Deals')).body
  const required = layouts[0].sections[0].fields.filter((field: any) => field.required).map((field: any) => field.api_name)
  t.deepEqual(required, ['Deal_Name', 'Stage', 'Closing_Date'])
})

test('the org has its edition, licences and type', async t => {
  const {crm, call} = await openCrm(t)
  const [org] = (await call('GET', 'org')).body.org
  t.like(org, {company_name: 'Example Ltd', type: 'production', time_zone: 'Europe/Madrid', iso_code: 'EUR'})
  t.like(org.license_details, {paid: true, paid_type: 'enterprise', users_license_purchased: 12})
  t.regex(org.id, /^\d{19}$/)
  t.is((await callAs(crm, 'zoe@other.example')('GET', 'org')).body.org[0].license_details.paid_type, 'standard')
  t.is((await callAs(crm, 'sam@sandbox.example')('GET', 'org')).body.org[0].type, 'sandbox')
})

test('users are listed by type: the current one, administrators, or all', async t => {
  const {crm, call} = await openCrm(t)
  const emails = async (query: string, as = call) => (await as('GET', `users?${query}`)).body?.users.map((user: any) => user.email)
  t.deepEqual(await emails('type=CurrentUser'), ['ana@example.org'])
  t.deepEqual(await emails('type=CurrentUser', callAs(crm, 'ben@example.org')), ['ben@example.org'])
  t.deepEqual(await emails('type=AdminUsers'), ['ana@example.org', 'eva@example.org'])
  crm.addUser('example', {email: 'eva@example.org', firstName: 'Eva', lastName: 'Lind', status: 'inactive'})
  t.deepEqual(await emails('type=ActiveUsers'), ['ana@example.org', 'ben@example.org'])
  t.deepEqual(await emails('per_page=1&page=2'), ['ben@example.org'])
  t.is((await call('GET', 'users?type=DeletedUsers')).status, 204)
  t.is((await call('GET', 'users/actions/count?type=ActiveUsers')).body.count, '2')
  t.is((await call('GET', 'users?type=Nobody')).status, 400)
})

test('a user is returned with all properties, also by id', async t => {
  const {call} = await openCrm(t)
  const {users, info} = (await call('GET', 'users?type=CurrentUser')).body
  t.like(users[0], {full_name: 'Ana Ruiz', status: 'active', confirm: true, profile: {name: 'Administrator'}, role: {name: 'CEO'}})
  t.deepEqual(info, {per_page: 200, count: 1, page: 1, more_records: false})
  t.is((await call('GET', `users/${users[0].id}`)).body.users[0].email, 'ana@example.org')
  t.is((await call('GET', 'users/1')).status, 204)
})

test('an unknown path is 404 and a wrong method 400, both only with a token', async t => {
  const {crm, call} = await openCrm(t)
  t.like(await call('GET', 'settings/nothing'), {status: 404, body: {code: 'INVALID_URL_PATTERN'}})
  t.like(await call('GET', 'Leads/1/2/3'), {status: 404, body: {code: 'INVALID_URL_PATTERN'}})
  t.like(await call('DELETE', 'org'), {status: 400, body: {code: 'INVALID_REQUEST_METHOD'}})
  t.like(await call('PATCH', 'Leads'), {status: 400, body: {code: 'INVALID_REQUEST_METHOD'}})
  t.is((await fetch(`${crm.url}/crm/v8/settings/nothing`)).status, 401)
})

test('a test can add modules, fields and users', async t => {
  const {crm, call} = await openCrm(t)
  crm.addModule('example', {name: 'Boats', kind: 'custom', fields: [{name: 'Name', type: 'text', mandatory: true}]})
  crm.addField('example', 'Boats', {name: 'Length', type: 'double', decimals: 1})
  t.is((await call('POST', 'Boats', {data: [{Name: 'Ark', Length: 137.25}]})).status, 201)
  t.like(crm.records('example', 'Boats')[0], {Name: 'Ark', Length: 137.3})
  crm.dropField('example', 'Boats', 'Length')
  t.false('Length' in crm.records('example', 'Boats')[0]!)
})
