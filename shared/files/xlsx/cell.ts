import {type DisplayedNumber, displayNumber, type NumberFormat, sectionFor} from './number-format.ts'
import {isoOf} from './serial-date.ts'
import type {SharedStrings} from './shared-strings.ts'
import type {Styles} from './styles.ts'
import {corrupt} from './zip.ts'

/**
 * `text`: the text of the element `v` or `is` of the cell. `valued`: whether the cell has such an element. `shown`: in an OpenDocument file, the
 * displayed text of a padded number.
 */
export type SheetCell = {column: number; type: string; style: number; text: string; formula: boolean; valued: boolean; shown?: string}

/**
 * The kind of value in a cell: the kind that the file stores, except where the number format displays the number as another kind. `date`: a date
 * or time, or a number displayed as one. `error`: an error value, such as #N/A. `undated`: a number in a date format that is not a valid date.
 * `uncalculated`: a formula without a saved value. For `percent`, `scaled` and `padded`, see `DisplayedNumber`.
 */
export type StoredKind = 'text' | 'date' | 'boolean' | 'error' | 'uncalculated' | 'undated' | DisplayedNumber['kind']

/**
 * Which value of a formatted number is read. `auto` reads the displayed value. For scaled numbers, such as numbers displayed in thousands, `auto`
 * reads the stored value.
 */
export type Numbers = 'auto' | 'displayed' | 'stored'
/** If `as` is `number` and `numbers` is `auto`, padded numbers lose their padding. */
export type NumberReading = {
  numbers?: Numbers | undefined
  as?: 'text' | 'number' | undefined
  /** The decimal mark of the column's texts. Numbers that the file stores as numbers have a point. */
  decimalMark?: 'point' | 'comma' | undefined
}

/**
 * `stored`: the text in the file. `plain`: the stored number in decimal digits, set if the number format may change `text`. `fault`: why the cell
 * cannot be imported.
 */
export type ReadCell = {text: string; stored: string; kind: StoredKind; plain?: string; fault?: string}

/**
 * Decimals with the error of a binary fraction, which spreadsheet programs write but do not show, such as 19.989999999999998 for 19.99. `areShort`:
 * the reader shortens them. `found`: a cell has one.
 */
export type LongDecimals = {areShort: boolean; found: boolean}
export type CellContext = {strings: SharedStrings; styles: Styles; epoch: 1900 | 1904; decimals?: LongDecimals}

/**
 * Returns a cell as its format displays it, without currency signs, digit grouping and rounding. Numbers keep all digits of the file, except the
 * error of a binary fraction if `decimals.areShort`. Percentages and scaled numbers keep 15 significant digits. Dates are ISO 8601 by the workbook's
 * epoch. A formula gives its saved value.
 */
export const readCell = (
  {type, style, text, formula, valued, shown}: SheetCell,
  {strings, styles, epoch, decimals}: CellContext,
): ReadCell => {
  const as = (kind: StoredKind, value: string, stored = value): ReadCell => ({text: value, stored, kind})
  if (formula && (!valued || (type === 'n' && text.trim() === ''))) return as('uncalculated', '')
  if (type === 's') return as('text', text === '' ? '' : strings.at(Number(text)))
  if (type === 'inlineStr' || type === 'str') return as('text', text)
  if (type === 'b') return as('boolean', text === '1' || text === 'true' ? 'TRUE' : text === '' ? '' : 'FALSE', text)
  if (type === 'e') return {...as('error', text), fault: errorFault}
  if (type === 'd') return as('date', text)
  if (type !== 'n') throw corrupt(`a cell is of a type called ${type.slice(0, 20)}`)
  const stored = text.trim()
  const format = styles[style]
  const isFormatted = format && !format.isPlain && shown === undefined && stored !== '' && !Number.isNaN(Number(stored))
  // A date or time is read from the stored number, so its decimals are never shortened.
  const date = isFormatted ? readDate(format, stored, epoch) : null
  if (date) return date
  const digits = shortenIn(decimals, plain(stored))
  if (shown !== undefined) return {text: shown, stored, kind: 'padded', plain: digits}
  if (!isFormatted) return as('number', digits, stored)
  return {...displayNumber(format, digits), stored, plain: digits}
}

const errorFault =
  'The cell has a spreadsheet error such as #N/A instead of a value. Correct the cell, or replace the error by a cleaning step'

/** The text that spreadsheet programs display for a number that is not a valid date. */
const undated = '########'

/** The message does not contain the number, because messages are logged and the number may be personal data. */
const undatedFault = 'The cell is formatted as a date or time, but its number is not a valid one. Correct the cell or its number format'

const readDate = (format: NumberFormat, stored: string, epoch: 1900 | 1904): ReadCell | null => {
  const kind = format.date ?? sectionFor(format, Number(stored)).date
  if (!kind) return null
  const iso = isoOf(Number(stored), kind, epoch)
  if (iso !== null) return {text: iso, stored, kind: 'date'}
  return {text: undated, stored, kind: 'undated', fault: undatedFault}
}

export const textOf = ({kind, text, plain = text}: ReadCell, {numbers = 'auto', as}: NumberReading): string => {
  if (numbers === 'auto') return kind === 'scaled' || (kind === 'padded' && as === 'number') ? plain : text
  return numbers === 'stored' ? plain : text
}

const shortenIn = (decimals: LongDecimals | undefined, digits: string) => {
  const short = decimals ? shortenDecimal(digits) : digits
  if (short === digits) return digits
  decimals!.found = true
  return decimals!.areShort ? short : digits
}

/** A fraction with 16 or 17 significant digits becomes the shortest text of the same double. Any other text stays unchanged. */
export const shortenDecimal = (digits: string): string => {
  if (digits.length <= 16 || !/^[+-]?\d+\.\d+$/.test(digits)) return digits
  const {length: significant} = digits.replace(/\D/g, '').replace(/^0+/, '')
  if (significant < 16 || significant > 17) return digits
  const short = plain(String(Number(digits)))
  return short.length < digits.length ? short : digits
}

const exponential = /^([+-]?)(\d+)(?:\.(\d+))?e([+-]?\d{1,3})$/i
const longestExponent = 40

/**
 * Writes `1.2E+17` with all its digits and `1E-3` as `0.001`, by moving the decimal point. Exponents beyond 40 and other numbers stay unchanged.
 */
export const plain = (number: string): string => {
  const [, sign, whole, fraction = '', exponent] = exponential.exec(number) ?? []
  if (whole === undefined || Math.abs(Number(exponent)) > longestExponent) return number
  const point = whole.length + Number(exponent)
  const digits = `${'0'.repeat(Math.max(0, 1 - point))}${whole}${fraction}${'0'.repeat(Math.max(0, point - whole.length - fraction.length))}`
  const at = Math.max(1, point)
  const rest = digits.slice(at).replace(/(?<!0)0+$/, '')
  return `${sign}${digits.slice(0, at).replace(/^0+(?=\d)/, '')}${rest && `.${rest}`}`
}
