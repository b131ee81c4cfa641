import type {Row} from './row.ts'
import type {RowOutcome} from './row-result.ts'

/** A row of the file, and what became of it where the run says anything. */
export type JoinedRow = {row: Row; outcome: RowOutcome | undefined}

/** Every row of a file with its outcome. Both are in the order of rows, so neither is ever held whole. */
export async function* joinOutcomes(
  rows: AsyncIterable<Row[]>,
  outcomes: AsyncIterable<RowOutcome[]>,
): AsyncGenerator<JoinedRow[], void, undefined> {
  const pending = openPending(outcomes)
  try {
    for await (const chunk of rows) {
      const found = await pending.through(chunk.at(-1)?.rowNumber ?? 0)
      yield chunk.map(row => ({row, outcome: outcomeOf(row, found)}))
    }
  } finally {
    await pending.close()
  }
}

/** A row that cleaning struck has no outcome of its own. */
const outcomeOf = ({rowNumber, struck}: Row, found: Map<number, RowOutcome>): RowOutcome | undefined =>
  struck === undefined ? found.get(rowNumber) : {rowNumber, excluded: true, entries: []}

/** Outcomes read as far as the rows have come. */
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
