import {t} from '../text/schedules.ts'
/** The times of a schedule as the form shows them. `days`: days of the week, 0 is Sunday. `monthDay`: 1 to 31, or L for the last day. */
export type Times =
  | {repeat: 'daily'; time: string}
  | {repeat: 'weekly'; time: string; days: number[]}
  | {repeat: 'monthly'; time: string; monthDay: string}
  | {repeat: 'advanced'; cron: string}

export const weekdays = [1, 2, 3, 4, 5, 6, 0]

/** Returns the cron expression of the times. Weekly times without a day give an invalid one, so `isWhole` must be checked first. */
export const toCron = (times: Times): string => {
  if (times.repeat === 'advanced') return times.cron.trim().replace(/\s+/g, ' ')
  const [hour, minute] = times.time.split(':').map(Number)
  const start = `${minute} ${hour}`
  if (times.repeat === 'daily') return `${start} * * *`
  if (times.repeat === 'monthly') return `${start} ${times.monthDay} * *`
  return `${start} * * ${[...times.days].sort().join(',')}`
}

/** Converts a cron expression to times. An expression that the form cannot show with its pickers becomes `advanced`. */
export const readCron = (cron: string): Times => {
  const [minute = '', hour = '', monthDay = '', month, day = '', more] = cron.trim().split(/\s+/)
  const advanced = {repeat: 'advanced' as const, cron}
  if (!isNumber(minute, 59) || !isNumber(hour, 23) || month !== '*' || more !== undefined) return advanced
  const time = `${hour.padStart(2, '0')}:${minute.padStart(2, '0')}`
  if (monthDay === '*' && day === '*') return {repeat: 'daily', time}
  if (monthDay === '*') {
    const days = readDays(day)
    return days ? {repeat: 'weekly', time, days} : advanced
  }
  const isDay = monthDay === 'L' || (isNumber(monthDay, 31) && monthDay !== '0')
  return day === '*' && isDay ? {repeat: 'monthly', time, monthDay} : advanced
}

const isNumber = (text: string, most: number) => /^\d{1,2}$/.test(text) && Number(text) <= most

/** Reads the days of the week of a cron expression: numbers and ranges of numbers. 7 is Sunday too. Null for names and steps. */
const readDays = (text: string): number[] | null => {
  const days = text.split(',').map(part => {
    const [, from, to = from] = /^([0-7])(?:-([0-7]))?$/.exec(part) ?? []
    return from === undefined || Number(to) < Number(from) ? null : range(Number(from), Number(to))
  })
  return days.includes(null) ? null : [...new Set(days.flat().map(day => day! % 7))]
}

const range = (from: number, to: number) => Array.from({length: to - from + 1}, (_, n) => from + n)

/** Returns the name of a day of the week in the given language. 2023-01-01 was a Sunday. */
export const dayName = (day: number, language?: string, weekday: 'long' | 'short' = 'long'): string =>
  new Intl.DateTimeFormat(language, {weekday, timeZone: 'UTC'}).format(new Date(Date.UTC(2023, 0, 1 + day)))

/**
 * Describes a cron expression: "Every day at 05:00", "Mon, Fri at 05:00", "Day 1 of each month at 05:00". An `advanced` expression stays as it
 * is.
 */
export const describeCron = (cron: string, language?: string): string => {
  const times = readCron(cron)
  if (times.repeat === 'advanced') return cron
  if (times.repeat === 'daily') return t.everyDayAt(times.time)
  if (times.repeat === 'monthly')
    return times.monthDay === 'L' ? t.lastDayOfEachMonthAt(times.time) : t.dayOfEachMonthAt(times.monthDay, times.time)
  const days = weekdays.filter(day => times.days.includes(day))
  return t.daysAt(days.map(day => dayName(day, language, days.length === 1 ? 'long' : 'short')).join(', '), times.time)
}
