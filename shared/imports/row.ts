import type {HeaderProposal} from './header-row.ts'

/**
 * `rowNumber` counts what the reader gives out below the header, from 1: blank and comment lines of a CSV file are no rows, blank rows of a
 * sheet are rows where others follow. `cells` are text, one per column unless `ragged`: the row has cells past the last column that are
 * not empty, or fewer than the named columns. A ragged row is no fault of the file: the run fails it as `ROW_RAGGED`.
 */
export type Row = {
  rowNumber: number
  cells: string[]
  ragged: boolean
  /** What the file holds, cell by cell, where that is another text for some cell: the number behind a date. */
  stored?: string[]
  /** By position of the cell: why it cannot be imported. A cell that cleaning changed can be. */
  faults?: Record<number, string>
  /** The cells before cleaning, where a cleaning was applied. */
  read?: string[]
  /** Why cleaning struck the row. It keeps its number and is neither read further nor written. */
  struck?: string
}

/**
 * `rows` must be run through or closed with `return()`. `proposeHeader` answers once they are: a row further down that looks like the header.
 */
export type Table = {
  columns: string[]
  rows: AsyncGenerator<Row[], void, undefined>
  proposeHeader?: (() => HeaderProposal | null) | undefined
}

export const chunkRows = 500
export const maxRowCharacters = 1_048_576
export const maxRowCells = 16_384
/** Characters of the cells that are in memory together: a chunk ends once it has that many. */
export const charactersAtOnce = 4 * maxRowCharacters
/** Empty cells a reader adds to rows that end early: a few bytes a row would otherwise make thousands of cells each. */
export const maxFilledCells = 200_000_000

/** A repeated name gets ` (2)`, an empty one its place: `Column 3`. Blanks around a name are cut. */
export const columnsOf = (header: string[]) => {
  const names = header.map((name, index) => name.trim() || `Column ${index + 1}`)
  const taken = new Set(names)
  // The last number given to a name: a header of one name only is not counted through for each of its columns.
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

export const charactersIn = (cells: string[]) => cells.reduce((sum, cell) => sum + cell.length, 0)
