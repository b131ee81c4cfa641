/** A time range that excludes its end. Times are ISO 8601 in UTC, to the millisecond. */
export type UsageWindow = {startsAt: string; endsAt: string}

/**
 * Returns the period that contains `now`. A period is a month that begins on the anchor's day and time. In a shorter month it begins on the
 * last day: 31 January, 28 February, 31 March. Periods are computed on demand and need no periodic task.
 */
export const windowAt = (anchor: string, now: string): UsageWindow => {
  const [from, at] = [new Date(anchor), new Date(now)]
  let months = (at.getUTCFullYear() - from.getUTCFullYear()) * 12 + at.getUTCMonth() - from.getUTCMonth()
  if (addMonths(from, months) > at) months--
  return {startsAt: addMonths(from, months).toISOString(), endsAt: addMonths(from, months + 1).toISOString()}
}

const addMonths = (from: Date, months: number): Date => {
  const added = new Date(from)
  added.setUTCDate(1)
  added.setUTCMonth(from.getUTCMonth() + months)
  const last = new Date(added)
  last.setUTCMonth(added.getUTCMonth() + 1, 0)
  added.setUTCDate(Math.min(from.getUTCDate(), last.getUTCDate()))
  return added
}

/** Returns the share of the period that remains, from 0 to 1. */
export const leftOf = ({startsAt, endsAt}: UsageWindow, now: string): number => {
  const [start, end] = [Date.parse(startsAt), Date.parse(endsAt)]
  return Math.min(1, Math.max(0, (end - Date.parse(now)) / (end - start)))
}
