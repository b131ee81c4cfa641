import type {DiscoveredField, DiscoveredModule} from './discovered.ts'
import {asObject} from './error.ts'

export type Json = Record<string, unknown>
type ReadModule = {
  json: Json
  fields: unknown[]
  layouts: unknown[]
  /** Null if the CRM refused to list the rules, and for subforms. */
  assignmentRules?: unknown[] | null
  unread?: NonNullable<DiscoveredModule['unread']>
}

const KINDS = ['default', 'custom', 'subform'] as const

/** Returns the default, custom and subform modules with API support. Linking modules, histories and web tabs are left out. */
export const listModules = (modules: unknown[]) =>
  modules.map(asObject).flatMap(json => {
    const kind = json && kindOf(json)
    return kind && json.api_supported === true ? [{json, apiName: text(json.api_name), isSubform: kind === 'subform'}] : []
  })

/** The shapes of the CRM's metadata differ between versions. */
export const describeModules = (modules: ReadModule[]): DiscoveredModule[] => placeSubforms(modules.map(describeModule))

const describeModule = ({json, fields, layouts, assignmentRules, unread}: ReadModule): DiscoveredModule => {
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
    ...(unread && {unread}),
    ...(layouts.length > 0 && {layouts: describeLayouts(layouts)}),
    ...(assignmentRules && {assignmentRules: assignmentRules.map(asObject).flatMap(describeNamed)}),
    fields: known.map(field => describeField(field, required)),
  }
}

const requiredBy = (layouts: unknown[]): Set<string> => {
  const fields = activeOf(layouts).flatMap(fieldsOfLayout)
  return new Set(fields.filter(field => field.required === true).map(field => text(field.api_name)))
}

/** `required`: the fields that only the layout requires, not the module. */
const describeLayouts = (layouts: unknown[]): NonNullable<DiscoveredModule['layouts']> =>
  activeOf(layouts).flatMap(layout =>
    describeNamed(layout).map(named => {
      const fields = fieldsOfLayout(layout)
      const namesOf = (some: Json[]) => [...new Set(some.map(({api_name}) => text(api_name)))].filter(Boolean)
      return {...named, fields: namesOf(fields), required: namesOf(fields.filter(isRequiredHere))}
    }),
  )

/** Source: `status` in the vendor's OpenAPI of layouts. */
const activeOf = (layouts: unknown[]): Json[] =>
  layouts.map(asObject).filter(layout => layout !== null && layout.status !== 'inactive') as Json[]

/**
 * The fields of a subform section are omitted, because they belong to another module. Source: `isSubformSection` in the vendor's OpenAPI of layouts.
 */
const fieldsOfLayout = (layout: Json): Json[] =>
  childrenOf(layout, 'sections')
    .filter(({isSubformSection}) => isSubformSection !== true)
    .flatMap(section => childrenOf(section, 'fields'))

const isRequiredHere = ({required, system_mandatory}: Json) => required === true && system_mandatory !== true

const describeNamed = (json: Json | null): {id: string; name: string}[] =>
  json && text(json.id) ? [{id: text(json.id), name: text(json.display_label) || text(json.name) || text(json.id)}] : []

const childrenOf = (json: unknown, key: string): Json[] => {
  const children = asObject(json)?.[key]
  return Array.isArray(children) ? children.map(asObject).filter(child => child !== null) : []
}

/** Finds the parent field of each subform. The list of modules names only the parent module, but rows are written through its field. */
export const placeSubforms = (modules: DiscoveredModule[]) => {
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
    ...(hasDefault(field) && {hasDefault: true as const}),
    ...describeQueries(field),
  }
}

/** Source: `default_value` in the vendor's OpenAPI of fields. */
const hasDefault = ({default_value: value}: Json) => value !== undefined && value !== null && value !== ''

const MULTILINE = ['textarea', 'richtext', 'richtextarea']
const NUMERIC = ['integer', 'bigint', 'long', 'double', 'percent', 'currency']

/**
 * Returns why a query cannot compare the field, or an empty object. Multi-line texts and encrypted fields cannot be compared, except encrypted
 * numbers. Sources: zoho.com/crm/developer/docs/api/v8/COQL-Limitations.html; `crypt` in the vendor's OpenAPI of fields.
 */
const describeQueries = ({data_type, crypt}: Json): Pick<DiscoveredField, 'unqueryable'> => {
  const type = text(data_type)
  if (asObject(crypt) && !NUMERIC.includes(type)) return {unqueryable: 'encrypted'}
  return MULTILINE.includes(type) ? {unqueryable: 'multiline'} : {}
}

/** An unused option is on no layout, but records may have it and the API accepts it. */
const describeOption = ({display_value, actual_value, type}: Json): DiscoveredField['picklist'][number] => {
  const display = text(display_value)
  return {display, actual: text(actual_value) || display, ...(type === 'unused' && {unused: true})}
}

/** Returns null for `{}`, which means not unique. Older versions write the key as one word and the flag as text. */
const describeUnique = (unique: unknown) => {
  const {case_sensitive, casesensitive} = asObject(unique) ?? {}
  const flag = case_sensitive ?? casesensitive
  return flag === undefined ? null : {caseSensitive: flag === true || flag === 'true'}
}

/** Depending on the version, the name is the value itself or under one of two keys. */
const nameIn = (json: unknown): string | null => {
  if (typeof json === 'string') return json || null
  const {api_name, module} = asObject(json) ?? {}
  return text(api_name) || text(module) || null
}

const kindOf = ({generated_type}: Json) => KINDS.find(kind => kind === generated_type)
const text = (json: unknown) => (typeof json === 'string' ? json : '')
const count = (json: unknown) => (typeof json === 'number' ? json : null)
