import {chunkRows} from '../../../shared/files/row.ts'

/** The limits on rows in progress above the low-water mark, and on characters of their cells. They bound memory and what a new owner reads again. */
export const [windowRows, windowSize] = [5_000, 32 * 1024 ** 2] as const

/**
 * The rows between the low-water mark and the reader. Rows enter in file order and leave in any order. Every row up to `lowWater` has its
 * final log entry or needs none. The pass bounds the window, so memory does not grow with the file.
 */
export type RowWindow = {
  /** Adds a row. `size`: its estimated bytes. */
  enter(number: number, size: number): void
  passOver(number: number): void
  leave(number: number): void
  lowWater(): number
  count(): number
  size(): number
  /**
   * Whether another chunk may be prepared. The rest of the window is left to planned rows. If prepared rows alone filled the window, no row could
   * leave it.
   */
  hasRoomAhead(): boolean
}

export const openRowWindow = (lowWater: number): RowWindow => {
  const open = new Map<number, number>()
  let read = lowWater
  let total = 0
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
    lowWater: () => {
      const [first] = open.keys()
      return first === undefined ? read : first - 1
    },
    count: () => open.size,
    size: () => total,
    hasRoomAhead: () => open.size <= windowRows - 2 * chunkRows && total <= windowSize / 2,
  }
}
