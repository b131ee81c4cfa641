import type {Tx} from '../../../sql/database.ts'
import type {LogRow} from '../../../sql/ledger.ts'
import {countAt, listLoggedTwice, type OutcomeName, outcomeNo, unchangedAt} from '../../../sql/run-log.ts'

/** `list` returns the changes by position in the run's counts. */
export type Counts = {
  add(module: number, outcome: OutcomeName, change: 1 | -1): void
  /** Changes the count of unchanged rows. The caller also changes the count of skipped rows. */
  addUnchanged(module: number, change: 1 | -1): void
  list(): number[]
}

export const openCounts = (): Counts => {
  const changes = new Map<number, number>()
  const addAt = (at: number, change: number) => changes.set(at, (changes.get(at) ?? 0) + change)
  return {
    add: (module, outcome, change) => void addAt(countAt(module, outcome), change),
    addUnchanged: (module, change) => void addAt(unchangedAt(module), change),
    list() {
      const list = new Array<number>(Math.max(0, ...[...changes.keys()].map(at => at + 1))).fill(0)
      for (const [at, change] of changes) list[at] = change
      return list
    },
  }
}

const TWICE = outcomeNo('made_after_no_answer')

/**
 * Returns the counts with the rows that the log names as records that may exist twice. A row counts once in its run. The caller must have locked the
 * run, and must not have written the log yet.
 */
export const withTwice = async (tx: Tx, run: number, {log, counts}: {log: LogRow[]; counts: number[]}): Promise<number[]> => {
  const rows = new Map(log.filter(({outcome}) => outcome === TWICE).map(row => [nameOf(row), row]))
  if (rows.size === 0) return counts
  for (const known of await listLoggedTwice(tx, {run, rows: [...rows.values()]})) rows.delete(nameOf(known))
  const places = [...rows.values()].map(({module}) => countAt(module, 'made_after_no_answer'))
  const length = Math.max(counts.length, ...places.map(place => place + 1))
  return Array.from({length}, (_, at) => (counts[at] ?? 0) + places.filter(place => place === at).length)
}

const nameOf = ({module, key}: Pick<LogRow, 'module' | 'key'>) => `${module} ${key}`
