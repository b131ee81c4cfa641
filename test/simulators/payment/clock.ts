import type {Store} from './store.ts'

export type Instant = number | string | Date

/** Seconds since 1970, as everywhere in this API. */
export const toSeconds = (at: Instant): number => {
  const seconds = typeof at === 'number' ? at : Math.floor(new Date(at).getTime() / 1000)
  if (!Number.isSafeInteger(seconds)) throw new TypeError(`Not an instant, in whole seconds: ${String(at)}`)
  return seconds
}

/** The provider's time. It stands still until moved; due actions are executed in order on the way. */
export type Clock = {
  now: () => number
  /** The next action due until then, after setting the clock to its time; null if there is none. */
  next: (until: number) => string | null
  set: (at: number) => void
  /** Plans one action per name, by the prefixes in `due.ts`; planning it again moves it. Of actions at the same time the lower rank comes first. */
  plan: (name: string, at: number, rank?: number) => void
  cancel: (name: string) => void
}

export const createClock = (store: Store, at: Instant): Clock => {
  let now = toSeconds(at)
  return {
    now: () => now,
    set: to => {
      if (to < now) throw new TypeError('This clock goes forwards only')
      now = to
    },
    plan: (name, due, rank = 5) => {
      store.drop('~due', name)
      store.put({id: name, object: '~due', at: due, rank})
    },
    cancel: name => store.drop('~due', name),
    next: until => {
      const [first] = store
        .all('~due')
        .filter(due => due.at <= until)
        .toSorted((a, b) => a.at - b.at || a.rank - b.rank)
      if (!first) return null
      store.drop('~due', first.id)
      now = Math.max(now, first.at)
      return first.id
    },
  }
}
