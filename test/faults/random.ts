/** Random choices that are equal for equal seeds (mulberry32), so that the faults of a seed can be repeated. The timing still varies. */
export type Random = {
  /** Returns a number from 0 up to but not including 1. */
  roll(): number
  chance(of: number): boolean
  /** Returns a whole number from `from` to `to`, both included. */
  between(from: number, to: number): number
  pick<T>(from: readonly T[]): T
}

export const openRandom = (seed: number): Random => {
  let state = Math.imul(seed, 0x9e3779b1) >>> 0
  const roll = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
  const between = (from: number, to: number) => from + Math.floor(roll() * (to - from + 1))
  return {roll, between, chance: of => roll() < of, pick: from => from[between(0, from.length - 1)]!}
}
