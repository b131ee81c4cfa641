import type {Field} from './fields.ts'
import {isOnLayout, isRequiredBy, type Layout, listLayouts} from './layouts.ts'
import {type Module, rowsModule} from './modules.ts'
import {namedId, type Org} from './org.ts'
import {jsonTypes} from './schema.ts'

export const describeField = (org: Org, module: Module, field: Field) => {
  const {spec} = field
  const label = spec.label ?? spec.name.replaceAll('_', ' ')
  const isUsed = !spec.unused
  const isReadOnly = spec.writable ? Boolean(spec.readOnly) : !field.creatable
  return {
    ...unchanging,
    id: field.id,
    api_name: spec.name,
    field_label: label,
    display_label: label,
    column_name: spec.name.toUpperCase(),
    data_type: spec.type === 'tag' ? 'text' : spec.type,
    json_type: spec.formula && 'multiply' in spec.formula ? 'double' : jsonTypes[spec.type],
    length: field.length,
    decimal_place: decimals(field),
    system_mandatory: Boolean(spec.mandatory),
    read_only: isReadOnly,
    field_read_only: isReadOnly,
    custom_field: Boolean(spec.custom),
    created_source: 'default',
    visible: isUsed,
    type: isUsed ? 'used' : 'unused',
    display_field: module.naming?.name === spec.name,
    unique: spec.unique ? {case_sensitive: spec.unique === 'case-sensitive'} : {},
    searchable: spec.type !== 'subform',
    filterable: spec.type !== 'subform' && spec.type !== 'textarea',
    sortable: spec.type !== 'subform' && spec.type !== 'textarea',
    virtual_field: Boolean(spec.formula),
    mass_update: field.updatable,
    pick_list_values: options(org, module, field),
    lookup: lookup(org, field),
    multiselectlookup: links(org, field),
    associated_module: associated(org, field),
    formula: spec.formula && spec.type === 'formula' ? {return_type: 'multiply' in spec.formula ? 'double' : 'string'} : {},
    auto_number: spec.type === 'autonumber' ? autoNumber(field) : {},
    currency: spec.type === 'currency' ? {rounding_option: 'normal', precision: spec.decimals ?? 2} : {},
    operation_type: {web_update: field.updatable, api_create: field.creatable, web_create: field.creatable, api_update: field.updatable},
    view_type: {view: isUsed, edit: isUsed && field.updatable, quick_create: Boolean(spec.mandatory), create: isUsed && field.creatable},
    default_value: spec.default ?? null,
    layout_associations: listLayouts(org, module)
      .filter(layout => isOnLayout(layout, field))
      .map(({id, name}) => ({name, api_name: name.replaceAll(' ', '_'), id})),
    textarea: spec.type === 'textarea' ? {type: spec.rich ? 'rich_text' : 'small'} : undefined,
    ...(spec.encrypted && {crypt: {mode: 'decryption', encrypt_case: null, status: 1}}),
    ...spec.describedAs,
  }
}

const unchanging = {
  webhook: true,
  colour_code_enabled_by_system: false,
  tooltip: null,
  association_details: null,
  businesscard_supported: true,
  multi_module_lookup: {},
  external: null,
  created_time: null,
  modified_time: null,
  profiles: [],
  separator: false,
  history_tracking_enabled: false,
  history_tracking: null,
  parent_field: null,
  child_fields: [],
  enable_colour_code: false,
  private: null,
  crypt: null,
  range: null,
  display_type: -1,
  ui_type: 1,
  public: false,
  email_parser: {fields_update_supported: false, record_operations_supported: false},
  hipaa_compliance: null,
  hipaa_compliance_enabled: false,
  convert_mapping: {},
  address: null,
  rollup_summary: {},
  pick_list_values_sorted_lexically: false,
  global_picklist: null,
  display_format: null,
  additional_column: null,
  blueprint_supported: true,
}

type LayoutPlace = {layout: Layout; position: number}

export const describeOnLayout = (org: Org, module: Module, field: Field, {layout, position}: LayoutPlace) => {
  const {email_parser: _, layout_associations: __, formula, pick_list_values, ...rest} = describeField(org, module, field)
  const isFormula = 'return_type' in formula
  return {
    ...rest,
    pick_list_values: pick_list_values.map(option => ({...option, maps: []})),
    formula: isFormula
      ? {...formula, expression: '', dynamic: false, stop_compute_conditionally: false, stop_compute_expression: null}
      : {},
    required: Boolean(field.spec.mandatory) || isRequiredBy(layout, field),
    sequence_number: position,
  }
}

const decimals = ({spec}: Field) => (['double', 'currency', 'percent'].includes(spec.type) ? (spec.decimals ?? 2) : null)

const options = (org: Org, module: Module, {spec}: Field) =>
  (spec.options ?? []).map((option, index) => {
    const {display, actual, unused = false} = typeof option === 'string' ? {display: option, actual: option} : option
    return {
      id: namedId(org, `option ${module.name}.${spec.name}=${actual}`),
      display_value: display,
      actual_value: actual,
      reference_value: actual,
      sequence_number: index + 1,
      type: unused ? 'unused' : 'used',
      colour_code: '#658BA8',
    }
  })

const lookup = (org: Org, {spec, id}: Field) => {
  const target = spec.lookup === undefined ? undefined : org.modules.get(spec.lookup)
  if (!target) return {}
  return {
    display_label: target.spec.plural ?? target.name,
    api_name: target.name,
    module: {api_name: target.name, crypt: false, id: target.id},
    id,
  }
}

const links = (org: Org, field: Field) => {
  const {links: to} = field.spec
  if (!to) return {}
  const [linking, target] = [rowsModule(org, field), org.modules.get(to.to)]
  return {
    linking_details: {
      module: {visibility: 0, plural_label: linking.name, api_name: linking.name, id: linking.id},
      lookup_field: {api_name: 'Parent_Id', field_label: 'Parent', id: linking.fields.get('Parent_Id')?.id},
      connected_lookup_field: {api_name: to.field, field_label: to.field, id: linking.fields.get(to.field)?.id},
    },
    connected_details: {
      field: {api_name: field.name, field_label: field.name, id: field.id},
      module: {plural_label: to.to, api_name: to.to, id: target?.id ?? null},
      layouts: [{api_name: 'Standard', id: namedId(org, `layout ${to.to}`)}],
    },
  }
}

const associated = (org: Org, field: Field) => {
  if (field.type !== 'subform') return null
  const child = rowsModule(org, field)
  return {module: child.name, id: child.id}
}

const autoNumber = ({spec, next}: Field) => ({
  prefix: spec.autoNumber?.prefix ?? '',
  suffix: spec.autoNumber?.suffix ?? '',
  start_number: spec.autoNumber?.start ?? next,
})
