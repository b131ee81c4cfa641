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
  }
}
