import {advanceInvoice, advanceSubscription} from './billing.ts'
import {expire} from './checkout.ts'
import {advanceSchedule} from './schedules.ts'
import type {SimulatorState} from './state.ts'
import type {Store} from './store.ts'

export type Instant = number | string | Date

/** Returns the seconds since 1970, the unit of all times in this API. */
export const toSeconds = (at: Instant): number => {
  const seconds = typeof at === 'number' ? at : Math.floor(new Date(at).getTime() / 1000)
  if (!Number.isSafeInteger(seconds)) throw new TypeError(`Not an instant, in whole seconds: ${String(at)}`)
  return seconds
}

/** Creates the provider's clock, which changes only when it is moved. Due actions are executed in order on the way. */
export const createClock = (store: Store, at: Instant) => {
  let now = toSeconds(at)
  return {
    now: () => now,
    set: (to: number) => {
      if (to < now) throw new TypeError('This clock goes forwards only')
      now = to
    },
    /**
     * Plans one action per name, see `runDue`. A second plan of the name replaces the first. Of actions at the same time, the lowest rank
     * comes first.
     */
    plan: (name: string, due: number, rank = 5) => {
      store.drop('~due', name)
      store.put({id: name, object: '~due', at: due, rank})
    },
    cancel: (name: string) => store.drop('~due', name),
    /** Removes the next action that is due by `until`, sets the clock to its time and returns its name; null if none is due. */
    next: (until: number): string | null => {
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

/** Executes a planned action. The first part of its name is the kind, the rest an id. Deliveries are skipped here and sent together later. */
export const runDue = (world: SimulatorState, name: string) => {
  const [kind, id = ''] = name.split(':')
  if (kind === 'checkout') expire(world, world.store.get('checkout.session', id)!)
  else if (kind === 'invoice') advanceInvoice(world, id)
  else if (kind === 'schedule') advanceSchedule(world, id)
  else if (kind === 'subscription') advanceSubscription(world, id)
  else if (kind !== 'delivery') throw new Error(`Nothing is planned under ${name}`)
}

export type Interval = {interval: 'day' | 'week' | 'month' | 'year'; interval_count: number}

const day = 24 * 3600

/** Returns the anchor plus a number of intervals. The 31st becomes the last day of a shorter month, and the 31st again in a longer one. */
export const addIntervals = (anchor: number, {interval, interval_count: count}: Interval, times: number): number => {
  if (interval === 'day') return anchor + times * count * day
  if (interval === 'week') return anchor + times * count * 7 * day
  return addMonths(anchor, times * count * (interval === 'year' ? 12 : 1))
}

const addMonths = (anchor: number, months: number): number => {
  const date = new Date(anchor * 1000)
  const wanted = date.getUTCDate()
  date.setUTCDate(1)
  date.setUTCMonth(date.getUTCMonth() + months)
  const last = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate()
  date.setUTCDate(Math.min(wanted, last))
  return date.getTime() / 1000
}

const shortestDays = {day: 1, week: 7, month: 28, year: 365}

export const nextBoundary = (anchor: number, every: Interval, after: number): number => {
  const shortest = shortestDays[every.interval] * every.interval_count
  let times = Math.max(0, Math.floor((after - anchor) / (shortest * day + 3 * day)) - 1)
  while (addIntervals(anchor, every, times) <= after) times += 1
  return addIntervals(anchor, every, times)
}

export const isSameInterval = (a: Interval, b: Interval) => a.interval === b.interval && a.interval_count === b.interval_count
