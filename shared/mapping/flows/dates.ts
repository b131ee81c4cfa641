import {readNamedDate} from '../../files/named-date.ts'
import {type Conversion, converted, invalid, type Rules} from './converted.ts'
import {dateFormatOf, isReal, type Moment, offsetAt, offsetIn, writeDay, writeMoment} from './date-format.ts'

const DAY = /^(\d{4})-(\d\d)-(\d\d)$/
const MOMENT = /^(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d)(?::(\d\d)(?:\.\d+)?)?(Z|[+-]\d\d:?\d\d)?$/
/** `orderedMoment` orders the three numbers by the column's reading, and requires a year of four digits. A time may have AM or PM. */
const NUMBERS = /^(\d{1,4})([./-])(\d{1,2})\2(\d{1,4})(?:[ T](\d{1,2}):(\d\d)(?::(\d\d)(?:\.\d+)?)?(?: ?([AaPp])[Mm])?)?$/
const SHORT_YEAR = /^\d{1,2}([./-])\d{1,2}\1\d\d(?!\d)/
const TIME = /^([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d+)?)?$/

export const convertDate: Conversion = (text, field, rules) => {
  if (rules.format === undefined && isIsoDay(text)) return converted(text)
  const moment = momentOf(text, rules)
  // A date field accepts a time only if it is midnight, because spreadsheets write dates that way. Any other time would be lost, and an offset
  // can change the day.
  const isDay = moment && moment.offset === undefined && !moment.hour && !moment.minute && !moment.second
  return isDay ? converted(writeDay(moment)) : invalid(field, `a date as ${describeFormat(text, rules, 'YYYY-MM-DD')}`)
}

/**
 * Converts a text to a date with a time. A time without an offset gets the mapping's zone. A date without a time is read as midnight, but
 * only if the mapping has a format and a zone.
 */
export const convertMoment: Conversion = (text, field, rules) => {
  const moment = momentOf(text, rules)
  const isMidnight = rules.format !== undefined && rules.zone !== undefined
  if (!moment || (moment.hour === undefined && !isMidnight))
    return invalid(field, `a date and a time as ${describeFormat(text, rules, 'YYYY-MM-DDThh:mm:ss with its offset from UTC')}`)
  if (moment.offset !== undefined) return converted(writeMoment(moment, moment.offset))
  if (rules.zone === undefined) return invalid(field, 'a time with its offset from UTC: this one has none, and the mapping names no zone')
  const offset = offsetAt(moment, rules.zone)
  return offset === null
    ? invalid(field, `a time that the clocks of ${rules.zone} show once: they skip this one or show it twice`)
    : converted(writeMoment(moment, offset))
}

/** Cuts fractions of a second, as `convertMoment` does. */
export const convertTime: Conversion = (text, field) =>
  TIME.test(text) ? converted(text.replace(/\..*/, '')) : invalid(field, 'a time of day as hh:mm')

const describeFormat = (text: string, {format, reading}: Rules, usual: string) => {
  if (format !== undefined) return format
  if (reading && SHORT_YEAR.test(text))
    return `${usual}: the year has two digits. Correct it, or give the mapping a format such as dd/MM/yy if all years have two digits`
  if (reading?.dateFormat !== undefined)
    return `${usual}, or as ${reading.dateFormat}, the org's date format: choose the order of the column's dates`
  return reading && !reading.dateOrder ? `${usual}: choose the order of the column's dates, or give the mapping a format` : usual
}

/**
 * With a format of the mapping, tries that format, then ISO 8601 unless the format begins with the year. Without a format, first tries unambiguous
 * dates: ISO 8601 and dates with a month's name. In a column of a file, also tries other dates with the year first. Then tries the column's date
 * order. If the column has no date order, tries the org's date format, also with a time after the date.
 */
const momentOf = (text: string, {format, reading}: Rules): Moment | null => {
  if (format !== undefined) {
    const known = dateFormatOf(format)
    const read = typeof known === 'string' ? null : known.read(text)
    return read ?? (/^y/i.test(format) ? null : isoMoment(text))
  }
  const certain = isoMoment(text) ?? namedMoment(text) ?? (reading ? orderedMoment(text, 'ymd') : null)
  if (certain) return certain
  if (reading?.dateOrder) return orderedMoment(text, reading.dateOrder)
  return reading?.dateFormat === undefined ? null : momentAs(reading.dateFormat, text)
}

const momentAs = (format: string, text: string): Moment | null => {
  for (const time of ['', ' HH:mm', ' HH:mm:ss', ' h:mm a', ' h:mm:ss a']) {
    const known = dateFormatOf(`${format}${time}`)
    const read = typeof known === 'string' ? null : known.read(text)
    if (read) return read
  }
  return null
}

const isIsoDay = (text: string) => {
  const [, year, month, day] = DAY.exec(text) ?? []
  return year !== undefined && isReal({year: Number(year), month: Number(month), day: Number(day), minute: 0, second: 0})
}

const isoMoment = (text: string): Moment | null => {
  const [, year, month, day, hour, minute = '0', second = '0', zone] = DAY.exec(text) ?? MOMENT.exec(text) ?? []
  return checked({year, month, day, hour, minute, second}, zone)
}

const namedMoment = (text: string): Moment | null => {
  const named = readNamedDate(text)
  if (!named) return null
  const {hour, minute, second, ...day} = named
  const moment = {...day, minute: Number(minute), second: Number(second), ...(hour !== undefined && {hour: Number(hour)})}
  return isReal(moment) ? moment : null
}

const PLACES = {dmy: [2, 1, 0], mdy: [2, 0, 1], ymd: [0, 1, 2]} as const

const orderedMoment = (text: string, order: keyof typeof PLACES): Moment | null => {
  const [, first, , second, third, hour, minute = '0', seconds = '0', half] = NUMBERS.exec(text) ?? []
  const [year, month, day] = PLACES[order].map(place => [first, second, third][place])
  if (year?.length !== 4 || (month?.length ?? 3) > 2 || (day?.length ?? 3) > 2) return null
  if (half !== undefined && !(Number(hour) >= 1 && Number(hour) <= 12)) return null
  const hours = half === undefined ? hour : String((Number(hour) % 12) + (half.toLowerCase() === 'p' ? 12 : 0))
  return checked({year, month, day, hour: hours, minute, second: seconds}, undefined)
}

type ReadMoment = Record<'year' | 'month' | 'day' | 'hour', string | undefined> & {minute: string; second: string}

const checked = ({year, month, day, hour, minute, second}: ReadMoment, zone: string | undefined): Moment | null => {
  if (year === undefined) return null
  const moment = {
    year: Number(year),
    month: Number(month),
    day: Number(day),
    minute: Number(minute),
    second: Number(second),
    ...(hour !== undefined && {hour: Number(hour)}),
    ...(zone !== undefined && {offset: offsetIn(zone)}),
  }
  return isReal(moment) ? moment : null
}
