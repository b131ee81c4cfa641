import {bounded} from './bounded.ts'
import {lineOf} from './csv-line.ts'
import type {Row} from './row.ts'
import {type JoinedRow, joinOutcomes} from './row-outcomes.ts'
import {type Module, type RowOutcome, resultOf} from './row-result.ts'

export type Results = {
  columns: string[]
  /** Every row the file read, in order, struck ones too. Their cells are written as read, not as cleaned. */
  rows: AsyncIterable<Row[]>
  /** Sorted by row number, at most one for a row. */
  outcomes: AsyncIterable<RowOutcome[]>
  modules: Module[]
  /** The largest file, in bytes. */
  limit?: number
  part?: ResultsPart | undefined
  /** Called with the first row of the next part if this part was cut at the limit. */
  onNext?: (row: number) => void
}

/** Rows `from` to `to` by their numbers. Without `to`, as many as fit into one file. `header: false`: continues the part before. */
export type ResultsPart = {from?: number; to?: number; header?: boolean; byteOrderMark?: boolean}

export const BYTE_ORDER_MARK = '\ufeff'

/**
 * The results file in chunks: the file's own columns, `Result`, a record column per module, `Error`. Line N under the header is row N, in a
 * part row `from` + N - 1; a row with no outcome has its values and no result. Cells of a ragged row past the file's columns stand behind
 * `Error`, so that nothing is lost or shifted.
 */
export const writeResults = (results: Results): AsyncGenerator<Buffer, void, undefined> => {
  const {limit, part: {from, to} = {}, onNext} = results
  const isOpenEnded = from !== undefined && to === undefined
  return bounded(piecesOf(results), {limit, otherwise: inParts, ...(isOpenEnded && {onCut: rows => onNext?.(from + rows)})})
}

const inParts =
  "Download it in parts: with from=1 the answer has the first rows, and its Link header the address of the next part. Or read the run's records page by page"

async function* piecesOf({columns, rows, outcomes, modules, part: {from = 1, to = Infinity, header = true, byteOrderMark} = {}}: Results) {
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

/** Long rows are given out before a whole chunk of them is in memory. */
const pieceLength = 1024 ** 2

/** Row numbers have no gaps. */
async function* within(chunks: AsyncIterable<Row[]>, from: number, to: number) {
  for await (const rows of chunks) {
    const chosen = from === 1 && to === Infinity ? rows : rows.filter(({rowNumber}) => rowNumber >= from && rowNumber <= to)
    if (chosen.length) yield chosen
    if ((rows.at(-1)?.rowNumber ?? 0) >= to) return
  }
}

/** A file column already called one of ours keeps its name; ours is prefixed. */
const ownColumns = (columns: string[], modules: Module[]) => {
  const taken = new Set(columns)
  return ['Result', ...modules.map(({label}) => `${label} record`), 'Error'].map(name => {
    let own = name
    while (taken.has(own)) own = `lading: ${own}`
    taken.add(own)
    return own
  })
}

const cellsOf = (outcome: RowOutcome | undefined, modules: Module[]) => {
  if (!outcome) return
  const {result, records, error} = resultOf(outcome, modules)
  return [result, ...records, error]
}

const placed = (cells: string[], width: number, own: string[]) => {
  if (cells.length === width) return cells.concat(own)
  const missing = new Array<string>(Math.max(0, width - cells.length)).fill('')
  return [...cells.slice(0, width), ...missing, ...own, ...cells.slice(width)]
}
