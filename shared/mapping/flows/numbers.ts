import type {Reading} from './converted.ts'

const PLAIN = /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i
const EXPONENT = /e/i
/**
 * Matches groups of three digits with one separator, then optionally a decimal mark. The separator is a point, a comma, an apostrophe, or a
 * space (also a thin or no-break one).
 */
const GROUPED = /^[+-]?\d{1,3}(?:([.,' \u00a0\u2009\u202f\u2019])\d{3})(?:\1\d{3})*(?:([.,])\d*)?$/
const SINGLE = /^[+-]?(\d*)([.,])(\d*)$/

/**
 * Returns a number as digits with a decimal point, or null if the text is not a number. Returns `ambiguous` for two possible readings, such as
 * `1.234` in a column without a known decimal mark. Without a reading, as for text that is not from a file, accepts only a decimal point and no
 * groups.
 */
export const numberIn = (text: string, reading: Reading | undefined): string | 'ambiguous' | null => {
  if (/^[+-]?\d+$/.test(text)) return text
  if (!reading) return PLAIN.test(text) ? text : null
  if (EXPONENT.test(text)) return PLAIN.test(text) ? text : null
  const known = reading.decimalMark === undefined ? null : reading.decimalMark === 'point' ? '.' : ','
  const [, whole, mark, fraction] = SINGLE.exec(text) ?? []
  if (mark !== undefined) {
    if (whole === '' && fraction === '') return null
    const couldBeGroup = fraction!.length === 3 && /^[1-9]\d{0,2}$/.test(whole!)
    if (known === mark || (!known && !couldBeGroup)) return text.replace(mark, '.')
    if (!known) return 'ambiguous'
    return couldBeGroup ? text.replace(mark, '') : null
  }
  return ungrouped(text, known)
}

const ungrouped = (text: string, known: '.' | ',' | null) => {
  const [, group, mark] = GROUPED.exec(text) ?? []
  if (group === undefined || group === mark || group === known || (known && mark && mark !== known)) return null
  const digits = text.replaceAll(group, '')
  return mark ? digits.replace(mark, '.') : digits
}

/**
 * Rounds to the field's decimal places, halves away from zero, as the CRM does. The arithmetic is decimal: 1.005 becomes 1.01. Numbers with
 * an exponent are rounded as doubles.
 */
export const roundTo = (digits: string, places: number | null): number => {
  const number = Number(digits)
  const point = digits.indexOf('.')
  const isShort = point < 0 || places === null || digits.length - point - 1 <= places
  if (isShort && digits.length <= 15 && !EXPONENT.test(digits)) return number || 0
  const [whole = '', fraction = ''] = digits.replace(/^[+-]/, '').split('.')
  if (places === null || fraction.length <= places || EXPONENT.test(digits))
    return roundDouble(number, EXPONENT.test(digits) ? places : null)
  const kept = BigInt(whole + fraction.slice(0, places) || '0') + (fraction[places]! >= '5' ? 1n : 0n)
  const text = String(kept).padStart(places + 1, '0')
  const rounded = Number(`${text.slice(0, text.length - places)}.${text.slice(text.length - places)}`)
  return digits.startsWith('-') && rounded !== 0 ? -rounded : rounded
}

/**
 * Whether rounding to the field's decimal places changed the number. Digits after the 15th are ignored, because they are noise of doubles, as in
 * 0.30000000000000004.
 */
export const isRounded = (digits: string, places: number | null, value: number): boolean => {
  if (places === null) return false
  const beyond = EXPONENT.test(digits) || /[1-9]/.test((digits.split('.')[1] ?? '').slice(places))
  return beyond && Number(Number(digits).toPrecision(15)) !== value
}

const roundDouble = (number: number, places: number | null) => {
  const scale = 10 ** (places ?? 0)
  // `Math.round` would round negative halves towards zero.
  const rounded = places === null ? number : (Math.sign(number) * Math.round(Math.abs(number) * scale)) / scale
  // A number that overflows when it is scaled has no decimal places to round. `|| 0` avoids minus zero.
  return (Number.isFinite(rounded) ? rounded : number) || 0
}

/**
 * Whether a double keeps every digit of the text up to the field's decimal places. A double always keeps 15 digits. True for a number with an
 * exponent.
 */
export const keepsDigits = (digits: string, places: number | null): boolean => {
  if (digits.length <= 15 || EXPONENT.test(digits)) return true
  const [whole = '', fraction = ''] = digits.replace(/^[+-]/, '').split('.')
  const exact = `${whole}.${fraction.slice(0, places ?? 0)}`
  const significant = significantOf(exact)
  return significant.length <= 15 || significantOf(Number(exact).toPrecision(Math.min(100, significant.length))) === significant
}

const significantOf = (text: string) =>
  text
    .replace(/e.*$/, '')
    .replace('.', '')
    .replace(/^0+/, '')
    .replace(/(?<!0)0+$/, '')
