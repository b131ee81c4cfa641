import type {FieldShape} from '../../../shared/mapping/flows/converted.ts'
import {COMPARABLE_TYPES} from '../../../shared/mapping/flows/edits.ts'
import {roundTo} from '../../../shared/mapping/flows/numbers.ts'
import {findOption} from '../../../shared/mapping/flows/picklist.ts'

export type ComparedField = Pick<FieldShape, 'apiName' | 'type' | 'decimalPlaces' | 'picklist'>
type Values = Record<string, unknown>

/**
 * Whether a record has every comparable value that was sent. Ignores values that were sent empty, because the CRM may fill them itself.
 * False if nothing can be compared.
 */
export const isEqual = (fields: readonly ComparedField[], sent: Values, record: Values): boolean => {
  const compared = comparedOf(fields, sent)
  return compared.length > 0 && compared.every(field => agrees(field, sent[field.apiName], record[field.apiName]))
}

/**
 * Whether a record that is not equal may still be the sent one, because an automation or a person changed it. The record must agree in all
 * sent fields of `telling`, and in at least half of the compared values. If no field of `telling` was sent, one field that agrees is
 * enough.
 */
export const isNear = (
  fields: readonly ComparedField[],
  sent: Values,
  record: Values,
  telling: readonly (string | null | undefined)[],
): boolean => {
  const compared = comparedOf(fields, sent)
  const decisiveFields = compared.filter(({apiName}) => telling.includes(apiName))
  const isHeld = (field: ComparedField) => agrees(field, sent[field.apiName], record[field.apiName])
  if (decisiveFields.length === 0) return compared.some(isHeld)
  return decisiveFields.every(isHeld) && 2 * compared.filter(isHeld).length >= compared.length
}

/**
 * Whether values of this field can be compared strictly. Files and lists of records cannot, because the CRM returns them in another shape
 * than they are sent.
 */
export const isComparable = ({type}: Pick<ComparedField, 'type'>): boolean => COMPARABLE_TYPES.has(type)

/**
 * Whether a record already has exactly the values to send, so that a write would change nothing. A value that the record does not show, or may show
 * cut, is treated as different. An empty value equals only an empty value.
 */
export const holdsAll = (fields: readonly ComparedField[], sent: Values, record: Values): boolean =>
  Object.entries(sent).every(([name, value]) => {
    const field = fields.find(({apiName}) => apiName === name)
    const form = field && formOf(field, value)
    return form !== undefined && form === readFormOf(field!, record[name])
  })

/**
 * Returns a text that is equal for values that the CRM treats as the same, to compare a value to write with a read one. An empty value has
 * an empty form. Undefined if the value cannot be compared.
 */
export const formOf = (field: ComparedField, value: unknown): string | undefined =>
  isEmpty(value) ? '' : STRICT_FORMS[field.type]?.(value, field)

/**
 * Returns the form of a value that was read. Undefined for a value that the answer lacks or that cannot be compared, and for a long text
 * that may be cut. Source: zoho.com/crm/developer/docs/api/v8/get-records.html.
 */
export const readFormOf = (field: ComparedField, value: unknown): string | undefined =>
  mayBeCut(field, value) ? undefined : wholeFormOf(field, value)

/** Returns the form of a value that was not cut. Undefined for a value that the answer lacks or that cannot be compared. */
export const wholeFormOf = (field: ComparedField, value: unknown): string | undefined =>
  value === undefined ? undefined : formOf(field, value)

/** Whether a read of several records may show only the beginning of the value. */
export const mayBeCut = (field: Pick<ComparedField, 'type'>, value: unknown): boolean =>
  field.type === 'textarea' && String(value ?? '').length >= richLength

export const comparedOf = (fields: readonly ComparedField[], sent: Values): ComparedField[] =>
  fields.filter(({apiName, type}) => !UNCOMPARED.has(type) && !isEmpty(sent[apiName]))

/** Field types that the CRM fills itself, or returns in another form than they are sent. */
const UNCOMPARED = new Set([
  'autonumber',
  'formula',
  'rollup_summary',
  'subform',
  'multiselectlookup',
  'multiuserlookup',
  'fileupload',
  'imageupload',
  'profileimage',
  // The CRM may omit tags when it returns several records.
  'tag',
])

const isEmpty = (value: unknown) => value === null || value === undefined || value === '' || (Array.isArray(value) && value.length === 0)

const agrees = (field: ComparedField, sent: unknown, read: unknown): boolean => {
  if (field.type === 'boolean') return isTrue(sent) === isTrue(read)
  return !isEmpty(read) && (COMPARISONS[field.type] ?? areTexts)(sent, read, field)
}

type Comparison = (sent: unknown, read: unknown, field: ComparedField) => boolean

/** Whether a checkbox is ticked. The CRM may omit a checkbox that was never ticked. */
const isTrue = (value: unknown) => value === true || value === 'true'

const areTexts: Comparison = (sent, read) => plain(sent) === plain(read)

const plain = (value: unknown) => String(value).normalize('NFC').replace(/\r\n?/g, '\n').trim()

