import {bounded, type Piece} from './bounded.ts'
import {guardCell} from './formula-guard.ts'
import {BYTE_ORDER_MARK, type Results} from './results-csv.ts'
import type {Row} from './row.ts'
import {type JoinedRow, joinOutcomes} from './row-outcomes.ts'
import {type OutcomeEntry, resultOf, saysMayExist} from './row-result.ts'
import {resolveReader, sampleBytes} from './sniff.ts'

const separatorLine = 'sep=,\r\n'

/**
 * The rows that failed, with their cells as read, in a file that can be put right and imported again as it is: commas, quotes where any
 * reader could be misled, the columns' names as the run knew them. No cell starts a formula: `guardCell` puts an apostrophe in front, which the
 * import takes off again. Left out are rows of which
 * a create was never answered, whatever came later and in whichever run of the chain: imported again they might be there twice.
 */
export const writeFailed = ({columns, rows, outcomes, limit}: Omit<Results, 'modules'>): AsyncGenerator<Buffer, void, undefined> =>
  bounded(sniffable(piecesOf(columns, joinOutcomes(rows, outcomes))), {limit})

async function* piecesOf(columns: string[], joined: AsyncIterable<JoinedRow[]>): AsyncGenerator<Piece> {
  yield {rows: 0, text: lineOf(columns)}
  for await (const chunk of joined) {
    const failed = chunk.filter(isFailed)
    if (failed.length) yield {rows: failed.length, text: failed.map(({row}) => lineOf(cellsOf(row))).join('')}
  }
}

const isFailed = ({outcome}: JoinedRow) =>
  outcome !== undefined && resultOf(outcome, []).result === 'Failed' && !outcome.entries.some(isMaybeThere)

const isMaybeThere = ({disclosed, message}: OutcomeEntry) => disclosed || saysMayExist(message)

const cellsOf = ({read, cells}: Row) => read ?? cells

/** A line of one empty cell would be no line. */
const lineOf = (cells: string[]) =>
  cells.length === 1 && cells[0] === '' ? '""\r\n' : `${cells.map(cell => cellOf(guardCell(cell))).join(',')}\r\n`

const cellOf = (cell: string) => (/[",;|\t\r\n]|^\s|\s$/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)

/** A `sep=,` line goes above if the delimiter would be counted wrong, or if the sample would not show that apostrophes are to be removed. */
async function* sniffable(pieces: AsyncIterable<Piece>): AsyncGenerator<Piece> {
  let head: Piece | null = {rows: 0, text: ''}
  const withMark = ({rows, text}: Piece): Piece => ({rows, text: BYTE_ORDER_MARK + (isReadRight(text) ? '' : separatorLine) + text})
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
