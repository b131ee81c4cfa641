import {type Displayed, displayNumber, type NumberFormat, sectionFor} from './number-format.ts'
import {isoOf} from './serial-date.ts'
import type {SharedStrings} from './shared-strings.ts'
import type {Styles} from './styles.ts'
import {corrupt} from './zip.ts'

/** A cell as its sheet writes it. `text` is of `v`, or of `is`. */
export type SheetCell = {column: number; type: string; style: number; text: string; formula: boolean; valued: boolean}

/**
 * How the file stores a cell, and where its number format displays something else, how. `date`: a number displayed as a date or time.
 * `undated`: formatted as a date, but no date. `uncalculated`: a formula whose value was never saved. `percent`, `scaled`, `padded`: see
 * `Displayed`.
 */
export type StoredKind = 'text' | 'date' | 'boolean' | 'error' | 'uncalculated' | 'undated' | Displayed['kind']

/** Which value a formatted number is read as. `auto`: as displayed, but for numbers displayed in thousands, which are read as stored. */
export type Numbers = 'auto' | 'displayed' | 'stored'
/** `as`: padded numbers of a column that is read as numbers lose their padding, unless `numbers` says otherwise. */
export type NumberReading = {numbers?: Numbers | undefined; as?: 'text' | 'number' | undefined}

/** `stored`: what the file holds. `plain`: the stored number in decimal digits, where `text` is another. `fault`: why it cannot be imported. */
export type ReadCell = {text: string; stored: string; kind: StoredKind; plain?: string; fault?: string}

export type CellContext = {strings: SharedStrings; styles: Styles; epoch: 1900 | 1904}

/**
 * A cell as text, as its format displays it. Numbers keep all digits the file holds, never by way of a float: currency signs, groups and
 * rounding of a format are left out. Dates are ISO 8601 by the workbook's epoch. A formula is what it came to when the file was saved.
 */
export const readCell = ({type, style, text, formula, valued}: SheetCell, {strings, styles, epoch}: CellContext): ReadCell => {
  const as = (kind: StoredKind, value: string, stored = value): ReadCell => ({text: value, stored, kind})
  if (formula && !valued) return as('uncalculated', '')
  if (type === 's') return as('text', text === '' ? '' : strings.at(Number(text)))
  if (type === 'inlineStr' || type === 'str') return as('text', text)
  if (type === 'b') return as('boolean', text === '1' || text === 'true' ? 'TRUE' : text === '' ? '' : 'FALSE', text)
  if (type === 'e') return as('error', text)
  if (type === 'd') return as('date', text)
  if (type !== 'n') throw corrupt(`a cell is of a type called ${type.slice(0, 20)}`)
  const stored = text.trim()
  const format = styles[style]
  const digits = plain(stored)
  if (!format || format.isPlain || stored === '' || Number.isNaN(Number(stored))) return as('number', digits, stored)
  return readDate(format, stored, epoch) ?? {...displayNumber(format, digits), stored, plain: digits}
}

/** What a spreadsheet program displays for a number that it cannot display as a date. */
const undated = '########'

/** Without the number: it may be personal data, and messages go to the log. */
const undatedFault = 'The cell is formatted as a date or time, but its number is not a valid one. Correct the cell or its number format'

const readDate = (format: NumberFormat, stored: string, epoch: 1900 | 1904): ReadCell | null => {
  const kind = format.date ?? sectionFor(format, Number(stored)).date
  if (!kind) return null
  const iso = isoOf(Number(stored), kind, epoch)
  if (iso !== null) return {text: iso, stored, kind: 'date'}
  return {text: undated, stored, kind: 'undated', fault: undatedFault}
}

/** The text of a cell in a column that is read so. */
export const textOf = ({kind, text, plain = text}: ReadCell, {numbers = 'auto', as}: NumberReading): string => {
  if (numbers === 'auto') return kind === 'scaled' || (kind === 'padded' && as === 'number') ? plain : text
  return numbers === 'stored' ? plain : text
}

const exponential = /^([+-]?)(\d+)(?:\.(\d+))?e([+-]?\d{1,3})$/i
const longestExponent = 40

/** `1.2E+17` with all its digits, `1E-3` as `0.001`. Only the point moves. */
const plain = (number: string) => {
  const [, sign, whole, fraction = '', exponent] = exponential.exec(number) ?? []
  if (whole === undefined || Math.abs(Number(exponent)) > longestExponent) return number
  const point = whole.length + Number(exponent)
  const digits = `${'0'.repeat(Math.max(0, 1 - point))}${whole}${fraction}${'0'.repeat(Math.max(0, point - whole.length - fraction.length))}`
  const at = Math.max(1, point)
  const rest = digits.slice(at).replace(/(?<!0)0+$/, '')
  return `${sign}${digits.slice(0, at).replace(/^0+(?=\d)/, '')}${rest && `.${rest}`}`
}
