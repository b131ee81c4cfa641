import test from 'ava'
import {assertUnmapped, findUnfit} from '../../../shared/configuration/idempotency-field.ts'
import type {DiscoveredField, DiscoveredModule} from '../../../shared/crm/discovered.ts'

const key: DiscoveredField = {
  apiName: 'Key',
  label: 'Key',
  type: 'text',
  jsonType: 'string',
  length: 26,
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
}
const moduleWith = (more: Partial<DiscoveredField> = {}): DiscoveredModule => ({
  apiName: 'Leads',
  label: 'Leads',
  singular: 'Lead',
  id: '1',
  kind: 'default',
  creatable: true,
  editable: true,
  visible: true,
  subformOf: null,
  namingField: null,
  fields: [{...key, ...more}],
})

test('a unique text field of 26 characters fits, also where the destination states no length', t => {
  t.is(findUnfit(moduleWith(), 'Key'), null)
  t.is(findUnfit(moduleWith({length: null}), 'Key'), null)
})

test('a field that cannot hold or keep apart the values does not fit', t => {
  const wrong = {length: 25, unique: null, type: 'email', creatable: false, readOnly: true}
  for (const [name, value] of Object.entries(wrong)) t.truthy(findUnfit(moduleWith({[name]: value}), 'Key'), name)
  t.truthy(findUnfit(moduleWith(), 'Other'))
  t.truthy(findUnfit(null, 'Key'))
  t.truthy(findUnfit({...moduleWith(), kind: 'subform'}, 'Key'))
})

test('a flow whose layout lacks the field does not fit, because the CRM would drop the value', t => {
  const layouts = [
    {id: 'with', name: 'Sales', fields: ['Key'], required: []},
    {id: 'without', name: 'Partner', fields: ['Last_Name'], required: []},
  ]
  const module = {...moduleWith(), layouts}
  t.is(findUnfit(module, 'Key', [{module: 'Leads'}, {module: 'Leads', layout: 'with'}, {module: 'Deals', layout: 'without'}]), null)
  t.regex(findUnfit(module, 'Key', [{module: 'Leads', layout: 'without'}])!, /the layout Partner, which a flow names, does not have it/)
})

test('only a flow into the field’s module is refused for mapping it', t => {
  const fields = new Map([['Leads', 'Key']])
  t.notThrows(() => assertUnmapped([{module: 'Deals', fields: [{field: 'Key'}]}], fields))
  t.throws(() => assertUnmapped([{module: 'Leads', fields: [{field: 'Key'}]}], fields), {
    message: /^Leads\.Key is the module's idempotency field/,
  })
})
