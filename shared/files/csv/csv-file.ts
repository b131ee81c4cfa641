import {Refusal} from '../../errors.ts'
import {unguardCell} from '../../runs/results/formula-guard.ts'
import {reasonColumns} from '../../runs/results/reason-columns.ts'
import type {CsvReader} from '../reader.ts'
import {chunkRows, columnsOf, type FileRow, maxFilledCells, type Table} from '../row.ts'
import {type BadBytes, openBadBytes} from '../text/bad-bytes.ts'
import {isFilled, recordsOf} from './csv-records.ts'
import {proposeCsvHeader} from './header-row.ts'

/**
 * Reads the file up to the header. `rows` must be read to its end or closed with `return()`, which closes `bytes`. Bytes that are invalid in the
 * encoding are recorded in `bad` and read as U+FFFD. If `bad` is null, such bytes are refused. By default, `bad` is null unless the reader accepts
 * invalid bytes.
 */
export const openCsv = async (
  bytes: AsyncIterable<Uint8Array>,
  reader: CsvReader,
  bad: BadBytes | null = reader.badBytes ? openBadBytes() : null,
): Promise<Table> => {
  let columns: string[] = []
  const start: Buffer[] = []
  let bytesKept = 0
  const keepStart = (piece: Buffer) => {
    if (bytesKept >= startBytes) return
    start.push(piece.subarray(0, startBytes - bytesKept))
    bytesKept += piece.length
  }
  const [open, openQuotes] = [new Set<number>(), {found: false}]
  const onOpenQuote = (record: number) => {
    open.add(record)
    openQuotes.found = true
  }
  const records = recordsOf(bytes, reader, bad?.addPlaces, keepStart, onOpenQuote)
  const rows = rowsOf(records, reader, {bad, open}, header => (columns = header))
  // The first `next()` reads up to the header. Only a started generator closes `bytes` when `return()` is called.
  await rows.next()
  return {columns, rows, proposeHeader: () => proposeCsvHeader(Buffer.concat(start).toString(), reader), openQuotes}
}

const startBytes = 65_536

/**
 * Lines of delimiters above the header are passed over, like blank lines. `open`: the indexes of records with an open quote that were parsed but not
 * yet yielded.
 */
async function* rowsOf(
  pieces: AsyncIterable<string[][]>,
  reader: CsvReader,
  {bad, open}: {bad: BadBytes | null; open: Set<number>},
  onColumns: (columns: string[]) => void,
): AsyncGenerator<FileRow[], void, undefined> {
  let fit: ((cells: string[], rowNumber: number) => FileRow) | undefined
  let [rowNumber, above] = [0, 0]
  const unguarded = (cells: string[]) => (reader.apostrophes === 'remove' ? cells.map(unguardCell) : cells)
  const own = (cells: string[]) => (reader.reasons === 'remove' ? cells.slice(reasonColumns.length) : cells)
  const restored = (cells: string[], row: number) => unguarded(own(bad?.restore(cells, row) ?? cells))
  const isOpen = (row: number) => open.delete(above + (reader.headerRow ? row : row - 1)) && reader.openQuotes === 'refuse'
  const read = (cells: string[], row: number): FileRow =>
    isOpen(row) ? {rowNumber: row, cells: restored(cells, row), ragged: true, openQuote: true} : fit!(restored(cells, row), row)
  for await (const records of pieces) {
    let from = 0
    if (!fit) {
      if (reader.headerRow) {
        from = records.findIndex(isFilled)
        above += from < 0 ? records.length : from
        if (from < 0) continue
        if (isOpen(0)) throw openHeader()
      }
      const header = reader.headerRow ? headerOf(restored(records[from++]!, 0)) : own(records[0] ?? []).map(() => '')
      onColumns(columnsOf(header))
      const named = reader.headerRow ? header.findLastIndex(name => name.trim() !== '') + 1 : header.length
      fit = fitTo(header.length, reader.shortRows === 'fill' ? 0 : named)
      yield []
    }
    while (from < records.length) {
      const chunk = records.slice(from, from + chunkRows).map(cells => read(cells, ++rowNumber))
      from += chunk.length
      yield chunk
    }
  }
  if (!fit) throw above > 0 ? noNames() : nothingIn(reader)
  if (!rowNumber)
    throw new Refusal(
      'FILE_NO_ROWS',
      'The file has a header but no rows below it. Add rows, or set headerRow to false if its first line is a row',
    )
}

const headerOf = (header: string[]) => {
  if (header.some(name => name.trim())) return header
  throw noNames()
}

const noNames = () =>
  new Refusal('FILE_HEADER', 'The header has no column names. Set skipRows to the number of lines above the header, or headerRow to false')

const openHeader = () =>
  new Refusal(
    'FILE_QUOTE',
    'A quote in the header seems not to be closed. Close it, set quote to null if quotes mean nothing, or set openQuotes to keep if it is right',
    {row: 0},
  )

const nothingIn = ({skipRows}: CsvReader) =>
  skipRows
    ? new Refusal(
        'FILE_HEADER',
        `The file has nothing after the ${skipRows} skipped lines. Set skipRows to the number of lines above the header`,
      )
    : new Refusal('FILE_EMPTY', 'The file is empty. Export it again and send the new file')

/**
 * Returns a function that makes a row `width` cells long. The function removes extra empty cells from the end. It fills missing cells if the row
 * is blank or has at least `named` cells. `named`: the columns up to the last one with a name; a delimiter at the end of the header line adds
 * unnamed columns. Any other row of another length is marked as ragged. If `named` is 0, missing cells are always filled.
 */
const fitTo = (width: number, named: number) => {
  let filled = 0
  return (cells: string[], rowNumber: number): FileRow => {
    if (cells.length === width) return {rowNumber, cells, ragged: false}
    while (cells.length > width && cells[cells.length - 1] === '') cells.pop()
    if (cells.length > width || (cells.length < named && cells.some(cell => cell.trim()))) return {rowNumber, cells, ragged: true}
    filled += width - cells.length
    if (filled > maxFilledCells) throw tooSparse(rowNumber)
    while (cells.length < width) cells.push('')
    return {rowNumber, cells, ragged: false}
  }
}

const tooSparse = (row: number) =>
  new Refusal(
    'UNREADABLE',
    `By row ${row}, more than ${maxFilledCells.toLocaleString('en')} cells are missing. Set the correct delimiter, or set shortRows to refuse`,
    {row, limit: maxFilledCells},
  )
