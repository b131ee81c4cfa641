import {chunkRows} from '../../../shared/files/row.ts'

/** Limits of the window: the rows, and the characters of their cells. */
const [windowRows, windowSize] = [5_000, 32 * 1024 ** 2] as const

/**
 * The open rows of a pass. Rows enter the window in file order and leave it in any order. Every row up to `lowWater` is settled, needs no
 * settlement, or is an unanswered create that is searched for.
 */
export type RowWindow = {
  /** Adds a row. `size`: the number of characters of its cells and of its nested rows. */
  enter(number: number, size: number): void
  passOver(number: number): void
  leave(number: number): void
  lowWater(): number
  count(): number
  size(): number
  /**
   * Whether no further row may be read. `others`: rows to count besides those in the window, such as unanswered creates that are searched
   * for.
   */
  isFull(others: {rows: number; size: number}): boolean
  /**
   * Whether another chunk may be prepared. Part of the window stays free for planned rows: if prepared rows filled the window, no row
   * could leave the window.
   */
  hasRoomAhead(): boolean
  /**
   * Whether the rows between the low-water mark and the last row read exceed the window's row limit. A new owner of the run would read all
   * of them again.
   */
  isStretched(): boolean
}

/** `moreRows`: added to the usual row limit, for files of bulk jobs. */
export const openRowWindow = (lowWater: number, moreRows = 0): RowWindow => {
  const mostRows = windowRows + moreRows
  const open = new Map<number, number>()
  let read = lowWater
  let total = 0
  const lowWaterOf = () => {
    const [first] = open.keys()
    return first === undefined ? read : first - 1
  }
  return {
    enter(number, size) {
      total += size - (open.get(number) ?? 0)
      open.set(number, size)
      read = Math.max(read, number)
    },
    passOver(number) {
      read = Math.max(read, number)
    },
    leave: number => {
      total -= open.get(number) ?? 0
      open.delete(number)
    },
    lowWater: lowWaterOf,
    count: () => open.size,
    size: () => total,
    isFull: others => open.size + others.rows >= mostRows || total + others.size >= windowSize,
    isStretched: () => read - lowWaterOf() > mostRows,
    hasRoomAhead: () => open.size <= mostRows - 2 * chunkRows && total <= windowSize / 2,
  }
}
