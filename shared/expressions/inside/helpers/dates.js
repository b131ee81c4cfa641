import {filled, shown} from './as-text.js'
import {civil, isReal, later, pad, readIso, readOffset, UNITS, utc, writeIso, writeOffset} from './calendar.js'
import {readFormat} from './date-tokens.js'

const LONGEST_FORMAT = 100

const MONTHS = 'January February March April May June July August September October November December'.split(' ')
const DAYS = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split(' ')

const twoDigits = text => (Number(text) < 70 ? 2000 : 1900) + Number(text)
const named = names => text => names.findIndex(name => name.slice(0, 3).toLowerCase() === text.slice(0, 3).toLowerCase()) + 1
const anyOf = (names, length) => `(${names.map(name => name.slice(0, length)).join('|')})`

/** The tokens of date formats. Each has its pattern, the part of the date that it sets, and functions that parse and write it. */
const TOKENS = {
  YYYY: ['(\\d{4})', 'year', Number, parts => pad(parts.year, 4)],
  YY: ['(\\d{2})', 'year', twoDigits, parts => pad(parts.year % 100)],
  MMMM: [anyOf(MONTHS), 'month', named(MONTHS), parts => MONTHS[parts.month - 1]],
  MMM: [`${anyOf(MONTHS, 3)}\\.?`, 'month', named(MONTHS), parts => MONTHS[parts.month - 1].slice(0, 3)],
  MM: ['(\\d{2})', 'month', Number, parts => pad(parts.month)],
  M: ['(\\d{1,2})', 'month', Number, parts => String(parts.month)],
  DD: ['(\\d{2})', 'day', Number, parts => pad(parts.day)],
  D: ['(\\d{1,2})', 'day', Number, parts => String(parts.day)],
  dddd: [anyOf(DAYS), 'dayName', text => text, parts => DAYS[civil(utc(parts)).weekday]],
  ddd: [`${anyOf(DAYS, 3)}\\.?`, 'dayName', text => text, parts => DAYS[civil(utc(parts)).weekday].slice(0, 3)],
  HH: ['(\\d{2})', 'hour', Number, parts => pad(parts.hour)],
  H: ['(\\d{1,2})', 'hour', Number, parts => String(parts.hour)],
  hh: ['(\\d{2})', 'twelve', Number, parts => pad(parts.hour % 12 || 12)],
  h: ['(\\d{1,2})', 'twelve', Number, parts => String(parts.hour % 12 || 12)],
  mm: ['(\\d{2})', 'minute', Number, parts => pad(parts.minute)],
  m: ['(\\d{1,2})', 'minute', Number, parts => String(parts.minute)],
  ss: ['(\\d{2})', 'second', Number, parts => pad(parts.second)],
  s: ['(\\d{1,2})', 'second', Number, parts => String(parts.second)],
  SSS: ['(\\d{3})', 'millisecond', Number, parts => pad(parts.millisecond, 3)],
  A: ['([AaPp])\\.?[Mm]\\.?', 'half', text => text.toLowerCase(), parts => (parts.hour < 12 ? 'AM' : 'PM')],
  Z: ['(Z|[+-]\\d\\d:?\\d\\d)', 'offset', readOffset, parts => (parts.offset === null ? '' : writeOffset(parts.offset))],
}

const checkFormat = (format, helper) => {
  if (typeof format !== 'string' || format === '' || format.length > LONGEST_FORMAT)
    throw new TypeError(`helpers.${helper} needs the format: "dd.MM.yyyy" for instance`)
  return format
}

const parse = (text, format, helper) => {
  const pieces = readFormat(checkFormat(format, helper))
  const reads = pieces.flatMap(({token}) => (token === null ? [] : [token]))
  if (reads.length === 0) throw new TypeError(`helpers.${helper}: the format ${shown(format)} has no day, month or year. "dd.MM.yyyy" has`)
  if (reads.includes('A') !== reads.some(token => TOKENS[token][1] === 'twelve'))
    throw new TypeError(`helpers.${helper}: use hh and a together in the format ${shown(format)}. The 12-hour clock needs AM or PM`)
  const pattern = pieces.map(({token, text: literal}) => (token === null ? quote(literal) : TOKENS[token][0])).join('')
  const matched = new RegExp(`^${pattern}$`, 'i').exec(text)
  const parts = matched && partsOf(reads, matched)
  if (!parts || !isReal(parts) || !isNamedDay(parts))
    throw new RangeError(`helpers.${helper}: ${shown(text)} is not a date in the form ${format}`)
  return parts
}

const quote = text => text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&').replace(/\s+/g, '\\s+')

/** Returns the parts of a date. Returns null if two tokens contradict each other or the 12-hour value is invalid. */
const partsOf = (reads, matched) => {
  const parts = {hour: 0, minute: 0, second: 0, millisecond: 0, offset: null}
  const given = {}
  for (const [at, token] of reads.entries()) {
    const [, name, read] = TOKENS[token]
    const value = read(matched[at + 1])
    if (Object.hasOwn(given, name) && given[name] !== value) return null
    given[name] = value
  }
  const {twelve, half, ...rest} = given
  if (twelve !== undefined) {
    const hour = (twelve % 12) + (half === 'p' ? 12 : 0)
    if (twelve < 1 || twelve > 12 || (rest.hour ?? hour) !== hour) return null
    rest.hour = hour
  }
  return {...parts, ...rest, timed: rest.hour !== undefined}
}

