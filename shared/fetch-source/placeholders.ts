import {zoneOffset} from '../expressions/zone-offset.ts'
import type {FileSource} from './source.ts'

type Due = {at: Date; timezone: string}

const placeholder = /\{date(?:-(\d{1,2})d)?:((?:yyyy|YYYY|MM|dd|DD|HH|mm|[._-]){1,20})\}/g
const dayMs = 24 * 60 * 60 * 1000

/**
 * Puts the due time, by the clocks of the schedule's zone, into a path: `{date:yyyy-MM-dd}` (also `HH`, `mm`), `{date-1d:yyyyMMdd}` for the
 * day before, up to 99. What it leads to is decided by the address alone: hosts and buckets take no placeholder.
 */
export const fillPlaceholders = (source: FileSource, due: Due): FileSource => {
  const fill = (text: string) => fillText(text, due)
  if (source.kind === 's3') return {...source, key: fill(source.key)}
  if (source.kind === 'sftp') return {...source, path: fill(source.path)}
  return {...source, url: fill(source.url), ...(source.query !== undefined && {query: fill(source.query)})}
}

/** Whether every date in it is written as above: another would be looked for by its letters. */
export const isFillable = (text: string): boolean => !/\{\s*date/i.test(fillText(text))

export const fillText = (text: string, {at, timezone}: Due = {at: new Date(0), timezone: 'UTC'}): string =>
  text.replaceAll(placeholder, (_, days: string | undefined, format: string) => {
    // As a clock there shows it, read as if it were UTC's.
    const shown = new Date(at.getTime() + zoneOffset(timezone, at.getTime())! * 60_000)
    // By the calendar, not by hours: a day may have 23 or 25 of them.
    const day = new Date(shown.getTime() - Number(days ?? 0) * dayMs)
    const [year, month, date] = day.toISOString().slice(0, 10).split('-')
    const [HH, mm] = shown.toISOString().slice(11, 16).split(':')
    const values: Record<string, string> = {yyyy: year!, YYYY: year!, MM: month!, dd: date!, DD: date!, HH: HH!, mm: mm!}
    return format.replaceAll(/yyyy|YYYY|MM|dd|DD|HH|mm/g, found => values[found]!)
  })

/** The same whatever dates it asks for. */
export const blankText = (text: string): string => text.replaceAll(placeholder, '{date}')
