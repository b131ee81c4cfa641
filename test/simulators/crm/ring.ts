export type Ring<T> = {push: (one: T) => void; list: () => T[]; clear: () => void; readonly total: number}

export const createRing = <T>(limit: number): Ring<T> => {
  let kept: T[] = []
  let next = 0
  let total = 0
  return {
    push: one => {
      total += 1
      if (limit === 0) return
      kept[next] = one
      next = (next + 1) % limit
    },
    list: () => [...kept.slice(next), ...kept.slice(0, next)],
    clear: () => {
      kept = []
      next = 0
      total = 0
    },
    get total() {
      return total
    },
  }
}
