import {bounded} from '../../files/bounded.ts'
import {lineOf} from '../../files/csv/csv-line.ts'
import type {FileRow} from '../../files/row.ts'
import {type JoinedRow, joinOutcomes} from './row-outcomes.ts'
import {type ResultModule, type RowOutcome, resultOf} from './row-result.ts'

export type ResultsInput = {
  columns: string[]
  /** Every row of the file in order, including excluded rows. Cells are written as read, not as cleaned. */
  rows: AsyncIterable<FileRow[]>
  /** The outcomes of the rows, sorted by row number, at most one per row. */
  outcomes: AsyncIterable<RowOutcome[]>
  modules: ResultModule[]
  limit?: number
  part?: ResultsPart | undefined
  /** Called with the first row of the next part, if this part was cut at the limit. */
  onNext?: (row: number) => void
}

/**
 * A part of the results file: the rows `from` to `to`. With `from` but without `to`, the part has as many rows as fit into one file. `header:
 * false`: the part continues the previous one.
 */
export type ResultsPart = {from?: number; to?: number; header?: boolean; byteOrderMark?: boolean}

export const BYTE_ORDER_MARK = '\ufeff'

/**
 * Writes the results file. The columns are the file's own, `Result`, a record column per module, and `Error`. Record N below the header is
 * row N; in a part, row `from` + N - 1. The result of a row without an outcome is empty. If a row has more cells than columns, the further
 * cells follow `Error`, so that no cell is lost or shifted.
 */
export const writeResults = (results: ResultsInput): AsyncGenerator<Buffer, void, undefined> => {
  const {limit, part: {from, to} = {}, onNext} = results
  const isOpenEnded = from !== undefined && to === undefined
  return bounded(piecesOf(results), {limit, otherwise: inParts, ...(isOpenEnded && {onCut: rows => onNext?.(from + rows)})})
}

const inParts =
  "Download it in parts: with from=1 the answer has the first rows, and its Link header has the address of the next part. Or read the run's records page by page"

async function* piecesOf({
  columns,
  rows,
  outcomes,
  modules,
  part: {from = 1, to = Infinity, header = true, byteOrderMark} = {},
}: ResultsInput) {
  const blank = new Array<string>(modules.length + 2).fill('')
  const line = ({row, outcome}: JoinedRow) => lineOf(placed(row.read ?? row.cells, columns.length, cellsOf(outcome, modules) ?? blank))
  const head = header ? `${lineOf([...columns, ...ownColumns(columns, modules)])}\r\n` : ''
  yield {rows: 0, text: (byteOrderMark ? BYTE_ORDER_MARK : '') + head}
  for await (const joined of joinOutcomes(within(rows, from, to), outcomes)) {
    let piece = {rows: 0, text: ''}
    for (const one of joined) {
      piece = {rows: piece.rows + 1, text: `${piece.text}${line(one)}\r\n`}
      if (piece.text.length < pieceLength) continue
      yield piece
      piece = {rows: 0, text: ''}
    }
    if (piece.rows) yield piece
  }
}

/** Length in characters at which a piece of text ends, to limit the memory for long rows. */
const pieceLength = 1024 ** 2

/** The rows are in ascending order, so reading stops after `to`. */
async function* within(chunks: AsyncIterable<FileRow[]>, from: number, to: number) {
  for await (const rows of chunks) {
    const chosen = from === 1 && to === Infinity ? rows : rows.filter(({rowNumber}) => rowNumber >= from && rowNumber <= to)
    if (chosen.length) yield chosen
    if ((rows.at(-1)?.rowNumber ?? 0) >= to) return
  }
}

/** Returns the names of the columns that Lading adds. If the file already has a column of that name, the name gets the prefix `lading: `. */
const ownColumns = (columns: string[], modules: ResultModule[]) => {
  const taken = new Set(columns)
  return ['Result', ...modules.map(({label}) => `${label} record`), 'Error'].map(name => {
    let own = name
    while (taken.has(own)) own = `lading: ${own}`
    taken.add(own)
    return own
  })
}

const cellsOf = (outcome: RowOutcome | undefined, modules: ResultModule[]) => {
  if (!outcome) return
  const {result, records, error} = resultOf(outcome, modules)
  return [result, ...records, error]
}

const placed = (cells: string[], width: number, own: string[]) => {
  if (cells.length === width) return cells.concat(own)
  const missing = new Array<string>(Math.max(0, width - cells.length)).fill('')
  return [...cells.slice(0, width), ...missing, ...own, ...cells.slice(width)]
}