const areFolded: Comparison = (sent, read) => plain(sent).toLowerCase() === plain(read).toLowerCase()

/**
 * The length to which the CRM truncates rich text when it returns several records, even inside a tag. Source:
 * zoho.com/crm/developer/docs/api/v8/get-records.html.
 */
const richLength = 500
/** The maximum number of characters of a rich text, tags included, that are compared after its tags are removed. The limit bounds the cost. */
const longestLookedAt = 8 * richLength

const areRich: Comparison = (sent, read, field) => {
  if (areTexts(sent, read, field)) return true
  const isCut = String(read).length === richLength
  if (!isCut && !isMarked(sent) && !isMarked(read)) return false
  const [one, other] = [strip(plain(sent)), strip(isCut ? plain(read).replace(/<[^>]*$|&\w*$/, '') : plain(read))]
  return other !== '' && (isCut ? one.startsWith(other) : one === other)
}

const isMarked = (value: unknown) => /<\/?[a-z][^<>]*>/i.test(String(value))

const strip = (text: string) => text.slice(0, longestLookedAt).replace(/<[^>]*>|&nbsp;|\s/g, '')

const areNumbers: Comparison = (sent, read, {decimalPlaces}) => {
  const [one, other] = [sent, read].map(value => roundTo(String(value), decimalPlaces ?? null))
  return one === other && !Number.isNaN(one)
}

/** Compares integers that exceed the precision of a number. */
const areLong: Comparison = (sent, read) => String(sent).replace(/^\+/, '') === String(read).replace(/^\+/, '')

const areDays: Comparison = (sent, read) => String(sent).slice(0, 10) === String(read).slice(0, 10)

const areMoments: Comparison = (sent, read) => {
  const [one, other] = [sent, read].map(value => Math.floor(Date.parse(String(value)) / 1000))
  return one === other
}

/** Compares times without their seconds, because the CRM may omit the seconds. */
const areTimes: Comparison = (sent, read) => String(sent).slice(0, 5) === String(read).slice(0, 5)

const areLinks: Comparison = (sent, read) => idIn(sent) === idIn(read)

const idIn = (value: unknown) => String(typeof value === 'object' && value !== null && 'id' in value ? value.id : value)

const areChoices: Comparison = (sent, read, field) => choice(sent, field) === choice(read, field)

/** Returns the actual value of an option. An option has a displayed and an actual value, and either may be sent or returned. */
const choice = (value: unknown, field: ComparedField) => {
  const text = plain(value)
  return findOption(text, field)?.actual ?? text
}

const areSets: Comparison = (sent, read, field) => {
  const [one, other] = [sent, read].map(value => new Set(listIn(value).map(item => choice(item, field))))
  return one!.size === other!.size && one!.isSubsetOf(other!)
}

const listIn = (value: unknown): unknown[] => (Array.isArray(value) ? value : String(value).split(';'))

type Form = (value: unknown, field: ComparedField) => string | undefined

/** Does not normalise Unicode, unlike `plain`. Another encoding of the same characters is a change. */
const exactForm: Form = value => String(value).replace(/\r\n?/g, '\n').trim()

const numberForm: Form = (value, {decimalPlaces}) => {
  const number = roundTo(String(value), decimalPlaces ?? null)
  return Number.isNaN(number) ? undefined : String(number)
}

const momentForm: Form = value => {
  const seconds = Math.floor(Date.parse(String(value)) / 1000)
  return Number.isNaN(seconds) ? undefined : String(seconds)
}

/** A user who was sent by an e-mail address cannot be compared, because the CRM returns the id. */
const linkForm: Form = value => (typeof value === 'object' && 'id' in value! ? String(value.id) : undefined)

const setForm: Form = (value, field) => JSON.stringify([...new Set(listIn(value).map(item => choice(item, field)))].sort())

const longForm: Form = value => String(value).replace(/^\+/, '')

const STRICT_FORMS: Record<string, Form> = {
  text: exactForm,
  email: exactForm,
  phone: exactForm,
  website: exactForm,
  textarea: exactForm,
  date: exactForm,
  boolean: value => (typeof value === 'boolean' ? String(value) : undefined),
  picklist: choice,
  multiselectpicklist: setForm,
  integer: numberForm,
  double: numberForm,
  percent: numberForm,
  currency: numberForm,
  bigint: longForm,
  long: longForm,
  datetime: momentForm,
  time: value => String(value).padEnd(8, ':00').slice(0, 8),
  lookup: linkForm,
  ownerlookup: linkForm,
  userlookup: linkForm,
}

const COMPARISONS: Record<string, Comparison> = {
  email: areFolded,
  website: areFolded,
  textarea: areRich,
  richtext: areRich,
  picklist: areChoices,
  multiselectpicklist: areSets,
  integer: areNumbers,
  double: areNumbers,
  percent: areNumbers,
  currency: areNumbers,
  bigint: areLong,
  long: areLong,
  date: areDays,
  datetime: areMoments,
  time: areTimes,
  lookup: areLinks,
  ownerlookup: areLinks,
  userlookup: areLinks,
}
