import {
  type Conversion,
  type ConvertedValue,
  converted,
  type FieldShape,
  invalid,
  type RefusedValue,
  type Rules,
  tooLong,
} from './converted.ts'
import {convertDate, convertMoment, convertTime} from './dates.ts'
import {isRounded, keepsDigits, numberIn, roundTo} from './numbers.ts'
import {convertChoice, convertChoices, convertTags} from './picklist.ts'

export type {ConvertedValue as Converted, FieldShape, Rules} from './converted.ts'

/** The clear token: a cell with this text empties the field. */
export const CLEAR = '\\N'

const noRules: Rules = {}

/**
 * Converts a non-empty cell to the value that the CRM accepts for the field. Ambiguous values are refused, never guessed. Source of the formats:
 * zoho.com/crm/developer/docs/api/v8/field-meta.html.
 */
export const convert = (text: string, field: FieldShape, rules: Rules = noRules): ConvertedValue => {
  const conversion = CONVERSIONS[field.type]
  return conversion ? conversion(text.trim(), field, rules) : convertText(text, field, rules)
}

/** Matches the end of a sandbox `Date` as text if the date has no time of day. The sandbox's clock is UTC. */
const MIDNIGHT = /T00:00:00\.000Z$/

/** Converts the result of an expression, which can be text, a number, a boolean, a list or a link. */
export const convertValue = (value: unknown, field: FieldShape, rules: Rules = noRules): ConvertedValue => {
  if (typeof value === 'string') return convert(field.type === 'date' ? value.replace(MIDNIGHT, '') : value, field, rules)
  if (typeof value === 'boolean') return field.type === 'boolean' ? converted(value) : convert(String(value), field, rules)
  if (typeof value === 'number') return convert(String(value), field, rules)
  if (Array.isArray(value) && LISTS.has(field.type) && value.every(one => typeof one === 'string'))
    return convert(JSON.stringify(value), field, rules)
  if (LINKS.has(field.type) && typeof value === 'object' && value !== null && 'id' in value && typeof value.id === 'string')
    return convertLink(value.id, field, rules)
  return invalid(field, 'a plain value: text, a number, true or false')
}

const convertText: Conversion = (text, field) =>
  field.length && text.length > field.length ? tooLong(field, text.length) : converted(text)

/** Reads a text as a number in the way chosen for its column. Returns the digits, or why the field does not accept the text. */
const digitsOf = (text: string, field: FieldShape, {reading}: Rules, expected: string): string | RefusedValue => {
  const digits = numberIn(text, reading)
  if (digits === null) return invalid(field, expected)
  if (digits === 'ambiguous') {
    const message = `${field.apiName} takes a number, and this one can be read in two ways. Choose the column's decimal mark`
    return {ok: false, code: 'AMBIGUOUS_VALUE', message}
  }
  if (reading?.as === 'text' && /^[+-]?0\d/.test(digits))
    return invalid(field, 'a number, which would lose the leading zeros of this column')
  if (!field.length || digits.length <= field.length) return digits
  const whole = digits.replace(/^[+-]?0*/, '').search(/[.e]|$/i)
  return whole > field.length ? tooLong(field, whole, 'digits') : digits
}

const convertInteger: Conversion = (text, field, rules) => {
  const digits = digitsOf(text, field, rules, 'a whole number')
  if (typeof digits !== 'string') return digits
  const value = Number(digits)
  return Number.isSafeInteger(value) && !/[.e]/i.test(digits) ? converted(value || 0) : invalid(field, 'a whole number')
}

/** Converts a long number to text, because the CRM's long numbers exceed 2^53 and are read as strings. */
const convertLong: Conversion = (text, field, rules) => {
  const expected = 'a whole number of at most 19 digits'
  const digits = digitsOf(text, field, rules, expected)
  if (typeof digits !== 'string') return digits
  const [, sign = '', number] = /^([+-]?)0*(\d{1,19})$/.exec(digits) ?? []
  if (number === undefined) return invalid(field, expected)
  return converted(sign === '-' && number !== '0' ? `-${number}` : number)
}

