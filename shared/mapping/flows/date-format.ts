import {readFormat} from '../../expressions/inside/helpers/date-tokens.js'
import {writeOffset, zoneOffset} from '../../expressions/zone-offset.ts'

/** A date, or a date with a time, as written in a cell. `offset`: minutes east of UTC, if the cell states an offset. */
export type Moment = {year: number; month: number; day: number; hour?: number; minute: number; second: number; offset?: number}

type DateFormat = {read(text: string): Moment | null; hasTime: boolean}

const longestFormat = 60
const remembered = 100
const formats = new Map<string, DateFormat | string>()

/**
 * Parses a date format in the syntax of `date-tokens.js`. Returns an error message if the format is invalid. A one-letter number token
 * matches one or two digits.
 */
export const dateFormatOf = (format: string): DateFormat | string => {
  const known = formats.get(format)
  if (known !== undefined) return known
  if (formats.size >= remembered) formats.clear()
  const made = makeFormat(format)
  formats.set(format, made)
  return made
}

const MONTHS = 'january february march april may june july august september october november december'.split(' ')
const monthNamed = (name: string) => MONTHS.findIndex(month => month.startsWith(name.slice(0, 3).toLowerCase())) + 1
const DAYS = 'sunday monday tuesday wednesday thursday friday saturday'.split(' ')
const dayNamed = (name: string) => DAYS.findIndex(day => day.startsWith(name.slice(0, 3).toLowerCase()))
const names = (of: (name: string) => string, all = MONTHS) => `(${all.map(of).join('|')})`
const pivot = (text: string) => (Number(text) < 70 ? 2000 : 1900) + Number(text)

type FormatPart = 'year' | 'month' | 'day' | 'dayName' | 'hour' | 'twelve' | 'minute' | 'second' | 'millisecond' | 'half' | 'offset'

const TOKENS: Record<string, [pattern: string, part: FormatPart, read: (text: string) => number]> = {
  YYYY: ['(\\d{4})', 'year', Number],
  YY: ['(\\d{2})', 'year', pivot],
  MMMM: [names(month => month), 'month', monthNamed],
  MMM: [`${names(month => month.slice(0, 3))}\\.?`, 'month', monthNamed],
  MM: ['(\\d{2})', 'month', Number],
  M: ['(\\d{1,2})', 'month', Number],
  DD: ['(\\d{2})', 'day', Number],
  D: ['(\\d{1,2})', 'day', Number],
  dddd: [names(day => day, DAYS), 'dayName', dayNamed],
  ddd: [`${names(day => day.slice(0, 3), DAYS)}\\.?`, 'dayName', dayNamed],
  HH: ['(\\d{2})', 'hour', Number],
  H: ['(\\d{1,2})', 'hour', Number],
  hh: ['(\\d{2})', 'twelve', Number],
  h: ['(\\d{1,2})', 'twelve', Number],
  mm: ['(\\d{2})', 'minute', Number],
  m: ['(\\d{1,2})', 'minute', Number],
  ss: ['(\\d{2})', 'second', Number],
  s: ['(\\d{1,2})', 'second', Number],
  SSS: ['(\\d{3})', 'millisecond', Number],
  A: ['([ap])\\.?m\\.?', 'half', text => Number(text.toLowerCase() === 'p')],
  Z: ['(z|[+-]\\d\\d:?\\d\\d)', 'offset', text => offsetIn(text)],
}

const quote = (text: string) => text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&').replace(/\s+/g, '\\s+')

