import type {HeaderProposal} from './csv/header-row.ts'

/**
 * `rowNumber` counts the rows below the header, from 1. Blank and comment lines of a CSV file are not rows; a blank row of a sheet is a row if
 * another row follows. `cells` has one text per column unless the row is `ragged`. A ragged row has non-empty cells beyond the last column, or too
 * few cells for the named columns, or an open quote. The run fails such a row as `ROW_RAGGED` or `ROW_QUOTE`.
 */
export type FileRow = {
  rowNumber: number
  cells: string[]
  ragged: boolean
  /** Text follows the quote that closes a cell of several lines, so the cell may contain rows of the file. Such a row is `ragged`. */
  openQuote?: true
  /** The stored texts of the cells, such as the number behind a date. Absent if all equal the cells before cleaning. */
  stored?: string[]
  /** Why cells cannot be imported, by index of the cell. A cleaning step that changes a cell removes its fault. */
  faults?: Record<number, string>
  /**
   * Cells that the file stores as numbers with a point, by index, in columns whose texts have a decimal comma. A changed cell loses its entry, unless
   * a person entered another number with a point.
   */
  numeric?: Record<number, true>
  /** The cells before cleaning. Absent if no cleaning step was applied. */
  read?: string[]
  /** The values that a person set, by index of the cell. */
  edited?: Record<number, string>
  /** Why a cleaning step excluded the row. The row keeps its number but is not processed further and not written. */
  struck?: string
}

/**
 * An opened table. `rows` must be read to its end or closed with `return()`. After `rows` has ended, `proposeHeader` returns a later row that
 * looks like the header, or null. `openQuotes`: whether a cell that was read has an open quote. Workbooks have none.
 */
export type Table = {
  columns: string[]
  rows: AsyncGenerator<FileRow[], void, undefined>
  proposeHeader?: (() => HeaderProposal | null) | undefined
  openQuotes?: {found: boolean} | undefined
}

export const chunkRows = 500
export const maxRowCharacters = 1_048_576
export const maxRowCells = 16_384
/** Maximum characters of cells in memory: a chunk ends when it has this many. */
export const charactersAtOnce = 4 * maxRowCharacters
/**
 * The maximum number of empty cells that a reader adds to the short rows of a file. Without the limit, a small file could expand to thousands of
 * cells per row.
 */
export const maxFilledCells = 200_000_000

/** Makes column names unique: a repeated name gets ` (2)`, an empty one becomes `Column 3`. Surrounding blanks are trimmed. */
export const columnsOf = (header: string[]) => uniqueNames(header.map((name, index) => name.trim() || `Column ${index + 1}`))

/** Appends ` (2)`, ` (3)` and so on to repeated names. */
export const uniqueNames = (names: string[]) => {
  const taken = new Set(names)
  // The last number given to each name, so that a header of equal names is processed in linear time.
  const numbers = new Map<string, number>()
  return names.map(name => {
    const last = numbers.get(name)
    numbers.set(name, 1)
    if (last === undefined) return name
    let number = last + 1
    while (taken.has(`${name} (${number})`)) number++
    numbers.set(name, number)
    return `${name} (${number})`
  })
}

/** Says why the cells of a ragged row cannot be changed one by one. */
export const describeMisfit = ({openQuote}: Pick<FileRow, 'openQuote'>) =>
  openQuote ? 'has a quote that seems not to be closed' : 'has more or fewer cells than the header'

export const charactersIn = (cells: string[]) => cells.reduce((sum, cell) => sum + cell.length, 0)
