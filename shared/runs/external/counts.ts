import {countAt, type OutcomeName} from '../../../sql/run-log.ts'

/** Collects changes of a run's counts and returns them as one list. */
export type Counts = {add(module: number, outcome: OutcomeName, change: 1 | -1): void; list(): number[]}

export const openCounts = (): Counts => {
  const changes = new Map<number, number>()
  return {
    add(module, outcome, change) {
      const at = countAt(module, outcome)
      changes.set(at, (changes.get(at) ?? 0) + change)
    },
    list() {
      const list = new Array<number>(Math.max(0, ...[...changes.keys()].map(at => at + 1))).fill(0)
      for (const [at, change] of changes) list[at] = change
      return list
    },
  }
}
