import {writeOffset, zoneOffset} from '../expressions/zone-offset.ts'

/** A date, or a date and a time of day, as a cell says it. `offset` in minutes east of UTC, where the cell says one. */
export type Moment = {year: number; month: number; day: number; hour?: number; minute: number; second: number; offset?: number}

type DateFormat = {read(text: string): Moment | null; hasTime: boolean}

const longestFormat = 60
const remembered = 100
const formats = new Map<string, DateFormat | string>()

/**
 * A format as a person writes it: yyyy yy MMMM MMM MM M dd d HH H hh h mm m ss s a XXX, everything else as it stands. One letter reads
 * one digit or two. Names of months are English; yy is 1970 to 2069; a is AM or PM; XXX is Z or an offset. Answers what is wrong where
 * it is none.
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
const names = (of: (month: string) => string) => `(${MONTHS.map(of).join('|')})`
const pivot = (text: string) => (Number(text) < 70 ? 2000 : 1900) + Number(text)

type Part = 'year' | 'month' | 'day' | 'hour' | 'twelve' | 'minute' | 'second' | 'half' | 'offset'

/** Per token: what it matches, the part it gives, how it is read. */
const TOKENS: Record<string, [pattern: string, part: Part, read: (text: string) => number]> = {
  yyyy: ['(\\d{4})', 'year', Number],
  yy: ['(\\d{2})', 'year', pivot],
  MMMM: [names(month => month), 'month', monthNamed],
  MMM: [`${names(month => month.slice(0, 3))}\\.?`, 'month', monthNamed],
  MM: ['(\\d{2})', 'month', Number],
  M: ['(\\d{1,2})', 'month', Number],
  dd: ['(\\d{2})', 'day', Number],
  d: ['(\\d{1,2})', 'day', Number],
  HH: ['(\\d{2})', 'hour', Number],
  H: ['(\\d{1,2})', 'hour', Number],
  hh: ['(\\d{2})', 'twelve', Number],
  h: ['(\\d{1,2})', 'twelve', Number],
  mm: ['(\\d{2})', 'minute', Number],
  m: ['(\\d{1,2})', 'minute', Number],
  ss: ['(\\d{2})', 'second', Number],
  s: ['(\\d{1,2})', 'second', Number],
  a: ['([ap])\\.?m\\.?', 'half', text => Number(text.toLowerCase() === 'p')],
  XXX: ['(z|[+-]\\d\\d:?\\d\\d)', 'offset', text => offsetIn(text)],
}

const TOKEN = /yyyy|yy|MMMM|MMM|MM|M|dd|d|HH|H|hh|h|mm|m|ss|s|a|XXX|[A-Za-z]/g
const quote = (text: string) => text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&').replace(/\s+/g, '\\s+')

const makeFormat = (format: string): DateFormat | string => {
  if (format.length > longestFormat) return `A format has at most ${longestFormat} characters`
  const parts: [Part, (text: string) => number][] = []
  let pattern = ''
  let at = 0
  for (const {0: token, index} of format.matchAll(TOKEN)) {
    if (token === 'T') continue
    const known = TOKENS[token]
    if (!known) return `A format has no \`${token}\`: a day is dd, a month MM, a year yyyy, a time HH:mm:ss`
    if (parts.some(([part]) => part === known[1])) return `The format says the ${known[1]} twice`
    pattern += quote(format.slice(at, index)) + known[0]
    parts.push([known[1], known[2]])
    at = index + token.length
  }
  const has = (part: Part) => parts.some(([one]) => one === part)
  for (const part of ['day', 'month', 'year'] as const) if (!has(part)) return `The format has no ${part}`
  if (has('twelve') !== has('half')) return 'hh and a go together: the hour of half a day, and which half'
  if (has('twelve') && has('hour')) return 'The format says the hour twice'
  const shape = new RegExp(`^${pattern}${quote(format.slice(at))}$`, 'i')
  return {hasTime: has('hour') || has('twelve'), read: text => momentIn(shape.exec(text), parts)}
}

const momentIn = (found: RegExpExecArray | null, parts: [Part, (text: string) => number][]): Moment | null => {
  if (!found) return null
  const given: Partial<Record<Part, number>> = {}
  for (const [at, [part, read]] of parts.entries()) given[part] = read(found[at + 1]!)
  const {year = 0, month = 0, day = 0, hour, twelve, half = 0, minute = 0, second = 0, offset} = given
  if (twelve !== undefined && (twelve < 1 || twelve > 12)) return null
  const hours = twelve === undefined ? hour : (twelve % 12) + 12 * half
  const moment = {year, month, day, minute, second, ...(hours !== undefined && {hour: hours}), ...(offset !== undefined && {offset})}
  return isReal(moment) ? moment : null
}

export const isReal = ({year, month, day, hour = 0, minute, second}: Moment) => {
  if (month < 1 || month > 12 || day < 1 || hour > 23 || minute > 59 || second > 59) return false
  if (day <= 28) return true
  const at = new Date(0)
  at.setUTCFullYear(year, month - 1, day)
  return at.getUTCMonth() === month - 1 && at.getUTCDate() === day
}

/** `Z`, `+01:00` or `+0100` in minutes. */
export const offsetIn = (text: string) => {
  if (/^z$/i.test(text)) return 0
  const [hours, minutes] = [Number(text.slice(1, 3)), Number(text.slice(-2))]
  return (text.startsWith('-') ? -1 : 1) * (hours * 60 + minutes)
}

const pad = (number: number, length = 2) => String(number).padStart(length, '0')

export const writeDay = ({year, month, day}: Moment) => `${pad(year, 4)}-${pad(month)}-${pad(day)}`

export const writeMoment = (moment: Moment, offset: number) => {
  const {hour = 0, minute, second} = moment
  return `${writeDay(moment)}T${pad(hour)}:${pad(minute)}:${pad(second)}${writeOffset(offset)}`
}

/** Minutes that a zone's clock is ahead of UTC when it shows this; null where it shows it twice or never. */
export const offsetAt = ({year, month, day, hour = 0, minute, second}: Moment, zone: string): number | null => {
  const shown = Date.UTC(year, month - 1, day, hour, minute, second)
  const around = [-1, 1].map(days => zoneOffset(zone, shown + days * 86_400_000))
  const fitting = [...new Set(around)].filter(
    (offset): offset is number => offset !== null && zoneOffset(zone, shown - offset * 60_000) === offset,
  )
  return fitting.length === 1 ? fitting[0]! : null
}
