import {setImmediate} from 'node:timers/promises'
import {type Parser, parse} from 'csv-parse'
import type {CsvReader} from '../reader.ts'
import {charactersIn, maxRowCells, maxRowCharacters} from '../row.ts'
import {TextFault, utf8Of} from '../text/text.ts'
import {parserOptionsOf} from './csv-options.ts'
import {type CsvPosition, refusalFor, unreadable} from './csv-refusal.ts'

// The maximum bytes of a readable record, because a UTF-16 unit takes at most three bytes of UTF-8.
const maxRecordBytes = 3 * maxRowCharacters
const maxUnfinishedBytes = maxRecordBytes + 4 * maxRowCells
const lineFeed = 10
const carriageReturn = 13

/**
 * Yields the file's records, including the header, after each piece of at most 64 KiB. Refusals name the row, and the line if it is known. For
 * `onBad`, see `TextOptions`. `onPiece` gets each piece of text as UTF-8, without skipped lines. For `onOpenQuote`, see `watchQuotes`.
 */
export async function* recordsOf(
  bytes: AsyncIterable<Uint8Array>,
  reader: CsvReader,
  onBad?: (places: number) => void,
  onPiece?: (piece: Buffer) => void,
  onOpenQuote?: (record: number) => void,
): AsyncGenerator<string[][], void, undefined> {
  const parser = parserOf(reader)
  if (onOpenQuote) watchQuotes(parser, onOpenQuote)
  const position = positionIn(parser, reader)
  try {
    for await (const piece of afterLines(utf8Of(bytes, {encoding: reader.encoding, onBad}), reader.skipRows)) {
      onPiece?.(piece)
      const {records, error} = await feedInParts(parser, piece, position.pass)
      if (records.length) yield records
      if (error) throw error
    }
    const {records, error} = await feed(parser)
    position.pass(records)
    if (records.length) yield records
    if (error) throw error
  } catch (error) {
    if (error instanceof TextFault) position.pass((await feed(parser, padding)).records)
    throw refusalFor(error, position.next())
  } finally {
    parser.destroy()
  }
}

const parserOf = (reader: CsvReader) => {
  const parser = parse({...parserOptionsOf(reader), relax_quotes: !reader.strictQuotes, max_record_size: maxRecordBytes})
  // `feed` returns the error. Without a listener, the 'error' event would end the process.
  parser.on('error', () => {})
  return parser
}

/**
 * Calls `onOpenQuote` with the index of a record before the record is complete, if text follows the quote that closes a cell of several lines. The
 * quote is then probably the first of a later cell, and the rows between are part of the cell. csv-parse keeps such a cell: it calls `prepend` of the
 * field, which is not in its types, and only for text after a closing quote.
 */
const watchQuotes = (parser: Parser & {state?: {field: ParsedField}}, onOpenQuote: (record: number) => void) => {
  const {field} = parser.state!
  const prepend = field.prepend.bind(field)
  field.prepend = quote => {
    const text = field.buf.subarray(0, field.length)
    if (text.includes(lineFeed) || text.includes(carriageReturn)) onOpenQuote(parser.info.records)
    prepend(quote)
  }
}

type ParsedField = {buf: Buffer; length: number; prepend: (quote: Buffer) => void}

/**
 * The parser holds back a few bytes until more bytes follow. Padding after the last bytes before a fault makes it yield the last complete record, so
 * that the row of the fault is known.
 */
const padding = Buffer.from('xxxxxxxx')

type FedParser = {records: string[][]; error?: Error | null | undefined}

/** The maximum bytes that are parsed without a break, because calls to the CRM and their answers wait for the end of a part. */
const partBytes = 8 * 1024

/** Lets other work run between the parts. `pass` gets each part with the records that it completed. */
const feedInParts = async (parser: Parser, piece: Buffer, pass: (records: string[][], part: Buffer) => void): Promise<FedParser> => {
  const completed: string[][] = []
  for (let from = 0; from < piece.length; from += partBytes) {
    if (from > 0) await setImmediate()
    const part = piece.subarray(from, from + partBytes)
    const {records, error} = await feed(parser, part)
    pass(records, part)
    for (const record of records) completed.push(record)
    if (error) return {records: completed, error}
  }
  return {records: completed}
}

