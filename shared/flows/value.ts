import type {DiscoveredField} from '../crm/discovered.ts'
import {type Conversion, type Converted, type FieldShape, invalid, type Refused, type Rules, taken, tooLong} from './converted.ts'
import {convertDate, convertMoment, convertTime} from './dates.ts'
import {isRounded, keepsDigits, numberIn, roundTo} from './numbers.ts'
import {convertChoice, convertChoices} from './picklist.ts'

export type {Converted, FieldShape, Rules} from './converted.ts'

/** The clear token: a cell that says "empty this field". */
export const CLEAR = '\\N'

const noRules: Rules = {}

/** A non-empty cell as the CRM takes it for this field, or why not. Nothing ambiguous is guessed. Source of the formats: wire reference 4.3. */
export const convert = (text: string, field: FieldShape, rules: Rules = noRules): Converted => {
  const conversion = CONVERSIONS[field.type]
  return conversion ? conversion(text.trim(), field, rules) : convertText(text, field, rules)
}

/** How a `Date` of the sandbox, whose clock is UTC, says a day. */
const MIDNIGHT = /T00:00:00\.000Z$/

/** What an expression gave, which may be more than text: numbers, booleans, lists and links are taken as they are. */
export const convertValue = (value: unknown, field: FieldShape, rules: Rules = noRules): Converted => {
  if (typeof value === 'string') return convert(field.type === 'date' ? value.replace(MIDNIGHT, '') : value, field, rules)
  if (typeof value === 'boolean') return field.type === 'boolean' ? taken(value) : convert(String(value), field, rules)
  if (typeof value === 'number') return convert(String(value), field, rules)
  if (Array.isArray(value) && field.type === 'multiselectpicklist' && value.every(one => typeof one === 'string'))
    return convertChoices(JSON.stringify(value), field, rules)
  if (LINKS.has(field.type) && typeof value === 'object' && value !== null && 'id' in value && typeof value.id === 'string')
    return convertLink(value.id, field, rules)
  return invalid(field, 'a plain value: text, a number, true or false')
}

const convertText: Conversion = (text, field) => (field.length && text.length > field.length ? tooLong(field, text.length) : taken(text))

/** The digits of what looks like a number in this column, or why not. */
const digitsOf = (text: string, field: FieldShape, {reading}: Rules, expected: string): string | Refused => {
  const digits = numberIn(text, reading)
  if (digits === null) return invalid(field, expected)
  if (digits === 'ambiguous') {
    const message = `${field.apiName} takes a number, and this one can be read in two ways: choose the column's decimal mark`
    return {ok: false, code: 'AMBIGUOUS_VALUE', message}
  }
  if (reading?.as === 'text' && /^[+-]?0\d/.test(digits)) return invalid(field, 'a number, which would lose the zeros that were to be kept')
  if (!field.length || digits.length <= field.length) return digits
  const whole = digits.replace(/^[+-]?0*/, '').search(/[.e]|$/i)
  return whole > field.length ? tooLong(field, whole, 'digits') : digits
}

const convertInteger: Conversion = (text, field, rules) => {
  const digits = digitsOf(text, field, rules, 'a whole number')
  if (typeof digits !== 'string') return digits
  const value = Number(digits)
  return Number.isSafeInteger(value) && !/[.e]/i.test(digits) ? taken(value || 0) : invalid(field, 'a whole number')
}

/** Kept as text: the CRM's own long numbers pass 2^53 and are read as strings. */
const convertLong: Conversion = (text, field, rules) => {
  const expected = 'a whole number of at most 19 digits'
  const digits = digitsOf(text, field, rules, expected)
  if (typeof digits !== 'string') return digits
  const [, sign = '', number] = /^([+-]?)0*(\d{1,19})$/.exec(digits) ?? []
  if (number === undefined) return invalid(field, expected)
  return taken(sign === '-' && number !== '0' ? `-${number}` : number)
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
  // Rounding may make a digit more.
  if (field.length && Math.abs(value) >= 10 ** field.length) return tooLong(field, field.length + 1, 'digits')
  return isRounded(digits, places, value) ? {ok: true, value, rounded: true} : taken(value)
}

/** A sign of the currency, or per cent, around what a file has: it says what the field is, not how much. */
const convertAmount =
  (sign: RegExp): Conversion =>
  (text, field, rules) =>
    convertDecimal(rules.reading ? withoutSign(text, sign) : text, field, rules)

const withoutSign = (text: string, sign: RegExp) => {
  if (sign.test(text.slice(-1))) return text.slice(0, -1).trimEnd()
  return sign.test(text.slice(0, 1)) ? text.slice(1).trimStart() : text
}

const WORDS = new Map([
  ['true', true],
  ['yes', true],
  ['1', true],
  ['false', false],
  ['no', false],
  ['0', false],
])

const convertBoolean: Conversion = (text, field) => {
  const value = WORDS.get(text.toLowerCase())
  return value === undefined ? invalid(field, 'true or false (also yes, no, 1, 0)') : taken(value)
}

const convertEmail: Conversion = (text, field, rules) =>
  isEmail(text) ? convertText(text, field, rules) : invalid(field, 'an e-mail address')

/** Something, an @ and a host with a point inside, without blanks. In one pass: a cell may have a million characters. */
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

const convertLink: Conversion = (text, field) => (/^\d{10,25}$/.test(text) ? taken({id: text}) : invalid(field, "a record's id"))

/** Links to people. An e-mail address is looked up among the CRM's users before it gets here. */
export const USERS = new Set(['ownerlookup', 'userlookup'])
export const LINKS = new Set(['lookup', ...USERS])

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
}

const TEXTS = ['text', 'textarea', 'richtext', 'richtextarea', 'phone']

/**
 * Whether a value of a column can be sent in the shape that the field takes. A type that is not known here is read-only, and so is a text that
 * the CRM takes as a list or an object, such as `Tag`. Source: the types in the vendor's SDK, lib/utils/util/utility.js.
 */
export const isWritable = ({type, jsonType, lookup}: Pick<DiscoveredField, 'type' | 'jsonType' | 'lookup'>): boolean => {
  if (!TEXTS.includes(type) && !Object.hasOwn(CONVERSIONS, type)) return false
  if (jsonType === 'jsonarray') return type === 'multiselectpicklist'
  // `What_Id` links to any of several modules, and takes the module beside the id.
  return jsonType === 'jsonobject' ? LINKS.has(type) && lookup?.module !== 'se_module' : true
}
