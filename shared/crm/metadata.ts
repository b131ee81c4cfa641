import type {DiscoveredField, DiscoveredModule} from './discovered.ts'
import {asObject} from './error.ts'

export type Json = Record<string, unknown>
type Read = {json: Json; fields: unknown[]; layouts: unknown[]}

const KINDS = ['default', 'custom', 'subform'] as const

/** Those worth reading: linking modules, histories, web tabs and what the API does not support hold no rows of the customer's. */
export const listModules = (modules: unknown[]) =>
  modules.map(asObject).flatMap(json => {
    const kind = json && kindOf(json)
    return kind && json.api_supported === true ? [{json, apiName: text(json.api_name), isSubform: kind === 'subform'}] : []
  })

/** The CRM's metadata, whose shapes differ between versions, in this product's words. */
export const describeModules = (modules: Read[]): DiscoveredModule[] => placeSubforms(modules.map(describeModule))

const describeModule = ({json, fields, layouts}: Read): DiscoveredModule => {
  const kind = kindOf(json)!
  const apiName = text(json.api_name)
  const known = fields.map(asObject).filter(field => field !== null)
  const required = requiredBy(layouts)
  return {
    apiName,
    label: text(json.plural_label) || apiName,
    singular: text(json.singular_label) || apiName,
    id: text(json.id),
    kind,
    creatable: kind !== 'subform' && json.creatable === true,
    editable: kind !== 'subform' && json.editable === true,
    visible: json.visible !== false && (text(json.status) || 'visible') === 'visible',
    subformOf: null,
    namingField: nameIn(known.find(field => field.display_field === true)) ?? nameIn(json.display_field),
    fields: known.map(field => describeField(field, required)),
  }
}

const requiredBy = (layouts: unknown[]): Set<string> => {
  const fields = layouts.flatMap(layout => childrenOf(layout, 'sections')).flatMap(section => childrenOf(section, 'fields'))
  return new Set(fields.filter(field => field.required === true).map(field => text(field.api_name)))
}

const childrenOf = (json: unknown, key: string): Json[] => {
  const children = asObject(json)?.[key]
  return Array.isArray(children) ? children.map(asObject).filter(child => child !== null) : []
}

/** The module's list says which module a subform belongs to, but only the parent's own field says where its rows are written. */
const placeSubforms = (modules: DiscoveredModule[]) => {
  const places = new Map(
    modules.flatMap(({apiName, fields}) =>
      fields.flatMap(field => (field.subform ? [[field.subform.module, {module: apiName, field: field.apiName}]] : [])),
    ),
  )
  return modules.map(module => ({...module, subformOf: places.get(module.apiName) ?? null}))
}

const describeField = (field: Json, requiredOnLayout: Set<string>): DiscoveredField => {
  const apiName = text(field.api_name)
  const type = text(field.data_type)
  const readOnly = field.read_only === true || field.field_read_only === true
  const operations = asObject(field.operation_type)
  const lookup = nameIn(asObject(field.lookup)?.module)
  const subform = type === 'subform' ? (nameIn(field.associated_module) ?? nameIn(field.subform)) : null
  return {
    apiName,
    label: text(field.field_label) || text(field.display_label) || apiName,
    type,
    jsonType: text(field.json_type) || null,
    length: count(field.length),
    decimalPlaces: count(field.decimal_place),
    required: field.system_mandatory === true,
    layoutRequired: requiredOnLayout.has(apiName),
    unique: describeUnique(field.unique),
    creatable: !readOnly && operations?.api_create !== false,
    updatable: !readOnly && operations?.api_update !== false,
    readOnly,
    visible: field.visible !== false && field.type !== 'unused',
    picklist: childrenOf(field, 'pick_list_values').map(describeOption),
    lookup: lookup === null ? null : {module: lookup},
    subform: subform === null ? null : {module: subform},
  }
}

/** An unused option is on no layout, but records may hold it and the API takes it. */
const describeOption = ({display_value, actual_value, type}: Json): DiscoveredField['picklist'][number] => {
  const display = text(display_value)
  return {display, actual: text(actual_value) || display, ...(type === 'unused' && {unused: true})}
}

/** `{}` is not unique; older versions write the flag in one word and as text. */
const describeUnique = (unique: unknown) => {
  const {case_sensitive, casesensitive} = asObject(unique) ?? {}
  const flag = case_sensitive ?? casesensitive
  return flag === undefined ? null : {caseSensitive: flag === true || flag === 'true'}
}

/** A module's or field's API name, which stands alone or under one of two keys, depending on the version. */
const nameIn = (json: unknown): string | null => {
  if (typeof json === 'string') return json || null
  const {api_name, module} = asObject(json) ?? {}
  return text(api_name) || text(module) || null
}

const kindOf = ({generated_type}: Json) => KINDS.find(kind => kind === generated_type)
const text = (json: unknown) => (typeof json === 'string' ? json : '')
const count = (json: unknown) => (typeof json === 'number' ? json : null)
