export type Interval = {interval: 'day' | 'week' | 'month' | 'year'; interval_count: number}

const day = 24 * 3600

/** The anchor plus a number of intervals. The 31st becomes the last day of a shorter month, and the 31st again in a longer one. */
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

export const nextBoundary = (anchor: number, every: Interval, after: number): number => {
  const shortest =
    (every.interval === 'day' ? 1 : every.interval === 'week' ? 7 : every.interval === 'month' ? 28 : 365) * every.interval_count
  let times = Math.max(0, Math.floor((after - anchor) / (shortest * day + 3 * day)) - 1)
  while (addIntervals(anchor, every, times) <= after) times += 1
  return addIntervals(anchor, every, times)
}

export const isSameInterval = (a: Interval, b: Interval) => a.interval === b.interval && a.interval_count === b.interval_count
