/** The type of a field in the CRM's metadata. */
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
  /** Described as text in the metadata, but read and written as a list of names. */
  | 'tag'

/** A computed value: joined texts (`Full_Name`) or multiplied numbers. */
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
  /** Whether a create and an update may set the field. By default, the type and `readOnly` decide. */
  writable?: {create: boolean; update: boolean}
  /** Whether the field is on no layout of the user. */
  unused?: boolean
  /** Whether the layout Standard requires the field. Writes of records check this only if a record names its `Layout`, bulk creates always. */
  layoutRequired?: boolean
  options?: (string | {display: string; actual: string; unused?: boolean})[]
  /** The module to which a lookup points. */
  lookup?: string
  subform?: {module: string; columns: FieldSpec[]}
  /** A multi-select lookup: the linking module, the module to which it points, and the field of the linking module. */
  links?: {module: string; to: string; field: string}
  autoNumber?: {prefix?: string; suffix?: string; start?: number}
  formula?: Formula
  /** Whether the text is rich: list reads cut it to 500 characters. */
  rich?: boolean
  default?: unknown
  /** Whether the field is encrypted: COQL can only test whether it is empty, unless it is a number. */
  encrypted?: boolean
  /** Metadata that replaces what the simulator derives from the type. */
  describedAs?: {data_type?: string; json_type?: string; lookup?: object}
  custom?: boolean
}

export type ModuleKind = 'default' | 'custom' | 'web' | 'linking' | 'subform' | 'static_subform' | 'field_tracker' | 'picklisttracker'

/** A layout besides Standard. `without`: fields that it does not have. `required`: fields that it requires. */
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
  /** The field by which an upsert without duplicate fields finds records: Email for leads, Name for custom modules. */
  duplicateField?: string
  status?: 'visible' | 'user_hidden' | 'system_hidden' | 'scheduled_for_deletion'
  apiSupported?: boolean
  creatable?: boolean
  editable?: boolean
  deletable?: boolean
  convertable?: boolean
  parent?: string
  /** False: the module has only its `layouts`. */
  standardLayout?: boolean
  layouts?: LayoutSpec[]
  assignmentRules?: AssignmentRuleSpec[]
}

/** A profile. `clone`: whether it is a copy, not an original profile. `without`: missing permissions, such as `Crm_Implied_Api_Access`. */
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
  /** Fixed ids by the names that `namedId` uses. */
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

/** The default lengths. None is zero, because the vendor's SDK ignores a field of length zero. */
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