const makeFormat = (format: string): DateFormat | string => {
  if (format.length > longestFormat) return `A format has at most ${longestFormat} characters`
  const parts: [FormatPart, (text: string) => number][] = []
  let pattern = ''
  for (const {token, text, word} of readFormat(format)) {
    if (word && text !== 'T')
      return `A format has no \`${text}\`: a day is dd, a month MM, a year yyyy, a time HH:mm:ss. Put other words in [ ]`
    if (token === null) {
      pattern += quote(text)
      continue
    }
    const [matches, part, read] = TOKENS[token]!
    if (parts.some(([one]) => one === part)) return `The format has the ${part} twice`
    pattern += matches
    parts.push([part, read])
  }
  const has = (part: FormatPart) => parts.some(([one]) => one === part)
  for (const part of ['day', 'month', 'year'] as const) if (!has(part)) return `The format has no ${part}`
  if (has('twelve') !== has('half')) return 'Use hh and a together: the 12-hour clock needs am or pm'
  if (has('twelve') && has('hour')) return 'The format has the hour twice'
  const shape = new RegExp(`^${pattern}$`, 'i')
  return {hasTime: has('hour') || has('twelve'), read: text => momentIn(shape.exec(text), parts)}
}

const momentIn = (found: RegExpExecArray | null, parts: [FormatPart, (text: string) => number][]): Moment | null => {
  if (!found) return null
  const given: Partial<Record<FormatPart, number>> = {}
  for (const [at, [part, read]] of parts.entries()) given[part] = read(found[at + 1]!)
  const {year = 0, month = 0, day = 0, dayName, hour, twelve, half = 0, minute = 0, second = 0, offset} = given
  if (twelve !== undefined && (twelve < 1 || twelve > 12)) return null
  const hours = twelve === undefined ? hour : (twelve % 12) + 12 * half
  const moment = {year, month, day, minute, second, ...(hours !== undefined && {hour: hours}), ...(offset !== undefined && {offset})}
  return isReal(moment) && (dayName === undefined || dayName === weekdayOf(moment)) ? moment : null
}

/** Returns 0 for Sunday. A cell that names another weekday does not match the format. */
const weekdayOf = ({year, month, day}: Moment) => {
  const at = new Date(0)
  at.setUTCFullYear(year, month - 1, day)
  return at.getUTCDay()
}

/** The greatest offset of a zone from UTC, in minutes. */
const greatestOffset = 14 * 60

export const isReal = ({year, month, day, hour = 0, minute, second, offset = 0}: Moment) => {
  if (year < 1 || !(Math.abs(offset) <= greatestOffset)) return false
  if (month < 1 || month > 12 || day < 1 || hour > 23 || minute > 59 || second > 59) return false
  if (day <= 28) return true
  const at = new Date(0)
  at.setUTCFullYear(year, month - 1, day)
  return at.getUTCMonth() === month - 1 && at.getUTCDate() === day
}

/** Parses `Z`, `+01:00` or `+0100`. Returns minutes east of UTC. NaN: no hour has that many minutes. */
export const offsetIn = (text: string) => {
  if (/^z$/i.test(text)) return 0
  const [hours, minutes] = [Number(text.slice(1, 3)), Number(text.slice(-2))]
  return minutes > 59 ? Number.NaN : (text.startsWith('-') ? -1 : 1) * (hours * 60 + minutes)
}

const pad = (number: number, length = 2) => String(number).padStart(length, '0')

export const writeDay = ({year, month, day}: Moment) => `${pad(year, 4)}-${pad(month)}-${pad(day)}`

export const writeMoment = (moment: Moment, offset: number) => {
  const {hour = 0, minute, second} = moment
  return `${writeDay(moment)}T${pad(hour)}:${pad(minute)}:${pad(second)}${writeOffset(offset)}`
}

/** Returns the offset of a zone at this local time, in minutes east of UTC. Null if the zone's clocks skip the time or show it twice. */
export const offsetAt = ({year, month, day, hour = 0, minute, second}: Moment, zone: string): number | null => {
  const shown = Date.UTC(year, month - 1, day, hour, minute, second)
  const around = [-1, 1].map(days => zoneOffset(zone, shown + days * 86_400_000))
  const fitting = [...new Set(around)].filter(
    (offset): offset is number => offset !== null && zoneOffset(zone, shown - offset * 60_000) === offset,
  )
  return fitting.length === 1 ? fitting[0]! : null
}
