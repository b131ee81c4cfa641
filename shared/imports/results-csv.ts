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
  /** Bytes set aside for one file. */
  limit?: number
}

/**
 * The results file in chunks: the file's own columns, `Result`, a record column per module, `Error`. Line N under the header is row N; a row
 * with no outcome has its values and no result. Cells of a ragged row past the file's columns stand behind `Error`, so that nothing is lost or shifted.
 */
export const writeResults = (results: Results): AsyncGenerator<Buffer, void, undefined> => bounded(piecesOf(results), results.limit)

async function* piecesOf({columns, rows, outcomes, modules}: Results) {
  const blank = new Array<string>(modules.length + 2).fill('')
  const line = ({row, outcome}: JoinedRow) => lineOf(placed(row.read ?? row.cells, columns.length, cellsOf(outcome, modules) ?? blank))
  yield {rows: 0, text: `${lineOf([...columns, ...ownColumns(columns, modules)])}\r\n`}
  for await (const joined of joinOutcomes(rows, outcomes)) {
    let text = ''
    for (const one of joined) text += `${line(one)}\r\n`
    yield {rows: joined.length, text}
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
