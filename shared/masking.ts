import type {AiSamplePolicy} from './registry/settings.ts'

/** What is left of a value: itself, its shape, or null for nothing. */
type Masked = unknown

/**
 * A value as it may leave the server. Personal data leaves as its shape at most, whatever the policy: `allow` lets the rest go as it is,
 * `masked` shapes it too, `deny` lets nothing go.
 */
export const mask = (value: unknown, {pii, policy}: {pii: boolean; policy: AiSamplePolicy}): Masked => {
  if (policy === 'deny') return null
  return pii || policy === 'masked' ? shapeOf(value) : value
}

/** What an org says of a column's values: true or false by the annotation of the field they go to, undefined where nobody said. */
export type Personal = Record<string, boolean | undefined>

/**
 * A sample of rows as it may leave the server. A column nobody annotated is personal where one of its values looks so: leave `rows` whole,
 * for a column is judged by all of them.
 */
export const maskRows = (rows: readonly Record<string, unknown>[], {personal, policy}: {personal: Personal; policy: AiSamplePolicy}) => {
  const columns = new Set(rows.flatMap(row => Object.keys(row)))
  const judged = new Map([...columns].map(column => [column, isPersonal(column, rows, personal)]))
  return rows.map(row =>
    Object.fromEntries(Object.entries(row).map(([column, value]) => [column, mask(value, {pii: judged.get(column)!, policy})])),
  )
}

/** One row alone; a whole sample is judged better by `maskRows`. */
export const maskRow = (row: Record<string, unknown>, how: {personal: Personal; policy: AiSamplePolicy}) => maskRows([row], how)[0]!

const isPersonal = (column: string, rows: readonly Record<string, unknown>[], personal: Personal) => {
  const said = Object.hasOwn(personal, column) ? personal[column] : undefined
  return said ?? rows.some(row => Object.hasOwn(row, column) && looksPersonal(row[column]))
}

const longestShape = 40

/**
 * Letters become A and a, digits 9, common marks stay and everything else is a dot: nothing is told of which letters they were. A shape
 * ends after forty characters. Of lists and objects every value is shaped; of true and false nothing is left.
 */
export const shapeOf = (value: unknown): Masked => {
  if (typeof value === 'string') return shapeOfText(value)
  if (typeof value === 'number' || typeof value === 'bigint') return shapeOfText(String(value))
  if (Array.isArray(value)) return value.map(shapeOf)
  if (value instanceof Date) return shapeOfText(value.toISOString())
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, shapeOf(part)]))
  return null
}

const shapeOfText = (text: string) => {
  let shape = ''
  for (const character of text.normalize('NFC')) {
    if (shape.length === longestShape) break
    shape += shapeOfCharacter(character)
  }
  return shape
}

const shapeOfCharacter = (character: string) => {
  if (/\p{Lu}|\p{Lt}/u.test(character)) return 'A'
  if (/\p{L}/u.test(character)) return 'a'
  if (/\p{N}/u.test(character)) return '9'
  return /[ .,;:@+/()_-]/.test(character) ? character : '.'
}

/** Whether a value looks like an address, a telephone number, a bank account or another long number that stands for somebody. */
export const looksPersonal = (value: unknown): boolean => {
  if (Array.isArray(value)) return value.some(looksPersonal)
  if (typeof value === 'object' && value !== null) return Object.values(value).some(looksPersonal)
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'bigint') return false
  // Wide forms of letters and digits are read as the usual ones, and what is not seen is not there.
  const text = String(value)
    .normalize('NFKC')
    .replaceAll(/\p{Cf}/gu, '')
  return EMAIL.test(text) || IBAN.test(text) || hasLongNumber(text)
}

const EMAIL = /[^\s@]@[^\s@]+\.[^\s@]/
/** As accounts are written: in one piece, or in groups of four. */
const IBAN = /\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,4})?\b/i
/** Days and times have as many digits as a telephone number, and say less. */
const DATE =
  /\d{4}-\d{1,2}-\d{1,2}(?:[T ]\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?)?(?:Z|[+-]\d{2}:?\d{2})?|\b\d{1,2}[./-]\d{1,2}[./-]\d{2,4}\b/g
/** Digits in a row, or in groups with a mark between as telephone numbers have them. */
const DIGITS = /\+?\d(?:[ ()/.-]{0,3}\d)*/g
const fewestDigits = 7
/** A number may be an amount as long as it is no longer than this and has no groups. */
const amountDigits = 8

const hasLongNumber = (text: string) => {
  for (const [found] of text.replaceAll(DATE, ' ').matchAll(DIGITS)) {
    const digits = found.replaceAll(/\D/g, '').length
    if (digits < fewestDigits) continue
    if (digits > amountDigits || found.startsWith('+') || /\d[ ()/-]/.test(found)) return true
  }
  return false
}
