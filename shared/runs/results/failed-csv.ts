import {bounded, type TextPiece} from '../../files/bounded.ts'
import type {FileRow} from '../../files/row.ts'
import {resolveReader, sampleBytes} from '../../files/text/sniff.ts'
import {guardCell} from './formula-guard.ts'
import {BYTE_ORDER_MARK, type ResultsInput} from './results-csv.ts'
import {type JoinedRow, joinOutcomes} from './row-outcomes.ts'
import {mentionsMayExist, type OutcomeEntry, resultOf} from './row-result.ts'

const separatorLine = 'sep=,\r\n'

/**
 * Writes the failed rows with their cells as read, in a CSV file that can be corrected and imported again. `guardCell` puts an apostrophe
 * before a cell that would start a formula, and the import removes it. If a create of a row was never answered in a run of the chain, the
 * row is left out, because a new import could create it twice.
 */
export const writeFailed = ({columns, rows, outcomes, limit}: Omit<ResultsInput, 'modules'>): AsyncGenerator<Buffer, void, undefined> =>
  bounded(sniffable(piecesOf(columns, joinOutcomes(rows, outcomes))), {limit})

async function* piecesOf(columns: string[], joined: AsyncIterable<JoinedRow[]>): AsyncGenerator<TextPiece> {
  yield {rows: 0, text: lineOf(columns)}
  for await (const chunk of joined) {
    const failed = chunk.filter(isFailed)
    if (failed.length) yield {rows: failed.length, text: failed.map(({row}) => lineOf(cellsOf(row))).join('')}
  }
}

const isFailed = ({outcome}: JoinedRow) =>
  outcome !== undefined && resultOf(outcome, []).result === 'Failed' && !outcome.entries.some(isMaybeThere)

const isMaybeThere = ({disclosed, message}: OutcomeEntry) => disclosed || mentionsMayExist(message)

const cellsOf = ({read, cells}: FileRow) => read ?? cells

/** Writes a line. If its only cell is empty, writes `""`, because readers skip an empty line. */
const lineOf = (cells: string[]) =>
  cells.length === 1 && cells[0] === '' ? '""\r\n' : `${cells.map(cell => cellOf(guardCell(cell))).join(',')}\r\n`

const cellOf = (cell: string) => (/[",;|\t\r\n]|^\s|\s$/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)

/**
 * Adds a `sep=,` line if the sniffer would choose another delimiter, or if the sample would not show that apostrophes are to be removed.
 */
async function* sniffable(pieces: AsyncIterable<TextPiece>): AsyncGenerator<TextPiece> {
  let head: TextPiece | null = {rows: 0, text: ''}
  const withMark = ({rows, text}: TextPiece): TextPiece => ({rows, text: BYTE_ORDER_MARK + (isReadRight(text) ? '' : separatorLine) + text})
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

const isReadRight = (text: string) => {
  const {delimiter, skipRows, apostrophes} = resolveReader(Buffer.from(BYTE_ORDER_MARK + text).subarray(0, sampleBytes)).reader
  const isWhole = Buffer.byteLength(BYTE_ORDER_MARK + text) < sampleBytes
  return delimiter === ',' && skipRows === 0 && (isWhole || apostrophes === 'remove')
}
