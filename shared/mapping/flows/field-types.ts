import type {DiscoveredField} from '../../crm/discovered.ts'

type DescribedType = Pick<DiscoveredField, 'apiName' | 'type' | 'jsonType' | 'lookup'>

/**
 * Returns the type to which a cell is converted. The CRM's metadata calls a tag field text, but the API sends and takes a list of names.
 * Source: the vendor's SDK, lib/utils/util/utility.js, where `Tag` is a list of `Tag` records; live metadata has json_type `jsonarray`.
 */
export const conversionTypeOf = ({apiName, type, jsonType}: Pick<DescribedType, 'apiName' | 'type' | 'jsonType'>): string =>
  apiName === 'Tag' && type === 'text' && jsonType === 'jsonarray' ? 'tag' : type

/** Types of fields that a column can fill. Source: zoho.com/crm/developer/docs/api/v8/field-meta.html. */
const WRITABLE = new Set([
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
  'lookup',
  'ownerlookup',
  'userlookup',
  'tag',
])

const appends = 'a write adds links and removes none, so a repeated import would link twice'
const reminds = 'it holds a rule of the calendar, not a value'
const uploads = 'it holds files, which an import does not upload'
const severalModules = 'it links to records of several modules, and a cell names no module'

/**
 * Why a column cannot fill a field, by the field's name or type. Sources: the vendor's SDK, lib/utils/util/utility.js; for `appends`, the sample
 * input of the vendor's page Update Records.
 */
const REASONS: Record<string, string> = {
  multiselectlookup: appends,
  multiuserlookup: appends,
  RRULE: reminds,
  ALARM: reminds,
  multireminder: reminds,
  event_reminder: reminds,
  time_range: reminds,
  fileupload: uploads,
  imageupload: uploads,
  profileimage: uploads,
  multi_module_lookup: severalModules,
  se_module: severalModules,
  subform: 'its rows come from a flow of the subform’s own module',
  consent_lookup: 'the CRM stores consent as a separate record',
  linetax: 'the CRM computes taxes from the line items',
  address: 'its parts are separate fields. Map those fields',
  layout: 'the CRM chooses the layout',
  module: 'it names a module of the CRM, not a value',
  Participants: 'it holds people of several modules, and a cell names no module',
  Pricing_Details: 'it holds ranges of prices, not one value',
  Territories: 'the CRM assigns territories by its own call',
}

/**
 * Returns why a column cannot fill a field, in words that follow "cannot fill:", or null if it can. A column cannot fill a field of an
 * unknown type, or a list or object of unknown shape.
 */
export const whyNotWritable = (field: DescribedType): string | null => {
  const type = conversionTypeOf(field)
  const isLink = field.lookup !== null && ['lookup', 'ownerlookup', 'userlookup'].includes(type)
  if (isLink && field.lookup?.module === 'se_module') return severalModules
  const isList = field.jsonType === 'jsonarray' && type !== 'multiselectpicklist' && type !== 'tag'
  const isObject = field.jsonType === 'jsonobject' && !['lookup', 'ownerlookup', 'userlookup'].includes(type)
  if (WRITABLE.has(type) && !isList && !isObject) return null
  const known = REASONS[field.apiName] ?? REASONS[type]
  return known ?? (isList || isObject ? 'it holds a list or an object, not one value' : 'this type is not known')
}
