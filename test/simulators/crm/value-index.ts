import type {Rec} from './store.ts'

/** The live records by value. A value of one record maps to that record, a shared value to a Set. */
export type ValueIndex = {
  fold: boolean
  add: (value: unknown, rec: Rec) => void
  remove: (value: unknown, rec: Rec) => void
  find: (value: unknown) => Iterable<Rec>
  first: (value: unknown, other?: Rec) => Rec | undefined
  count: (value: unknown) => number
}

export const createValueIndex = ({fold}: {fold: boolean}): ValueIndex => {
  const held = new Map<string, Rec | Set<Rec>>()
  const keyOf = (value: unknown) => indexKey(value, fold)
  const find = (value: unknown): Iterable<Rec> => {
    const key = keyOf(value)
    const found = key === null ? undefined : held.get(key)
    return found === undefined ? [] : found instanceof Set ? found : [found]
  }
  return {
    fold,
    find,
    add: (value, rec) => {
      const key = keyOf(value)
      if (key === null) return
      const found = held.get(key)
      if (found === undefined) held.set(key, rec)
      else if (found instanceof Set) found.add(rec)
      else if (found !== rec) held.set(key, new Set([found, rec]))
    },
    remove: (value, rec) => {
      const key = keyOf(value)
      if (key === null) return
      const found = held.get(key)
      if (found === rec) held.delete(key)
      else if (found instanceof Set) {
        found.delete(rec)
        if (found.size === 0) held.delete(key)
      }
    },
    first: (value, other) => {
      for (const rec of find(value)) if (rec !== other) return rec
      return undefined
    },
    count: value => {
      const key = keyOf(value)
      const found = key === null ? undefined : held.get(key)
      return found === undefined ? 0 : found instanceof Set ? found.size : 1
    },
  }
}

/** Returns the key of a value in the index. Null and empty values have none, so they are never duplicates. */
export const indexKey = (value: unknown, fold: boolean): string | null => {
  if (typeof value === 'string') return value === '' ? null : fold ? value.toLowerCase() : value
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  return null
}
