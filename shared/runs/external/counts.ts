import {countAt, type OutcomeName, unchangedAt} from '../../../sql/run-log.ts'

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
