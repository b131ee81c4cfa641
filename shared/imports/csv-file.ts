import {Refusal} from '../errors.ts'
import {type BadBytes, openBadBytes} from './bad-bytes.ts'
import {recordsOf} from './csv-records.ts'
import {unguardCell} from './formula-guard.ts'
import {proposeCsvHeader} from './header-row.ts'
import type {CsvReader} from './reader.ts'
import {chunkRows, columnsOf, maxFilledCells, type Row, type Table} from './row.ts'

/**
 * Reads as far as the header. `rows` come in chunks of at most 500, streaming, with back-pressure; they must be run through or closed with
 * `return()`, which closes `bytes`. Bytes that are not in the encoding are noted in `bad` and read as U+FFFD; without `bad`, and where the
 * reader does not accept them, they are refused.
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
  const rows = rowsOf(recordsOf(bytes, reader, bad?.addPlaces, keepStart), reader, bad, header => (columns = header))
  // The first step ends at the header, so that `return()` finds a generator that has begun and closes `bytes`.
  await rows.next()
  return {columns, rows, proposeHeader: () => proposeCsvHeader(Buffer.concat(start).toString(), reader)}
}

/** A header is looked for in so much of the file. */
const startBytes = 65_536

async function* rowsOf(
  pieces: AsyncIterable<string[][]>,
  reader: CsvReader,
  bad: BadBytes | null,
  onColumns: (columns: string[]) => void,
): AsyncGenerator<Row[], void, undefined> {
  let fit: ((cells: string[], rowNumber: number) => Row) | undefined
  let rowNumber = 0
  const unguarded = (cells: string[]) => (reader.apostrophes === 'remove' ? cells.map(unguardCell) : cells)
  const restored = (cells: string[], row: number) => unguarded(bad?.restore(cells, row) ?? cells)
  for await (const records of pieces) {
    let from = 0
    if (!fit) {
      const header = reader.headerRow ? headerOf(restored(records[from++]!, 0)) : (records[0] ?? []).map(() => '')
      onColumns(columnsOf(header))
      const named = reader.headerRow ? header.findLastIndex(name => name.trim() !== '') + 1 : header.length
      fit = fitTo(header.length, reader.shortRows === 'fill' ? 0 : named)
      yield []
    }
    while (from < records.length) {
      const chunk = records.slice(from, from + chunkRows).map(cells => fit!(restored(cells, ++rowNumber), rowNumber))
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

const nothingIn = ({skipRows}: CsvReader) =>
  skipRows
    ? new Refusal(
        'FILE_HEADER',
        `Nothing follows the ${skipRows} lines that are skipped. Set skipRows to the number of lines above the header`,
      )
    : new Refusal('FILE_EMPTY', 'The file is empty. Export it again and send the new file')

/**
 * Trailing empty cells are cut, and missing cells are filled under trailing unnamed columns or where the whole row is blank: a delimiter at
 * a line's end means nothing. With `named` 0 they are filled anywhere.
 */
const fitTo = (width: number, named: number) => {
  let filled = 0
  return (cells: string[], rowNumber: number): Row => {
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
    `Up to row ${row} more than ${maxFilledCells.toLocaleString('en')} cells are missing. Set the delimiter right, or shortRows to refuse`,
    {row, limit: maxFilledCells},
  )
