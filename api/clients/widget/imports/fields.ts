import type {Mapping} from './import.ts'

/** A module as the list of modules has it, and a field with what the org says of it. */
export type Module = {
  connectorId: string
  apiName: string
  label: string | null
  singular: string | null
  crmSingular: string | null
  kind: 'default' | 'custom' | 'subform' | null
  creatable: boolean
  enabled: boolean
  removed: boolean
}
export type Option = {display: string; actual: string; unused?: true}

/** The choices for a picklist field. Options that no layout offers any more come last. */
export const choicesOf = ({picklist}: {picklist: Option[]}) =>
  [...picklist]
    .sort((one, other) => Number(one.unused ?? false) - Number(other.unused ?? false))
    .map(({display, unused}) => ({value: display, label: unused ? `${display} (no longer offered)` : display}))

/** The choice a stored value stands for: an earlier version stored actual values. */
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
  annotation: {description?: string; excluded?: boolean; defaultMapping?: Partial<Mapping>} | null
}

const computed = ['formula', 'rollup_summary', 'autonumber']
const texts = ['text', 'textarea', 'richtext', 'richtextarea', 'phone', 'email', 'website', 'picklist', 'date', 'datetime', 'time']
const numbers = ['integer', 'bigint', 'long', 'double', 'percent', 'currency', 'boolean']
const userTypes = ['ownerlookup', 'userlookup']

/** Whether a mapping may write it at all. */
export const isFillable = (field: Field): boolean =>
  field.creatable && !field.readOnly && !computed.includes(field.type) && isWritable(field)

/** Whether the import knows in which shape the CRM takes the field. The API decides the same when it checks a flow. */
const isWritable = ({type, jsonType, lookup}: Field): boolean => {
  if (type === 'multiselectpicklist') return true
  if (jsonType === 'jsonarray') return false
  if (type === 'lookup' || userTypes.includes(type)) return lookup?.module !== 'se_module'
  return jsonType !== 'jsonobject' && (texts.includes(type) || numbers.includes(type))
}
export const isUserLink = ({type}: Field): boolean => userTypes.includes(type)
export const isLink = (field: Field): boolean => field.type === 'lookup' || isUserLink(field)
export const isPicklist = ({type}: Field): boolean => type === 'picklist' || type === 'multiselectpicklist'

export const nameOfModule = ({label, apiName}: Pick<Module, 'label' | 'apiName'>): string => label ?? apiName
