/** A stretch of time, its end not in it. ISO 8601 in UTC, to the millisecond. */
export type Window = {startsAt: string; endsAt: string}

/**
 * The period that a moment lies in: months counted from the anchor, each beginning at the anchor's time of its day, or on the last day of a
 * month that has no such day. Nothing drifts: 31 January, 28 February, 31 March. Computed whenever it is asked for, so no clock has
 * to have been running.
 */
export const windowAt = (anchor: string, now: string): Window => {
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

/** How much of it is still to come, from 0 to 1. */
export const leftOf = ({startsAt, endsAt}: Window, now: string): number => {
  const [start, end] = [Date.parse(startsAt), Date.parse(endsAt)]
  return Math.min(1, Math.max(0, (end - Date.parse(now)) / (end - start)))
}