/** Whether the weekday fits the date. If not, the day, month or year was read wrongly. */
const isNamedDay = parts =>
  parts.dayName === undefined || DAYS[civil(utc(parts)).weekday].slice(0, 3).toLowerCase() === parts.dayName.slice(0, 3).toLowerCase()

/** `date(text, format)`: 2024-02-29 from a text in exactly that format. A day that does not exist is an error; empty gives null. */
export const date = (value, format) => {
  const text = filled(value, 'date')
  return text === null ? null : writeIso({...parse(text, format, 'date'), timed: false})
}

/** `dateTime(text, format, zone?)`: 2024-02-29T13:05:00, with an offset if the format has Z or a zone is given ("Europe/Berlin"). */
export const dateTime = (value, format, zone) => {
  const text = filled(value, 'dateTime')
  if (text === null) return null
  const parts = {...parse(text, format, 'dateTime'), timed: true}
  return zone === undefined || parts.offset !== null ? writeIso(parts) : fromZone(writeIso(parts), zone)
}

/** `addDate(iso, amount, unit)`: adds whole years, months, weeks, days, hours, minutes or seconds (or subtracts). The offset stays. */
export const addDate = (value, amount, unit) => {
  const text = filled(value, 'addDate')
  if (text === null) return null
  if (!Number.isInteger(amount) || Math.abs(amount) > 1e9) throw new RangeError('helpers.addDate takes a whole number')
  if (!Object.hasOwn(UNITS, unit)) throw new RangeError(`helpers.addDate knows ${Object.keys(UNITS).join(', ')}`)
  const parts = readIso(text, 'addDate')
  if (!parts.timed && UNITS[unit] !== null && UNITS[unit] < UNITS.days) throw new RangeError(`helpers.addDate: a date alone has no ${unit}`)
  const moved = later(parts, amount, unit)
  if (!isReal(moved)) throw new RangeError(`helpers.addDate: ${shown(text)} and ${amount} ${unit} is outside the years 1 to 9999`)
  return writeIso(moved)
}

/** `formatDate(iso, format)`: an ISO date or date-time as text. */
export const formatDate = (value, format) => {
  const text = filled(value, 'formatDate')
  if (text === null) return null
  const parts = readIso(text, 'formatDate')
  return readFormat(checkFormat(format, 'formatDate'))
    .map(({token, text: literal}) => (token === null ? literal : TOKENS[token][3](parts)))
    .join('')
}

/** `toZone(iso, zone)`: the same moment in another zone: 2024-07-01T12:00:00Z in "Europe/Berlin" is 2024-07-01T14:00:00+02:00. */
export const toZone = (value, zone) => {
  const text = filled(value, 'toZone')
  if (text === null) return null
  const parts = readIso(text, 'toZone')
  if (parts.offset === null) throw new RangeError(`helpers.toZone: ${shown(text)} has no offset; give it one with helpers.fromZone`)
  const moment = utc(parts) - parts.offset * 60_000
  const offset = offsetAt(moment, zone, 'toZone')
  const {weekday, ...moved} = civil(moment + offset * 60_000)
  return writeIso({...moved, timed: true, offset})
}

/**
 * `fromZone(iso, zone, which?)`: adds the offset to a local time. When clocks change, a local time may occur twice or never: an error,
 * unless `which` is "earlier" or "later". One that never occurs is moved before or after the gap.
 */
export const fromZone = (value, zone, which) => {
  const text = filled(value, 'fromZone')
  if (text === null) return null
  const parts = {...readIso(text, 'fromZone'), timed: true}
  if (parts.offset !== null) throw new RangeError(`helpers.fromZone: ${shown(text)} has an offset already; use helpers.toZone`)
  const local = utc(parts)
  const around = [local - UNITS.days, local + UNITS.days].map(moment => offsetAt(moment, zone, 'fromZone'))
  const fitting = [...new Set(around)].filter(offset => offsetAt(local - offset * 60_000, zone, 'fromZone') === offset)
  if (fitting.length === 1) return writeIso({...parts, offset: fitting[0]})
  if (which !== 'earlier' && which !== 'later')
    throw new RangeError(
      `helpers.fromZone: ${shown(text)} ${fitting.length ? 'was twice' : 'never was'} in ${zone}; pass "earlier" or "later" to it`,
    )
  const offset = which === 'earlier' ? Math.max(...around) : Math.min(...around)
  if (fitting.length) return writeIso({...parts, offset})
  const actual = offsetAt(local - offset * 60_000, zone, 'fromZone')
  const {weekday, ...moved} = civil(local - offset * 60_000 + actual * 60_000)
  return writeIso({...moved, timed: true, offset: actual})
}

/**
 * Returns minutes east of UTC. A zone needs the host function `zoneOffset`, because QuickJS has no time zones. A fixed offset such as
 * "+05:30" does not.
 */
const offsetAt = (moment, zone, helper) => {
  if (typeof zone !== 'string' || zone.length > 64) throw new TypeError(`helpers.${helper} needs a zone: "Europe/Berlin" or "+02:00"`)
  if (/^(Z|[+-]\d\d:?\d\d)$/i.test(zone)) return readOffset(zone)
  const offset = zoneOffset(zone, moment)
  if (offset === null) throw new RangeError(`helpers.${helper}: there is no time zone ${shown(zone)}; "Europe/Berlin" is one`)
  return offset
}
