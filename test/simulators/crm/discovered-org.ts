import type {DataType, FieldSpec, LayoutSpec, ModuleSpec, OrgSpec} from './schema.ts'
import {defaultLengths, jsonTypes} from './schema.ts'

/** A field as `discovery.json` of a pulled configuration describes it. */
type FieldDescription = {
  apiName: string
  label: string
  type: string
  jsonType: string | null
  length: number | null
  decimalPlaces: number | null
  required: boolean
  layoutRequired: boolean
  unique: {caseSensitive: boolean} | null
  creatable: boolean
  updatable: boolean
  readOnly: boolean
  visible: boolean
  picklist: {display: string; actual: string; unused?: true}[]
  lookup: {module: string} | null
  subform: {module: string} | null
  hasDefault?: true
  unqueryable?: 'encrypted' | 'multiline'
}

export type ModuleDescription = {
  apiName: string
  label: string
  singular: string
  kind: 'default' | 'custom' | 'subform'
  creatable: boolean
  editable: boolean
  visible: boolean
  namingField: string | null
  layouts?: {id: string; name: string; fields: string[]; required: string[]}[]
  assignmentRules?: {id: string; name: string}[]
  fields: FieldDescription[]
}

type DiscoveredOrgInput = {key: string; number: number; email: string; modules: readonly ModuleDescription[]}

/** Returns the spec of an org with the metadata of a discovery. Layouts and assignment rules keep their ids, because flows name them. */
export const specOfDiscovery = ({key, number, email, modules}: DiscoveredOrgInput): OrgSpec => ({
  key,
  companyName: `Import tests ${number}`,
  prefix: String(8_800_000 + number),
  zgid: String(30_000 + number),
  edition: 'enterprise',
  licences: 50,
  timeZone: 'Etc/UTC',
  users: [{email, firstName: 'Tess', lastName: 'Ter', profile: 'Administrator', role: 'CEO'}],
  ids: Object.fromEntries(modules.flatMap(idsOf)),
  modules: modules.filter(({kind}) => kind !== 'subform').map(module => moduleOf(module, modules, email)),
})

const idsOf = ({apiName, layouts = [], assignmentRules = []}: ModuleDescription): [name: string, id: string][] => [
  ...layouts.map(({id, name}): [string, string] => [`layout ${apiName} ${name}`, id]),
  ...assignmentRules.map(({id, name}): [string, string] => [`assignment rule ${apiName} ${name}`, id]),
]

const moduleOf = (module: ModuleDescription, modules: readonly ModuleDescription[], email: string): ModuleSpec => ({
  name: module.apiName,
  singular: module.singular,
  plural: module.label,
  kind: module.kind,
  creatable: module.creatable,
  editable: module.editable,
  ...(!module.visible && {status: 'user_hidden' as const}),
  namingField: module.namingField ?? '',
  ...(module.layouts && {standardLayout: false, layouts: module.layouts.map(layout => layoutOf(module, layout))}),
  assignmentRules: (module.assignmentRules ?? []).map(({name}) => ({name, assignTo: email})),
  fields: module.fields.map(field => fieldOf(module, field, modules)),
})

const layoutOf = ({fields}: ModuleDescription, layout: NonNullable<ModuleDescription['layouts']>[number]): LayoutSpec => ({
  name: layout.name,
  without: fields.map(({apiName}) => apiName).filter(name => !layout.fields.includes(name)),
  required: layout.required,
})

const fieldOf = (module: ModuleDescription, field: FieldDescription, modules: readonly ModuleDescription[]): FieldSpec => {
  const type = typeOf(field)
  return {
    name: field.apiName,
    label: field.label,
    type,
    ...(field.length !== null && {length: field.length}),
    ...(field.decimalPlaces !== null && {decimals: field.decimalPlaces}),
    mandatory: field.required,
    ...(field.unique && {unique: field.unique.caseSensitive ? ('case-sensitive' as const) : true}),
    readOnly: field.readOnly,
    writable: {create: field.creatable, update: field.updatable},
    unused: !field.visible,
    layoutRequired: field.layoutRequired && !field.required,
    ...(field.picklist.length > 0 && {options: field.picklist}),
    ...(field.lookup && {lookup: field.lookup.module}),
    ...(type === 'subform' && {subform: {module: field.subform!.module, columns: columnsOf(field.subform!.module, modules)}}),
    ...(type === 'multiselectlookup' && {
      links: {module: `${module.apiName}_X_${field.apiName}`, to: field.lookup?.module ?? module.apiName, field: 'Linked_Record'},
    }),
    ...(field.hasDefault && {default: defaultOf(field, type)}),
    ...(field.unqueryable === 'encrypted' && {encrypted: true}),
    ...joinedName(module, field),
    describedAs: {data_type: field.type, ...(field.jsonType !== null && {json_type: field.jsonType})},
  }
}

/** Returns the simulator's type of a field. A field of an unknown type is stored as text, and the metadata shows its real type. */
const typeOf = ({type, jsonType, subform}: FieldDescription): DataType => {
  if (type === 'subform') return subform ? 'subform' : 'text'
  if (type === 'text' && jsonType === 'jsonarray') return 'tag'
  return type in jsonTypes ? (type as DataType) : 'text'
}

const columnsOf = (name: string, modules: readonly ModuleDescription[]): FieldSpec[] => {
  const rows = modules.find(({apiName}) => apiName === name)
  return rows?.fields.filter(({apiName}) => apiName !== 'Parent_Id').map(field => fieldOf(rows, field, modules)) ?? []
}

/** Returns a default for a field. A discovery says that a default exists, but not its value. */
const defaultOf = ({picklist}: FieldDescription, type: DataType) => {
  if (picklist[0]) return picklist[0].actual
  if (type === 'boolean') return true
  return jsonTypes[type] === 'string' ? 'default'.slice(0, defaultLengths[type]) : 0
}

/** Makes a `Full_Name` that creates cannot set a formula, if the module has both parts of the name. The CRM joins the name from these parts. */
const joinedName = ({fields}: ModuleDescription, {apiName, creatable}: FieldDescription): Partial<FieldSpec> => {
  const parts = ['First_Name', 'Last_Name'].filter(name => fields.some(field => field.apiName === name))
  return apiName === 'Full_Name' && !creatable && parts.length === 2 ? {formula: {join: parts}} : {}
}
