import test from 'ava'
import {describeModules, listModules} from '../../../shared/crm/metadata.ts'

const module = (more: object = {}) => ({
  id: '21',
  api_name: 'Leads',
  singular_label: 'Lead',
  plural_label: 'Leads',
  generated_type: 'default',
  api_supported: true,
  creatable: true,
  editable: true,
  visible: true,
  status: 'visible',
  display_field: {api_name: 'Full_Name', id: '9'},
  ...more,
})
const field = (more: object = {}) => ({
  api_name: 'Email',
  field_label: 'E-mail',
  data_type: 'email',
  json_type: 'string',
  length: 100,
  decimal_place: null,
  system_mandatory: false,
  read_only: false,
  field_read_only: false,
  visible: true,
  type: 'used',
  display_field: false,
  unique: {},
  pick_list_values: [],
  lookup: {},
  associated_module: null,
  operation_type: {web_update: true, api_create: true, web_create: true, api_update: true},
  ...more,
})
const describe = (more: object, layouts: unknown[] = []) =>
  describeModules([{json: module(), fields: [field(more)], layouts}])[0]!.fields[0]!
const name = (more: object, fields: object[] = []) =>
  describeModules([{json: module(more), fields: fields.map(field), layouts: []}])[0]!.namingField

test('modules with customer rows are listed, also hidden ones', t => {
  const kinds = ['default', 'custom', 'subform', 'linking', 'web', 'field_tracker', 'picklisttracker', 'static_subform']
  const listed = listModules([
    ...kinds.map(kind => module({api_name: kind, generated_type: kind})),
    module({api_supported: false}),
    null,
    'x',
  ])
  t.deepEqual(
    listed.map(({apiName}) => apiName),
    ['default', 'custom', 'subform'],
  )
  t.is(listModules([module({visible: false, status: 'user_hidden'})]).length, 1)
})

test('a field is described in the terms of this product', t => {
  t.deepEqual(describe({unique: {case_sensitive: false}}), {
    apiName: 'Email',
    label: 'E-mail',
    type: 'email',
    jsonType: 'string',
    length: 100,
    decimalPlaces: null,
    required: false,
    layoutRequired: false,
    unique: {caseSensitive: false},
    creatable: true,
    updatable: true,
    readOnly: false,
    visible: true,
    picklist: [],
    lookup: null,
    subform: null,
  })
})

test('the unique flag has three notations', t => {
  t.is(describe({unique: {}}).unique, null)
  t.is(describe({unique: null}).unique, null)
  t.deepEqual(describe({unique: {case_sensitive: true}}).unique, {caseSensitive: true})
  t.deepEqual(describe({unique: {casesensitive: 'true'}}).unique, {caseSensitive: true})
})

test('a field may be closed to creates, to updates or to both', t => {
  t.like(describe({operation_type: {api_create: false, api_update: true}}), {creatable: false, updatable: true, readOnly: false})
  t.like(describe({operation_type: {api_create: true, api_update: false}}), {creatable: true, updatable: false})
  t.like(describe({field_read_only: true}), {creatable: false, updatable: false, readOnly: true})
  t.like(describe({read_only: true}), {creatable: false, updatable: false, readOnly: true})
})

test('a field required by a layout is not required by the module', t => {
  const layouts = [{sections: [{fields: [{api_name: 'Phone', required: true}]}, {fields: [{api_name: 'Email', required: true}]}]}, {}]
  t.like(describe({}, layouts), {required: false, layoutRequired: true})
  t.like(describe({system_mandatory: true}), {required: true, layoutRequired: false})
  const [sections] = layouts.map(layout => layout.sections)
  t.like(describe({}, [{status: 'inactive', sections}]), {layoutRequired: false})
  t.like(describe({}, [{sections: sections!.map(section => ({...section, isSubformSection: true}))}]), {layoutRequired: false})
})

test('active layouts are described with the fields that only they require', t => {
  const sections = [
    {
      fields: [
        {api_name: 'Email', required: true},
        {api_name: 'Last_Name', required: true, system_mandatory: true},
        {api_name: 'Phone', required: false},
      ],
    },
    {isSubformSection: true, fields: [{api_name: 'Quantity', required: true}]},
  ]
  const layouts = [
    {id: '31', name: 'Standard', display_label: 'Standard', status: 'active', sections},
    {id: '32', name: 'Old', status: 'inactive', sections},
    {sections},
  ]
  const rules = [{id: '41', name: 'By region'}, null]
  const described = (more: object) => describeModules([{json: module(), fields: [], layouts: [], ...more}])[0]!
  t.deepEqual(described({layouts}).layouts, [{id: '31', name: 'Standard', fields: ['Email', 'Last_Name', 'Phone'], required: ['Email']}])
  t.deepEqual(described({assignmentRules: rules}).assignmentRules, [{id: '41', name: 'By region'}])
  t.false('assignmentRules' in described({assignmentRules: null}))
})

test('a picklist keeps both values of each option, and marks those that no layout offers', t => {
  const values = [
    {display_value: 'Fresh', actual_value: 'New', type: 'used'},
    {display_value: 'Plain'},
    {display_value: 'Retired', actual_value: 'Retired', type: 'unused'},
  ]
  t.deepEqual(describe({data_type: 'picklist', pick_list_values: values}).picklist, [
    {display: 'Fresh', actual: 'New'},
    {display: 'Plain', actual: 'Plain'},
    {display: 'Retired', actual: 'Retired', unused: true},
  ])
})

test('lookups and subforms name their module in every notation of the API versions', t => {
  t.deepEqual(describe({lookup: {module: {api_name: 'Accounts', id: '1'}}}).lookup, {module: 'Accounts'})
  t.deepEqual(describe({lookup: {module: 'Accounts'}}).lookup, {module: 'Accounts'})
  t.deepEqual(describe({data_type: 'subform', associated_module: {module: 'Lines', id: '1'}}).subform, {module: 'Lines'})
  t.deepEqual(describe({data_type: 'subform', subform: {module: 'Lines', id: '1'}}).subform, {module: 'Lines'})
})

test('a subform is placed by the field of its parent, and cannot be written by itself', t => {
  const modules = describeModules([
    {
      json: module({api_name: 'Orders'}),
      fields: [field({api_name: 'Lines', data_type: 'subform', associated_module: {module: 'Order_Lines'}})],
      layouts: [],
    },
    {json: module({api_name: 'Order_Lines', generated_type: 'subform'}), fields: [], layouts: []},
  ])
  t.like(modules[1], {kind: 'subform', subformOf: {module: 'Orders', field: 'Lines'}, creatable: false, editable: false})
  t.is(modules[0]!.subformOf, null)
})

test('the naming field is the flagged field, or else the one that the module names', t => {
  t.is(name({}, [{api_name: 'Last_Name', display_field: true}]), 'Last_Name')
  t.is(name({}), 'Full_Name')
  t.is(name({display_field: 'Deal_Name'}), 'Deal_Name')
  t.is(name({display_field: null}), null)
})

test('a hidden module is kept and marked', t => {
  t.is(describeModules([{json: module({visible: false}), fields: [], layouts: []}])[0]!.visible, false)
  t.is(describeModules([{json: module({status: 'user_hidden'}), fields: [], layouts: []}])[0]!.visible, false)
})
