import {bounded, type TextPiece} from '../../files/bounded.ts'
import type {FileRow} from '../../files/row.ts'
import {resolveReader, sampleBytes} from '../../files/text/sniff.ts'
import {guardCell} from './formula-guard.ts'
import {type FailedRowsOrigin, nameReasonColumns} from './reason-columns.ts'
import {BYTE_ORDER_MARK, type ResultsInput} from './results-csv.ts'
import {type JoinedRow, joinOutcomes} from './row-outcomes.ts'
import {mayHaveRecord, resultOf} from './row-result.ts'

type FailedInput = Omit<ResultsInput, 'part' | 'onNext'> & {delimiter: string; origin?: FailedRowsOrigin | undefined}

/** The delimiters that the sniffer can find. For a file with another delimiter, commas are used. */
const delimiters = [',', ';', '\t', '|']

/**
 * Writes failed.csv: the reason columns, then the cells of the failed rows as read or edited. A person corrects this file and uploads it to the
 * corrections of its run. `guardCell` puts an apostrophe before cells that would start a formula, and the reader of failed.csv removes it. Rows
 * with an unanswered create in the chain are left out, because a new import could create their records twice. Ragged rows are left out, because they
 * cannot be corrected cell by cell.
 */
export const writeFailed = ({columns, rows, outcomes, modules, limit, delimiter: given, origin}: FailedInput) => {
  const delimiter = delimiters.includes(given) ? given : ','
  return bounded(sniffable(piecesOf(columns, joinOutcomes(rows, outcomes), {modules, delimiter, origin}), delimiter), {limit})
}

type LineOptions = Pick<FailedInput, 'modules' | 'delimiter' | 'origin'>

async function* piecesOf(
  columns: string[],
  joined: AsyncIterable<JoinedRow[]>,
  {modules, delimiter, origin}: LineOptions,
): AsyncGenerator<TextPiece> {
  yield {rows: 0, text: lineOf([...nameReasonColumns(origin), ...columns], delimiter)}
  for await (const chunk of joined) {
    const failed = chunk.filter(isFailed)
    const lines = failed.map(({row, outcome}) => {
      const {error} = resultOf(outcome!, modules)
      return lineOf([String(row.rowNumber), error, ...correctedCells(row)], delimiter)
    })
    if (lines.length) yield {rows: lines.length, text: lines.join('')}
  }
}

/** Returns the cells as read, with the edits of a person, so that edits need not be repeated. */
const correctedCells = ({cells, read = cells, edited = {}}: FileRow) => read.map((cell, at) => edited[at] ?? cell)

const isFailed = ({row, outcome}: JoinedRow) =>
  !row.ragged && outcome !== undefined && resultOf(outcome, []).result === 'Failed' && !outcome.entries.some(mayHaveRecord)

const lineOf = (cells: string[], delimiter: string) => `${cells.map(cell => cellOf(guardCell(cell))).join(delimiter)}\r\n`

const cellOf = (cell: string) => (/[",;|\t\r\n]|^\s|\s$/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)

/** Adds a byte order mark. Adds a `sep=` line if the sniffer would otherwise choose another delimiter or not recognise the reason columns. */
async function* sniffable(pieces: AsyncIterable<TextPiece>, delimiter: string): AsyncGenerator<TextPiece> {
  let head: TextPiece | null = {rows: 0, text: ''}
  const withMark = ({rows, text}: TextPiece): TextPiece => ({
    rows,
    text: `${BYTE_ORDER_MARK}${isReadRight(text, delimiter) ? '' : `sep=${delimiter}\r\n`}${text}`,
  })
  for await (const piece of pieces) {
    if (!head) yield piece
    else {
      head = {rows: head.rows + piece.rows, text: head.text + piece.text}
      if (head.text.length < sampleBytes) continue
      yield withMark(head)
      head = null
    }
  }
  if (head) yield withMark(head)
}

const isReadRight = (text: string, wanted: string) => {
  const {delimiter, skipRows, reasons} = resolveReader(Buffer.from(BYTE_ORDER_MARK + text).subarray(0, sampleBytes)).reader
  return delimiter === wanted && skipRows === 0 && reasons === 'remove'
}
