import {Refusal} from '../../errors.ts'
import {maxRowCells} from '../row.ts'
import {columnOf} from './sheet.ts'
import {lastRow, type SheetRow} from './sheet-row.ts'

/** Columns count from 0, rows from 1; both ends are inclusive. `right` is null if the range has no last column. */
export type Range = {top: number; bottom: number; left: number; right: number | null}

/** Parses `B3:F200`, `B3:F` and `B:F`. `B3` means all cells from B3 to the right and below. */
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

/** Returns the range from this row to its last row. The corners of the range may be in any order. */
export const fromRow = (text: string | null, row: number): string => {
  const [from = 'A', to] = (text ?? 'A').replaceAll(/[$\d]/g, '').split(':')
  const {bottom} = rangeOf(text)
  return to === undefined ? `${from}${row}` : `${from}${row}:${to}${bottom === lastRow ? '' : bottom}`
}

const cornerOf = (text: string) => {
  const digits = /\d+$/.exec(text)?.[0]
  return {column: columnOf(text), row: digits ? Math.max(1, Number(digits)) : null}
}

/**
 * Stops at the last row of the range. If `countsMerged` is true by then, reads the rest of the sheet without yielding its rows, because merged ranges
 * are listed after all rows.
 */
export async function* within(sheet: AsyncGenerator<SheetRow[]>, {top, bottom}: Range, file?: {countsMerged: boolean}) {
  for await (const rows of sheet) {
    yield rows.filter(({number}) => number >= top && number <= bottom)
    if (rows.at(-1)!.number < bottom) continue
    if (file?.countsMerged) await readOn(sheet)
    return
  }
}

/** Reads the rest of the sheet. Ignores a refusal, because these rows are outside the range. */
const readOn = async (sheet: AsyncGenerator<SheetRow[]>) => {
  try {
    for await (const _ of sheet);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
  }
}
