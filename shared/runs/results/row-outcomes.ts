import type {FileRow} from '../../files/row.ts'
import type {RowOutcome} from './row-result.ts'

export type JoinedRow = {row: FileRow; outcome: RowOutcome | undefined}

/** Joins every row of a file with its outcome. Both inputs must be in row order, so that memory stays bounded. */
export async function* joinOutcomes(
  rows: AsyncIterable<FileRow[]>,
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

/** A row that cleaning excluded has no log entry, so its outcome is made here. */
const outcomeOf = ({rowNumber, struck}: FileRow, found: Map<number, RowOutcome>): RowOutcome | undefined =>
  struck === undefined ? found.get(rowNumber) : {rowNumber, excluded: true, entries: []}

/** `through` returns the outcomes up to a row, and keeps the later ones for the next call. */
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
