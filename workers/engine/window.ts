/**
 * The rows between the low-water mark and the reader. Rows enter in the order of the file and leave in any; every row up to
 * `lowWater` has its final entry or needs none. Bounded by the pass, so memory does not grow with the file.
 */
export type Window = {
  enter(number: number): void
  passOver(number: number): void
  leave(number: number): void
  lowWater(): number
  size(): number
}

export const openWindow = (lowWater: number): Window => {
  const open = new Set<number>()
  let read = lowWater
  return {
    enter(number) {
      open.add(number)
      read = Math.max(read, number)
    },
    passOver(number) {
      read = Math.max(read, number)
    },
    leave: number => {
      open.delete(number)
    },
    lowWater: () => {
      const [first] = open
      return first === undefined ? read : first - 1
    },
    size: () => open.size,
  }
}