const feed = async (parser: Parser, piece?: Buffer): Promise<FedParser> => {
  const records: string[][] = []
  const drain = () => {
    for (let record = parser.read(); record !== null; record = parser.read()) records.push(record)
  }
  const done = new Promise<FedParser['error']>(resolve => {
    if (piece) parser.write(piece, resolve)
    else parser.end((error?: Error) => resolve(error))
  })
  drain()
  const error = await done
  drain()
  return {records, error}
}

const positionIn = (parser: Parser, {quote, headerRow, skipRows}: CsvReader) => {
  const {info} = parser
  const blankLines = () => info.empty_lines + info.comment_lines
  let [cellLines, blanksBefore, unfinished, quoted] = [0, 0, 0, false]
  // The number of records above the header, and whether the header was passed.
  let [above, hasHeader] = [0, !headerRow]
  const at = (record: number, blanks = blankLines()): CsvPosition => ({
    row: record - above + (headerRow ? 0 : 1),
    line: 1 + skipRows + record + blanks + cellLines,
  })
  /**
   * The line is omitted if the chunk has blank or comment lines, because their positions are unknown. In the last chunk of the file (`last`), the
   * line is always given.
   */
  const within = (record: number, last: boolean): CsvPosition =>
    last || blankLines() === blanksBefore ? at(record, blanksBefore) : {row: at(record).row}
  const pass = (records: string[][], piece?: Buffer) => {
    unfinished += piece?.length ?? 0
    quoted ||= quote !== null && piece?.includes(quote) === true
    if (!records.length && unfinishedCells(parser) > maxRowCells) throw unreadable(at(info.records), 'cells')
    if (!records.length && unfinished > maxUnfinishedBytes) throw unreadable(at(info.records), 'characters')
    const first = info.records - records.length
    for (const [index, cells] of records.entries()) {
      hasHeader ||= isFilled(cells)
      if (!hasHeader) above++
      if (cells.length > maxRowCells) throw unreadable(within(first + index, !piece), 'cells')
      if (index === 0 && unfinished > maxRowCharacters && charactersIn(cells) > maxRowCharacters) {
        throw unreadable(within(first, !piece), 'characters')
      }
      if (quoted) cellLines += linesIn(cells)
    }
    blanksBefore = blankLines()
    if (!records.length) return
    unfinished = piece?.length ?? 0
    quoted = quote !== null && piece?.includes(quote) === true
  }
  return {pass, next: () => at(info.records)}
}

/**
 * The property `state` is not in the types of csv-parse. Without `state`, a line of delimiters would still be refused, but only after
 * `maxUnfinishedBytes`.
 */
const unfinishedCells = (parser: Parser & {state?: {record?: unknown[]}}) => parser.state?.record?.length ?? 0

/** Returns whether the record is more than a line of delimiters. The first such record is the header, if the reader has one. */
export const isFilled = (cells: string[]): boolean => cells.some(cell => cell !== '')

const linesIn = (cells: string[]) => {
  let lines = 0
  for (const cell of cells) {
    for (let at = cell.indexOf('\n'); at >= 0; at = cell.indexOf('\n', at + 1)) lines++
  }
  return lines
}

async function* afterLines(pieces: AsyncIterable<Buffer>, count: number): AsyncGenerator<Buffer, void, undefined> {
  let left = count
  let feedBelongs = false
  for await (const piece of pieces) {
    let from = 0
    while (from < piece.length && (left > 0 || feedBelongs)) {
      const byte = piece[from]
      if (feedBelongs && byte !== lineFeed) {
        feedBelongs = false
        continue
      }
      from++
      if (byte === carriageReturn || (byte === lineFeed && !feedBelongs)) left--
      feedBelongs = byte === carriageReturn
    }
    if (from < piece.length) yield piece.subarray(from)
  }
}
