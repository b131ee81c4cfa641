import {plainNumber} from './csv-line.ts'

/** What a spreadsheet may run as a formula: the four signs, those of full width, and white space that it drops in front of them. */
const signs = '=+\\-@\\t\\r\\n\uff1d\uff0b\uff0d\uff20'
const runs = new RegExp(`^[${signs}]`)
const guarded = new RegExp(`^'+[${signs}]`)

/** Puts an apostrophe in front of a cell that a spreadsheet would run, and of one that `unguardCell` would take for such a cell. */
export const guardCell = (cell: string) => (guarded.test(cell) || (runs.test(cell) && !plainNumber.test(cell)) ? `'${cell}` : cell)

/** Whether the cell is as `guardCell` writes it. */
export const isGuarded = (cell: string) => guarded.test(cell)

/** The cell before `guardCell`. */
export const unguardCell = (cell: string) => (guarded.test(cell) ? cell.slice(1) : cell)

/** Whether some cell of the text looks as `guardCell` writes it. */
export const hasGuards = (text: string, delimiter: string) => {
  const start = delimiter.replaceAll(/[\\\]^-]/g, '\\$&')
  return new RegExp(`(?:^|[\r\n${start}])[\uFEFF]?"?'+[${signs}]`).test(text)
}