const convertDecimal: Conversion = (text, field, rules) => {
  const expected = 'a number'
  const digits = digitsOf(text, field, rules, expected)
  if (typeof digits !== 'string') return digits
  const places = field.decimalPlaces ?? null
  if (!Number.isFinite(Number(digits))) return invalid(field, expected)
  if (rules.reading?.as !== 'number' && !keepsDigits(digits, places))
    return invalid(field, 'a number, and this one has more digits than a number keeps')
  const value = roundTo(digits, places)
  // Rounding may add a digit, so the length is checked again.
  if (field.length && Math.abs(value) >= 10 ** field.length) return tooLong(field, field.length + 1, 'digits')
  return isRounded(digits, places, value) ? {ok: true, value, rounded: true} : converted(value)
}

/** In a cell of a file, a `sign` before or after the number is ignored. */
const convertAmount =
  (sign: RegExp): Conversion =>
  (text, field, rules) =>
    convertDecimal(rules.reading ? withoutSign(text, sign) : text, field, rules)

const withoutSign = (text: string, sign: RegExp) => {
  if (sign.test(text.slice(-1))) return text.slice(0, -1).trimEnd()
  return sign.test(text.slice(0, 1)) ? text.slice(1).trimStart() : text
}

export const BOOLEANS = new Map([
  ['true', true],
  ['yes', true],
  ['1', true],
  ['false', false],
  ['no', false],
  ['0', false],
])

const convertBoolean: Conversion = (text, field) => {
  const value = BOOLEANS.get(text.toLowerCase())
  return value === undefined ? invalid(field, 'true or false (also yes, no, 1, 0)') : converted(value)
}

const convertEmail: Conversion = (text, field, rules) =>
  isEmail(text) ? convertText(text, field, rules) : invalid(field, 'an e-mail address')

/**
 * Whether a text is an e-mail address: text, an @ and a host with a point inside, without blanks. Takes one pass, because a cell may have a
 * million characters.
 */
const isEmail = (text: string) => {
  const at = text.indexOf('@')
  return at > 0 && at === text.lastIndexOf('@') && !/[\s,;<>()]/.test(text) && text.slice(at + 2, -1).includes('.')
}

const convertWebsite: Conversion = (text, field, rules) => {
  const host = text.replace(/^(https?|ftp):\/\//i, '')
  const at = host.indexOf('.')
  const isAddress = at > 0 && at < host.length - 1 && !/\s/.test(host) && !host.slice(0, at).includes('/')
  return isAddress ? convertText(text, field, rules) : invalid(field, 'a web address')
}

const convertLink: Conversion = (text, field) => (/^\d{10,25}$/.test(text) ? converted({id: text}) : invalid(field, "a record's id"))

/** Types of fields that link to users. An e-mail address is replaced by the user's id before the conversion. */
export const USERS = new Set(['ownerlookup', 'userlookup'])
export const LINKS = new Set(['lookup', ...USERS])

/** Types of fields with several values. A cell separates them by semicolons, or is a JSON list of texts. */
export const LISTS = new Set(['multiselectpicklist', 'tag'])

const CONVERSIONS: Record<string, Conversion> = {
  integer: convertInteger,
  bigint: convertLong,
  long: convertLong,
  double: convertDecimal,
  percent: convertAmount(/%/),
  currency: convertAmount(/\p{Sc}/u),
  boolean: convertBoolean,
  date: convertDate,
  datetime: convertMoment,
  time: convertTime,
  email: convertEmail,
  website: convertWebsite,
  picklist: convertChoice,
  multiselectpicklist: convertChoices,
  lookup: convertLink,
  ownerlookup: convertLink,
  userlookup: convertLink,
  tag: convertTags,
}
