import {plainNumber} from '../../files/csv/csv-line.ts'

/**
 * Characters at which a spreadsheet may start a formula: the four signs, their full-width forms, and white space that the spreadsheet drops
 * before a sign. For a regular expression.
 */
const signs = '=+\\-@\\t\\r\\n\uff1d\uff0b\uff0d\uff20'
const runs = new RegExp(`^[${signs}]`)
const guarded = new RegExp(`^'+[${signs}]`)

/**
 * Puts an apostrophe before a cell that a spreadsheet would run as a formula. Also puts one before a cell that already looks guarded, so that
 * `unguardCell` does not remove an apostrophe of the file.
 */
export const guardCell = (cell: string) => (guarded.test(cell) || (runs.test(cell) && !plainNumber.test(cell)) ? `'${cell}` : cell)

/** Whether the cell looks like output of `guardCell`. */
export const isGuarded = (cell: string) => guarded.test(cell)

export const unguardCell = (cell: string) => (guarded.test(cell) ? cell.slice(1) : cell)

export const hasGuards = (text: string, delimiter: string) => {
  const start = delimiter.replaceAll(/[\\\]^-]/g, '\\$&')
  return new RegExp(`(?:^|[\r\n${start}])[\uFEFF]?"?'+[${signs}]`).test(text)
}
