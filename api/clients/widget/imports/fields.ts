import {t} from '../text/mapping.ts'
import type {Mapping} from './import.ts'

export type Module = {
  connectorId: string
  apiName: string
  label: string | null
  singular: string | null
  crmSingular: string | null
  kind: 'default' | 'custom' | 'subform' | null
  creatable: boolean
  /** Position in the order of the org. Null: not configured. */
  order: number | null
  /** False: imports into the module are refused. Null: not decided. */
  enabled: boolean | null
  match: {by: string[]; onOne?: 'update' | 'skip' | 'create'; onMany?: 'ask' | 'first' | 'skip'} | null
  removed: boolean
  layouts: {id: string; name: string}[]
  assignmentRules: {id: string; name: string}[]
  hasWriteOptions: boolean
}
export type Option = {display: string; actual: string; unused?: true}

/** Returns the options of a picklist field. Options that no layout offers come last. */
export const choicesOf = ({picklist}: {picklist: Option[]}) =>
  [...picklist]
    .sort((one, other) => Number(one.unused ?? false) - Number(other.unused ?? false))
    .map(({display, unused}) => ({value: display, label: unused ? t.noLongerOffered(display) : display}))

/** Returns the display value of a picklist option that a mapping stores. Earlier versions of Lading stored the actual value. */
export const chosenOf = ({picklist}: {picklist: Option[]}, value: string) =>
  (picklist.find(({display}) => display === value) ?? picklist.find(({actual}) => actual === value))?.display ?? value
export type Field = {
  apiName: string
  label: string
  type: string
  length: number | null
  required: boolean
  unique: {caseSensitive: boolean} | null
  creatable: boolean
  readOnly: boolean
  picklist: Option[]
  jsonType: string | null
  lookup: {module: string} | null
  subform: {module: string} | null
  excluded: boolean
  annotation: {description?: string; excluded?: boolean; defaultMapping?: Partial<Mapping>} | null
}

const computed = ['formula', 'rollup_summary', 'autonumber']
const writable = [
  'text',
  'textarea',
  'richtext',
  'richtextarea',
  'phone',
  'email',
  'website',
  'picklist',
  'multiselectpicklist',
  'boolean',
  'integer',
  'bigint',
  'long',
  'double',
  'percent',
  'currency',
  'date',
  'datetime',
  'time',
]
const userTypes = ['ownerlookup', 'userlookup']

export const isFillable = (field: Field): boolean =>
  field.creatable && !field.readOnly && !computed.includes(field.type) && isWritable(field)

/** Whether imports support the field's type. The API applies the same rule. */
const isWritable = ({apiName, type, jsonType, lookup}: Field): boolean => {
  if (jsonType === 'jsonarray') return type === 'multiselectpicklist' || (apiName === 'Tag' && type === 'text')
  if (type === 'lookup' || userTypes.includes(type)) return lookup?.module !== 'se_module'
  return jsonType !== 'jsonobject' && writable.includes(type)
}
export const isUserLink = ({type}: Field): boolean => userTypes.includes(type)
export const isLink = (field: Field): boolean => field.type === 'lookup' || isUserLink(field)
export const isPicklist = ({type}: Field): boolean => type === 'picklist' || type === 'multiselectpicklist'

export const nameOfModule = ({label, apiName}: Pick<Module, 'label' | 'apiName'>): string => label ?? apiName
