import {parse} from 'csv-parse/sync'
import {storableText} from '../../schema/storable-text.ts'
import {lookOf, looks} from '../cell-kind.ts'
import type {CsvReader, ReaderOptions} from '../reader.ts'
import {badPlace} from '../text/decoder.ts'
import {parserOptionsOf} from './csv-options.ts'

/**
 * A later row that looks like the header. `title`: the first cell of the title row above. `columns`: the first 20 names. Title and names are cut
 * at 100 characters. `reader`: the options that make the row the header.
 */
export type HeaderProposal = {title: string; columns: string[]; reader: ReaderOptions}

export const mostHeaderRows = 30
const mostColumns = 20
const longestName = 100

/**
 * Returns the first row that looks like a header below a title, or null. The title is the first non-empty row, and has at most half as many filled
 * cells as the header. The header has more filled cells than any row above, all different and most of them text. The next non-empty row has at least
 * half and less than twice as many filled cells. At most half of the rows below have more filled cells than the header; this excludes a second title
 * above a wider table.
 */
export const proposeHeader = (rows: string[][]): {at: number; title: string; columns: string[]} | null => {
  const filled = rows.map(cells => cells.filter(cell => cell.trim() !== ''))
  const first = filled.findIndex(({length}) => length > 0)
  if (first < 0) return null
  const titleCells = filled[first]!.length
  let widest = titleCells
  for (const [at, names] of filled.entries()) {
    if (at <= first) continue
    const isWider = names.length > widest && names.length >= Math.max(2, 2 * titleCells)
    if (isWider && isHeader(names) && hasRowsBelow(filled.slice(at + 1), names.length))
      return {
        at,
        title: shortened(filled[first]![0]!),
        columns: names.slice(0, mostColumns).map(shortened),
      }
    widest = Math.max(widest, names.length)
  }
  return null
}

const shortened = (text: string) => storableText(text, longestName)

const isHeader = (names: string[]) => {
  const texts = names.filter(name => name.length <= longestName && looks[lookOf(name)]!.kind === 'text')
  return new Set(names).size === names.length && 2 * texts.length > names.length
}

const hasRowsBelow = (below: string[][], width: number) => {
  const lengths = below.map(({length}) => length).filter(length => length > 0)
  const [next] = lengths
  const wider = lengths.filter(length => length > width)
  return next !== undefined && 2 * next >= width && next < 2 * width && 2 * wider.length <= lengths.length
}

/** `text` begins after the lines that the reader skips. */
export const proposeCsvHeader = (text: string, reader: CsvReader): HeaderProposal | null => {
  if (!reader.headerRow) return null
  const records = readCsvRecords(text, reader)
  const proposed = proposeHeader(records.map(({record}) => record))
  return (
    proposed && {
      title: proposed.title,
      columns: proposed.columns,
      reader: {skipRows: reader.skipRows + records[proposed.at - 1]!.info.lines},
    }
  )
}

type InfoRecord = {record: string[]; info: {lines: number}}

/** `info.lines`: the number of lines up to the end of the record. Undecodable bytes are U+FFFD. */
export const readCsvRecords = (text: string, reader: CsvReader): InfoRecord[] => {
  const records: InfoRecord[] = []
  let countedTwice = 0
  parse(text.replaceAll(badPlace, '\ufffd'), {
    ...parserOptionsOf(reader),
    relax_quotes: true,
    info: true,
    to: mostHeaderRows,
    // The last record may be cut off, so an error in it proves nothing. Reading the whole file reports faulty records.
    skip_records_with_error: true,
    on_record: (read: unknown) => {
      const {record, info} = read as InfoRecord
      // csv-parse counts a CRLF within quotes as two lines, but the reader skips it as one.
      for (const cell of record) countedTwice += cell.split('\r\n').length - 1
      records.push({record, info: {lines: info.lines - countedTwice}})
      return null
    },
  })
  return records
}
