import type {LogRow} from './ledger.ts'

/** The number of row numbers of a block, as in the view `log_entries` and the table `admitted_blocks`. */
export const BLOCK_ROWS = 1_024
/** The limit on entries in one chunk, which is one row of `log_batches`. It bounds what a reader unpacks for one entry. */
export const MOST_IN_CHUNK = 1_000

/** A chunk of a sorted log: the positions of its first and last entry, counted from 1. */
export type LogChunk = {first: number; last: number; block: number}

/** Returns the number of the block that contains the row number; -1 for an entry without a row number. */
export const blockOf = (row: number | null) => (row === null ? -1 : Math.floor(row / BLOCK_ROWS))

/**
 * Sorts entries by block, so that entries of one block share as few chunks as possible. Entries of one row keep their order, because the order
 * may decide the final outcome of the row. If any entry has no row number, as in external runs, the whole log keeps its order.
 */
export const sortByBlock = (log: readonly LogRow[]): readonly LogRow[] => {
  const keepsOrder =
    log.some(({number}) => number === null) || log.every(({number}, at) => at === 0 || blockOf(log[at - 1]!.number) <= blockOf(number))
  return keepsOrder ? log : log.toSorted((a, b) => blockOf(a.number) - blockOf(b.number))
}

/** Divides entries sorted by block into chunks. */
export const chunksOf = (log: readonly LogRow[]): LogChunk[] => {
  const chunks: LogChunk[] = []
  for (const [at, {number}] of log.entries()) {
    const block = blockOf(number)
    const chunk = chunks.at(-1)
    if (chunk?.block === block && at + 1 - chunk.first < MOST_IN_CHUNK) chunk.last = at + 1
    else chunks.push({first: at + 1, last: at + 1, block})
  }
  return chunks
}
