import type {LogRow} from './ledger.ts'

/** The number of row numbers of a slot, as in the view `log_entries`. */
const slotRows = 1_024
/** The most entries of one row of `log_batches`. It bounds what a reader unpacks for one entry. */
export const MOST_PACKED = 1_000

/** Positions of the entries of one pack in the list, from 1, both included. */
export type LogPack = {first: number; last: number; slot: number}

/** Returns the slot of a row number: entries of nearby rows share it. Entries without a row number are in slot -1. */
export const slotOf = (row: number | null) => (row === null ? -1 : Math.floor(row / slotRows))

/** Sorts entries by slot, so that each slot is one pack. Entries of one row keep their order, which decides its final outcome. */
export const sortBySlot = (log: readonly LogRow[]): readonly LogRow[] => {
  const isSorted = log.every(({number}, at) => at === 0 || slotOf(log[at - 1]!.number) <= slotOf(number))
  return isSorted ? log : log.toSorted((a, b) => slotOf(a.number) - slotOf(b.number))
}

/** Divides entries sorted by slot into packs. */
export const packsOf = (log: readonly LogRow[]): LogPack[] => {
  const packs: LogPack[] = []
  for (const [at, {number}] of log.entries()) {
    const slot = slotOf(number)
    const pack = packs.at(-1)
    if (pack?.slot === slot && at + 1 - pack.first < MOST_PACKED) pack.last = at + 1
    else packs.push({first: at + 1, last: at + 1, slot})
  }
  return packs
}
