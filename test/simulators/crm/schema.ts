/** Types for module schemas as data: seeds and tests describe modules, and `modules.ts` builds them. */
export type DataType =
  | 'text'
  | 'textarea'
  | 'website'
  | 'phone'
  | 'email'
  | 'autonumber'
  | 'profileimage'
  | 'picklist'
  | 'multiselectpicklist'
  | 'integer'
  | 'bigint'
  | 'double'
  | 'percent'
  | 'currency'
  | 'boolean'
  | 'date'
  | 'datetime'
  | 'lookup'
  | 'ownerlookup'
  | 'userlookup'
  | 'multiselectlookup'
  | 'subform'
  | 'formula'
  /** Text in the metadata, and a list of names on the wire. */
  | 'tag'

/** Joined texts (`Full_Name`) or multiplied numbers. */
export type Formula = {join: string[]; by?: string} | {multiply: string[]}

export type FieldSpec = {
  name: string
  type: DataType
  label?: string
  length?: number
  decimals?: number
  mandatory?: boolean
  unique?: boolean | 'case-sensitive'
  readOnly?: boolean
  /** Whether a create and an update may set it, if that does not follow from the type and `readOnly`. */
  writable?: {create: boolean; update: boolean}
  /** On no layout of the user. */
  unused?: boolean
  /** Required by the layout: checked only when a record names its `Layout`. */
  layoutRequired?: boolean
  options?: (string | {display: string; actual: string; unused?: boolean})[]
  /** The module a lookup points at. */
  lookup?: string
  subform?: {module: string; columns: FieldSpec[]}
  /** A multi-select lookup: the linking module, the module it points at, the linking module's field. */
  links?: {module: string; to: string; field: string}
  autoNumber?: {prefix?: string; suffix?: string; start?: number}
  formula?: Formula
  /** Rich text: cut to 500 characters in list reads. */
  rich?: boolean
  default?: unknown
  /** COQL can only test whether the field is empty, unless it is a number. */
  encrypted?: boolean
  /** The metadata that replaces what the simulator derives from the type. */
  describedAs?: {data_type?: string; json_type?: string; lookup?: object}
  custom?: boolean
}

export type ModuleKind = 'default' | 'custom' | 'web' | 'linking' | 'subform' | 'static_subform' | 'field_tracker' | 'picklisttracker'

/** A layout beside Standard. It lacks the fields `without`, and requires the fields `required`. */
export type LayoutSpec = {name: string; without?: string[]; required?: string[]; status?: 'active' | 'inactive'}
/** A rule that assigns a new record to a user. */
export type AssignmentRuleSpec = {name: string; assignTo: string}

export type ModuleSpec = {
  name: string
  singular?: string
  plural?: string
  kind?: ModuleKind
  fields: FieldSpec[]
  namingField?: string
  /** The field that an upsert without fields checks: Email for leads, Name for custom modules. */
  duplicateField?: string
  status?: 'visible' | 'user_hidden' | 'system_hidden' | 'scheduled_for_deletion'
  apiSupported?: boolean
  creatable?: boolean
  editable?: boolean
  deletable?: boolean
  convertable?: boolean
  parent?: string
  /** False: only the `layouts` exist. */
  standardLayout?: boolean
  layouts?: LayoutSpec[]
  assignmentRules?: AssignmentRuleSpec[]
}

/** `clone`: not an original profile of the org. `without`: missing permissions, such as `Crm_Implied_Api_Access`. */
export type ProfileSpec = {name: string; like: 'Administrator' | 'Standard'; clone?: boolean; without?: string[]}

export type UserSpec = {
  email: string
  firstName: string
  lastName: string
  profile?: string
  role?: string
  status?: 'active' | 'inactive' | 'deleted'
  confirmed?: boolean
  timeZone?: string
}

export type Edition =
  | 'free'
  | 'standard'
  | 'professional'
  | 'enterprise'
  | 'ultimate'
  | 'crmplus'
  | 'crmplusstarter'
  | 'zohooneenterprise'
  | 'zohoonestandard'

export type OrgSpec = {
  key: string
  companyName: string
  /** The seven digits at the start of every id of the org. */
  prefix: string
  zgid: string
  type?: 'production' | 'sandbox' | 'developer'
  edition: Edition
  licences: number
  trial?: boolean
  dc?: string
  timeZone?: string
  country?: string
  currency?: {name: string; code: string; symbol: string; locale: string}
  users: UserSpec[]
  /** The profiles besides Administrator and Standard. */
  profiles?: ProfileSpec[]
  modules: ModuleSpec[]
  /** Fixed ids by name (`namedId`). */
  ids?: Record<string, string>
}

export const jsonTypes: Record<DataType, string | null> = {
  text: 'string',
  textarea: 'string',
  website: 'string',
  phone: 'string',
  email: 'string',
  autonumber: 'string',
  profileimage: 'string',
  picklist: 'string',
  multiselectpicklist: 'jsonarray',
  integer: 'integer',
  bigint: 'string',
  double: 'double',
  percent: 'double',
  currency: 'double',
  boolean: 'boolean',
  date: 'string',
  datetime: 'string',
  lookup: 'jsonobject',
  ownerlookup: 'jsonobject',
  userlookup: 'jsonobject',
  multiselectlookup: 'jsonarray',
  subform: 'jsonarray',
  formula: 'string',
  tag: 'jsonarray',
}

/** Never zero, because the vendor's SDK ignores a field of length zero. */
export const defaultLengths: Record<DataType, number> = {
  text: 255,
  textarea: 2000,
  website: 450,
  phone: 30,
  email: 100,
  autonumber: 100,
  picklist: 120,
  integer: 9,
  bigint: 18,
  double: 16,
  percent: 5,
  currency: 16,
  profileimage: 255,
  multiselectpicklist: 765,
  boolean: 5,
  date: 20,
  datetime: 120,
  lookup: 120,
  ownerlookup: 120,
  userlookup: 120,
  multiselectlookup: 255,
  subform: 200,
  formula: 120,
  tag: 2000,
}
