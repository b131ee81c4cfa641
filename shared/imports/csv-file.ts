import {Refusal} from '../errors.ts'
import {type Fallback, recordsOf} from './csv-records.ts'
import type {Reader} from './reader.ts'

const chunkRows = 500

/**
 * `rowNumber` counts the data rows from 1; blank and comment lines are no rows. `cells` are as read, with one cell per column unless `ragged`:
 * the row has cells past the last column that are not empty, or fewer than the named columns. Trailing empty cells are cut, and missing cells
 * are filled under trailing unnamed columns or where the whole row is blank: a delimiter at a line's end means nothing.
 * A ragged row is no fault of the file: the run fails it as `ROW_RAGGED`.
 */
export type Row = {rowNumber: number; cells: string[]; ragged: boolean}

export type CsvFile = {columns: string[]; rows: AsyncGenerator<Row[], void, undefined>}

/** Rows in chunks of at most 500, streaming, with back-pressure. Leaving the loop early closes `bytes`. */
export async function* readCsv(bytes: AsyncIterable<Uint8Array>, reader: Reader): AsyncGenerator<Row[], void, undefined> {
  const {rows} = await openCsv(bytes, reader)
  yield* rows
}

/** Reads as far as the header. `rows` must be run through or closed with `return()`. */
export const openCsv = async (bytes: AsyncIterable<Uint8Array>, reader: Reader, fallback: Fallback = {}): Promise<CsvFile> => {
  let columns: string[] = []
  const rows = rowsOf(bytes, reader, fallback, header => (columns = header))
  // The first step ends at the header, so that `return()` finds a generator that has begun and closes `bytes`.
  await rows.next()
  return {columns, rows}
}

/** A repeated name gets ` (2)`, an empty one its place: `Column 3`. Blanks around a name are cut. */
export const columnsOf = (header: string[]) => {
  const names = header.map((name, index) => name.trim() || `Column ${index + 1}`)
  const taken = new Set(names)
  const seen = new Set<string>()
  return names.map(name => {
    let unique = name
    for (let n = 2; seen.has(unique) || (unique !== name && taken.has(unique)); n++) unique = `${name} (${n})`
    seen.add(unique)
    return unique
  })
}

async function* rowsOf(
  bytes: AsyncIterable<Uint8Array>,
  reader: Reader,
  fallback: Fallback,
  onColumns: (columns: string[]) => void,
): AsyncGenerator<Row[], void, undefined> {
  let fit: ((cells: string[], rowNumber: number) => Row) | undefined
  let rowNumber = 0
  for await (const records of recordsOf(bytes, reader, fallback)) {
    let from = 0
    if (!fit) {
      const header = reader.headerRow ? headerOf(records[from++]!) : (records[0] ?? []).map(() => '')
      onColumns(columnsOf(header))
      fit = fitTo(header.length, reader.headerRow ? header.findLastIndex(name => name.trim() !== '') + 1 : header.length)
      yield []
    }
    while (from < records.length) {
      const chunk = records.slice(from, from + chunkRows).map(cells => fit!(cells, ++rowNumber))
      from += chunk.length
      yield chunk
    }
  }
  if (!fit) throw nothingIn(reader)
  if (!rowNumber)
    throw new Refusal(
      'FILE_NO_ROWS',
      'The file has a header but no row under it. Add rows, or set headerRow to false if its first line is one',
    )
}

const headerOf = (header: string[]) => {
  if (header.some(name => name.trim())) return header
  throw new Refusal(
    'FILE_HEADER',
    'The header names no column. Set skipRows to the number of lines above the header, or headerRow to false',
  )
}

const nothingIn = ({skipRows}: Reader) =>
  skipRows
    ? new Refusal(
        'FILE_HEADER',
        `Nothing follows the ${skipRows} lines that are skipped. Set skipRows to the number of lines above the header`,
      )
    : new Refusal('FILE_EMPTY', 'The file is empty. Export it again and send the new file')

const fitTo =
  (width: number, named: number) =>
  (cells: string[], rowNumber: number): Row => {
    if (cells.length === width) return {rowNumber, cells, ragged: false}
    while (cells.length > width && cells[cells.length - 1] === '') cells.pop()
    if (cells.length > width || (cells.length < named && cells.some(cell => cell.trim()))) return {rowNumber, cells, ragged: true}
    while (cells.length < width) cells.push('')
    return {rowNumber, cells, ragged: false}
  }
