import {isoOf} from './serial-date.ts'
import type {SharedStrings} from './shared-strings.ts'
import type {Styles} from './styles.ts'
import {corrupt} from './zip.ts'

/** A cell as its sheet writes it. `text` is of `v`, or of `is`. */
export type SheetCell = {column: number; type: string; style: number; text: string; formula: boolean; valued: boolean}

const storedKinds = ['text', 'number', 'date', 'boolean', 'error', 'uncalculated', 'padded'] as const
/** `date`: numbers that their format shows as a date or time. `uncalculated`: formulas whose value was never saved. `padded`: see `Shown`. */
export type StoredKind = (typeof storedKinds)[number]

type Read = {text: string; stored: string; kind: StoredKind}

export type CellContext = {strings: SharedStrings; styles: Styles; epoch: 1900 | 1904}

/**
 * A cell as text. Numbers are the digits the file holds, never by way of a float; what their format shows as a date is ISO 8601 by the
 * workbook's epoch; `stored` is what stands in the file. A formula is what it came to when the file was saved.
 */
export const readCell = ({type, style, text, formula, valued}: SheetCell, {strings, styles, epoch}: CellContext): Read => {
  const as = (kind: StoredKind, value: string, stored = value): Read => ({text: value, stored, kind})
  if (formula && !valued) return as('uncalculated', '')
  if (type === 's') return as('text', text === '' ? '' : strings.at(Number(text)))
  if (type === 'inlineStr' || type === 'str') return as('text', text)
  if (type === 'b') return as('boolean', text === '1' || text === 'true' ? 'TRUE' : text === '' ? '' : 'FALSE', text)
  if (type === 'e') return as('error', text)
  if (type === 'd') return as('date', text)
  if (type !== 'n') throw corrupt(`a cell is of a type called ${type.slice(0, 20)}`)
  const stored = text.trim()
  const shown = styles[style] ?? 'number'
  if (shown === 'padded') return as('padded', plain(stored), stored)
  if (shown === 'number' || stored === '') return as('number', plain(stored), stored)
  const iso = isoOf(Number(stored), shown, epoch)
  return iso === null ? as('number', plain(stored), stored) : as('date', iso, stored)
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
