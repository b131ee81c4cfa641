import {shown} from './as-text.js'

/** A day in milliseconds. This file computes in the proleptic Gregorian calendar, years 1 to 9999, without a time zone. */
const DAY = 86_400_000

export const daysIn = (year, month) => new Date(utc({year, month: month + 1, day: 0})).getUTCDate()

/**
 * Returns the milliseconds of a local time as if the time were UTC. Uses `setUTCFullYear`, because `Date.UTC` reads years below 100 as
 * 19xx.
 */
export const utc = ({year, month, day, hour = 0, minute = 0, second = 0, millisecond = 0}) => {
  const date = new Date(0)
  date.setUTCFullYear(year, month - 1, day)
  return date.setUTCHours(hour, minute, second, millisecond)
}

export const civil = time => {
  const date = new Date(time)
  return {
    year: date.getUTCFullYear(),
    month: date.getUTCMonth() + 1,
    day: date.getUTCDate(),
    hour: date.getUTCHours(),
    minute: date.getUTCMinutes(),
    second: date.getUTCSeconds(),
    millisecond: date.getUTCMilliseconds(),
    weekday: date.getUTCDay(),
  }
}

const isWithin = (value, from, to) => value >= from && value <= to

export const isReal = ({year, month, day, hour = 0, minute = 0, second = 0}) =>
  isWithin(year, 1, 9999) &&
  isWithin(month, 1, 12) &&
  isWithin(day, 1, daysIn(year, month)) &&
  isWithin(hour, 0, 23) &&
  isWithin(minute, 0, 59) &&
  isWithin(second, 0, 59)

const ISO = /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(Z|[+-]\d\d:?\d\d)?)?$/i

/** Parses an ISO date or date-time to `{…civil, timed, offset}`. `offset` is in minutes, or null if the text has none. */
export const readIso = (text, helper) => {
  const found = ISO.exec(text)
  const parts = found && {
    year: Number(found[1]),
    month: Number(found[2]),
    day: Number(found[3]),
    hour: Number(found[4] ?? 0),
    minute: Number(found[5] ?? 0),
    second: Number(found[6] ?? 0),
    millisecond: Number((found[7] ?? '0').padEnd(3, '0').slice(0, 3)),
    timed: found[4] !== undefined,
    offset: found[8] === undefined ? null : readOffset(found[8]),
  }
  if (parts && isReal(parts) && (parts.offset === null || Math.abs(parts.offset) < 24 * 60)) return parts
  throw new RangeError(`helpers.${helper}: ${shown(text)} is not an ISO date (2024-02-29); read it with helpers.date(text, format) first`)
}

export const readOffset = text => {
  if (/^z$/i.test(text)) return 0
  const [, sign, hours, minutes] = /^([+-])(\d\d):?(\d\d)$/.exec(text)
  return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes))
}

export const pad = (value, length = 2) => String(value).padStart(length, '0')

export const writeOffset = minutes => `${minutes < 0 ? '-' : '+'}${pad(Math.trunc(Math.abs(minutes) / 60))}:${pad(Math.abs(minutes) % 60)}`

/** Writes ISO text in the original form: date only, with time, or with offset. Milliseconds are written only if there are any. */
export const writeIso = ({timed, offset, ...parts}) => {
  const date = `${pad(parts.year, 4)}-${pad(parts.month)}-${pad(parts.day)}`
  if (!timed) return date
  const thousandths = parts.millisecond ? `.${pad(parts.millisecond, 3)}` : ''
  const end = offset === null ? '' : writeOffset(offset)
  return `${date}T${pad(parts.hour)}:${pad(parts.minute)}:${pad(parts.second)}${thousandths}${end}`
}

/** Adds whole units. If the new month does not have the day, its last day is used (31 January + 1 month is 28 February). */
export const later = (parts, amount, unit) => {
  if (unit === 'months' || unit === 'years') {
    const months = parts.year * 12 + parts.month - 1 + amount * (unit === 'years' ? 12 : 1)
    const year = Math.floor(months / 12)
    const month = (months % 12) + 1
    return {...parts, year, month, day: Math.min(parts.day, daysIn(year, month))}
  }
  const {weekday, ...moved} = civil(utc(parts) + amount * UNITS[unit])
  return {...parts, ...moved}
}

export const UNITS = {seconds: 1000, minutes: 60_000, hours: 3_600_000, days: DAY, weeks: 7 * DAY, months: null, years: null}
