import type {LogRow} from './ledger.ts'

/** The number of row numbers of a block, as in the view `log_entries` and the table `admitted_blocks`. */
export const BLOCK_ROWS = 1_024
/** The most entries of one row of `log_batches`. It bounds what a reader unpacks for one entry. */
export const MOST_PACKED = 1_000

/** Positions of the entries of one pack in the list, from 1, both included. */
export type LogPack = {first: number; last: number; block: number}

/** Returns the block of a row number: entries of nearby rows share it. Entries without a row number are in block -1. */
export const blockOf = (row: number | null) => (row === null ? -1 : Math.floor(row / BLOCK_ROWS))

/** Sorts entries by block, so that each block is one pack. Entries of one row keep their order, which decides its final outcome. */
export const sortByBlock = (log: readonly LogRow[]): readonly LogRow[] => {
  const isSorted = log.every(({number}, at) => at === 0 || blockOf(log[at - 1]!.number) <= blockOf(number))
  return isSorted ? log : log.toSorted((a, b) => blockOf(a.number) - blockOf(b.number))
}

/** Divides entries sorted by block into packs. */
export const packsOf = (log: readonly LogRow[]): LogPack[] => {
  const packs: LogPack[] = []
  for (const [at, {number}] of log.entries()) {
    const block = blockOf(number)
    const pack = packs.at(-1)
    if (pack?.block === block && at + 1 - pack.first < MOST_PACKED) pack.last = at + 1
    else packs.push({first: at + 1, last: at + 1, block})
  }
  return packs
}
