import type {Source} from '../../sql/sources.ts'
import {storableText} from '../schema/storable-text.ts'
import {StorageMissing} from '../storage/missing.ts'
import {isFilled} from './csv/csv-records.ts'
import {mostHeaderRows, readCsvRecords} from './csv/header-row.ts'
import {type CsvReader, Reader, type ReaderOptions, type XlsxReader} from './reader.ts'
import {fileGone} from './sources/read.ts'
import {type FileDeps, limitsOf} from './stored-file.ts'
import {utf8Of} from './text/text.ts'
import {fromRow, rangeOf} from './xlsx/range.ts'
import {openXlsx} from './xlsx/xlsx-file.ts'

/** One of the first rows of a file. `header`: the row is the current header. `reader`: the options that make the row the header. */
export type HeaderCandidate = {cells: string[]; header: boolean; reader: ReaderOptions}

const startBytes = 65_536
const mostCells = 100
const longestCell = 100

/**
 * Returns the first 30 non-empty rows of a file, including rows above the header. Only the first 64 KiB of a CSV file are read. Rows are cut at 100
 * cells, and cells at 100 characters.
 */
export const listHeaderCandidates = async (
  deps: FileDeps,
  {fileKey, reader: stored}: Pick<Source, 'fileKey' | 'reader'>,
): Promise<HeaderCandidate[]> => {
  const reader = Reader.parse(stored)
  try {
    const found = reader.format === 'csv' ? await ofCsv(deps, fileKey, reader) : await ofWorkbook(deps, fileKey, reader)
    return found.map(({cells, ...rest}) => ({
      cells: cells.slice(0, mostCells).map(cell => storableText(cell, longestCell)),
      ...rest,
    }))
  } catch (error) {
    throw error instanceof StorageMissing ? fileGone() : error
  }
}

const ofCsv = async ({storage}: FileDeps, key: string, reader: CsvReader): Promise<HeaderCandidate[]> => {
  const pieces: Buffer[] = []
  let size = 0
  for await (const piece of utf8Of(await storage.read(key), {encoding: reader.encoding, onBad: () => {}})) {
    pieces.push(piece)
    size += piece.length
    if (size >= startBytes) break
  }
  const records = readCsvRecords(Buffer.concat(pieces).subarray(0, startBytes).toString(), reader)
  const header = reader.headerRow ? records.findIndex(({record, info}) => info.lines > reader.skipRows && isFilled(record)) : -1
  return records.map(({record}, at) => ({
    cells: record,
    header: at === header,
    reader: {skipRows: at === 0 ? 0 : records[at - 1]!.info.lines, headerRow: true},
  }))
}

const ofWorkbook = async ({storage, config}: FileDeps, key: string, reader: XlsxReader): Promise<HeaderCandidate[]> => {
  const whole = {...reader, headerRow: false, range: fromRow(reader.range, 1)}
  const {rows, firstRows} = await openXlsx({storage, key}, whole, limitsOf(config))
  // The workbook closes after the last chunk, so the first rows are read after each chunk.
  let first: ReturnType<typeof firstRows> = []
  for await (const _ of rows) {
    first = firstRows()
    if (first.length === mostHeaderRows) break
  }
  const {top} = rangeOf(reader.range)
  const header = reader.headerRow ? first.find(({number}) => number >= top)?.number : undefined
  return first.map(({number, cells}) => ({
    cells,
    header: number === header,
    reader: {range: fromRow(reader.range, number), headerRow: true},
  }))
}
