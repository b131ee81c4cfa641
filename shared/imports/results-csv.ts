import {Refusal} from '../errors.ts'
import {lineOf} from './csv-line.ts'
import type {Row} from './row.ts'
import {type Module, type RowOutcome, resultOf} from './row-result.ts'

export const resultsLimit = 64 * 1024 * 1024

export type Results = {
  columns: string[]
  /** Every row the file read, in order, struck ones too. Their cells are written as read, not as cleaned. */
  rows: AsyncIterable<Row[]>
  /** Sorted by row number, at most one for a row. */
  outcomes: AsyncIterable<RowOutcome[]>
  modules: Module[]
  /** Bytes set aside for one results file. */
  limit?: number
}

/**
 * The results file in chunks: the file's own columns, `Result`, a record column per module, `Error`. Line N under the header is row N; a row
 * with no outcome has its values and no result. Cells of a ragged row past the file's columns stand behind `Error`, so that nothing is lost or shifted.
 * Past the limit nothing more is given out, but rows and bytes are counted to the end and then told in `RESULTS_TOO_LARGE`.
 */
export async function* writeResults({
  columns,
  rows,
  outcomes,
  modules,
  limit = resultsLimit,
}: Results): AsyncGenerator<Buffer, void, undefined> {
  const total = {rows: 0, bytes: 0}
  const blank = new Array<string>(modules.length + 2).fill('')
  const pending = openPending(outcomes)
  const counted = function* (text: string) {
    const chunk = Buffer.from(text)
    total.bytes += chunk.length
    if (total.bytes <= limit && chunk.length) yield chunk
  }
  try {
    yield* counted(`${lineOf([...columns, ...ownColumns(columns, modules)])}\r\n`)
    for await (const chunk of rows) {
      const found = await pending.through(chunk.at(-1)?.rowNumber ?? 0)
      let text = ''
      for (const row of chunk)
        text += `${lineOf(placed(row.read ?? row.cells, columns.length, cellsOf(outcomeOf(row, found), modules) ?? blank))}\r\n`
      total.rows += chunk.length
      yield* counted(text)
    }
  } finally {
    await pending.close()
  }
  if (total.bytes > limit) throw tooLarge({...total, limit})
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

/** A row that cleaning struck has no outcome of its own. */
const outcomeOf = ({rowNumber, struck}: Row, found: Map<number, RowOutcome>): RowOutcome | undefined =>
  struck === undefined ? found.get(rowNumber) : {rowNumber, excluded: true, entries: []}

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

/** Outcomes read as far as the rows have come, never the whole of them. */
const openPending = (outcomes: AsyncIterable<RowOutcome[]>) => {
  const iterator = outcomes[Symbol.asyncIterator]()
  let waiting: RowOutcome[] = []
  let done = false
  const through = async (rowNumber: number) => {
    while (!done && (waiting.at(-1)?.rowNumber ?? 0) < rowNumber) {
      const next = await iterator.next()
      if (next.done) done = true
      else waiting = waiting.length ? waiting.concat(next.value) : next.value
    }
    const later = waiting.findIndex(outcome => outcome.rowNumber > rowNumber)
    const ready = later < 0 ? waiting : waiting.slice(0, later)
    waiting = later < 0 ? [] : waiting.slice(later)
    return new Map(ready.map(outcome => [outcome.rowNumber, outcome]))
  }
  return {through, close: () => iterator.return?.()}
}

const tooLarge = ({rows, bytes, limit}: {rows: number; bytes: number; limit: number}) =>
  new Refusal(
    'RESULTS_TOO_LARGE',
    `The results would take ${bytes.toLocaleString('en')} bytes for ${rows.toLocaleString('en')} rows, more than the ${limit.toLocaleString('en')} set aside. Read the run's records page by page, or import the file in parts`,
    {rows, bytes, limit},
  )
