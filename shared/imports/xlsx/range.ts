import {maxRowCells} from '../row.ts'
import {columnOf, lastRow} from './sheet.ts'

/** Columns from 0, rows from 1, both ends belonging to it. `right` is null where nothing bounds it. */
export type Range = {top: number; bottom: number; left: number; right: number | null}

/** `B3:F200`, `B3:F`, `B:F`, and `B3` for all from there on. */
export const rangeOf = (text: string | null): Range => {
  if (text === null) return {top: 1, bottom: lastRow, left: 0, right: null}
  const [from = '', to] = text.replaceAll('$', '').split(':')
  const [one, other] = [cornerOf(from), to === undefined ? null : cornerOf(to)]
  if (!other) return {top: one.row ?? 1, bottom: lastRow, left: one.column, right: null}
  const [top, bottom] = [one.row ?? 1, other.row ?? lastRow]
  return {
    top: Math.min(top, bottom),
    bottom: Math.max(top, bottom),
    left: Math.min(one.column, other.column),
    right: Math.min(maxRowCells - 1, Math.max(one.column, other.column)),
  }
}

/** The range from this row on. */
export const fromRow = (text: string | null, row: number): string => {
  const [from = 'A', to] = (text ?? 'A').replaceAll('$', '').split(':')
  const [column, last] = [from.replace(/\d+$/, ''), to]
  return last === undefined ? `${column}${row}` : `${column}${row}:${last}`
}

const cornerOf = (text: string) => {
  const digits = /\d+$/.exec(text)?.[0]
  return {column: columnOf(text), row: digits ? Math.max(1, Number(digits)) : null}
}
