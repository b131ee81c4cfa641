/**
 * The rows between the low-water mark and the reader. Rows enter in the order of the file and leave in any; every row up to
 * `lowWater` has its final entry or needs none. Bounded by the pass, so memory does not grow with the file.
 */
export type Window = {
  /** `size`: what the row takes of memory, roughly. */
  enter(number: number, size: number): void
  passOver(number: number): void
  leave(number: number): void
  lowWater(): number
  count(): number
  size(): number
}

export const openWindow = (lowWater: number): Window => {
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
