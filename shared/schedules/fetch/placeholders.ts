import {zoneOffset} from '../../expressions/zone-offset.ts'
import type {FileSource} from './source.ts'

type Due = {at: Date; timezone: string}

const placeholder = /\{date(?:-(\d{1,2})d)?:((?:yyyy|YYYY|MM|dd|DD|HH|mm|[._-]){1,20})\}/g
const dayMs = 24 * 60 * 60 * 1000

/**
 * Inserts the due time into the URL, object key, path or query of a source, in the schedule's time zone. `{date:yyyy-MM-dd}` is the due day
 * (also `HH`, `mm`), and `{date-1d:yyyyMMdd}` is the day before. At most 99 days can be subtracted. Hosts and buckets take no placeholder, so
 * that the target is fixed.
 */
export const fillPlaceholders = (source: FileSource, due: Due): FileSource => {
  const fill = (text: string) => fillText(text, due)
  if (source.kind === 's3') return {...source, key: fill(source.key)}
  if (source.kind === 'postgres' || source.kind === 'mysql') return {...source, query: fill(source.query)}
  if (source.kind === 'sftp') return {...source, path: fill(source.path)}
  return {...source, url: fill(source.url), ...(source.query !== undefined && {query: fill(source.query)})}
}

/** Returns whether every date placeholder in the text is valid. An invalid one would stay as literal text. */
export const isFillable = (text: string): boolean => !/\{\s*date/i.test(fillText(text))

export const fillText = (text: string, {at, timezone}: Due = {at: new Date(0), timezone: 'UTC'}): string =>
  text.replaceAll(placeholder, (_, days: string | undefined, format: string) => {
    // This is the local time, written as if it were UTC.
    const shown = new Date(at.getTime() + zoneOffset(timezone, at.getTime())! * 60_000)
    // Whole calendar days are subtracted, because a local day may have 23 or 25 hours.
    const day = new Date(shown.getTime() - Number(days ?? 0) * dayMs)
    const [year, month, date] = day.toISOString().slice(0, 10).split('-')
    const [HH, mm] = shown.toISOString().slice(11, 16).split(':')
    const values: Record<string, string> = {yyyy: year!, YYYY: year!, MM: month!, dd: date!, DD: date!, HH: HH!, mm: mm!}
    return format.replaceAll(/yyyy|YYYY|MM|dd|DD|HH|mm/g, found => values[found]!)
  })

/** Replaces every placeholder with the same text, so that two paths can be compared. */
export const blankText = (text: string): string => text.replaceAll(placeholder, '{date}')
