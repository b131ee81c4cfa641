import {Cron} from 'croner'
import {Refusal} from '../errors.ts'
import {isZone, writeOffset, zoneOffset} from '../expressions/zone-offset.ts'

/** When a schedule fires: five fields of cron, read in a time zone of the IANA's list. */
export type Times = {cron: string; timezone: string}

const leastMinutes = 5
/** No cron of five fields has more moments in a day without two of them being nearer than that. */
const momentsLooked = (24 * 60) / leastMinutes + 2
const daysLooked = 400
const dayMs = 86_400_000

/**
 * The first moment after `after` (ISO 8601, UTC). Null when there is none.
 *
 * Where clocks are changed: fields that name their hours and minutes (`30 2 * * *`, `0 8,18 * * *`) fire once for each time they name. A time
 * left out in spring fires at the moment the clock jumps; one that comes twice in autumn fires the first time. Fields with a `*` or a step in
 * minute or hour (`0 * * * *`) are a beat: it goes on through the hour that comes twice, and passes over times that are left out.
 */
export const nextAfter = (times: Times, after: string): string | null => open(times).nextRun(new Date(after))?.toISOString() ?? null

/** The next `count` moments, in UTC and as a clock on the wall there shows them. */
export const preview = (times: Times, after: string, count = 5): {at: string; local: string}[] =>
  open(times)
    .nextRuns(count, new Date(after))
    .map(moment => ({at: moment.toISOString(), local: localOf(moment, times.timezone)}))

/** Counted no further: whoever missed more is told of so many. */
export const mostMissed = 1_000

export type Due = {newest: string; missed: number; next: string | null}

/** Of all moments from `due`, the oldest not fired, up to `now`: the newest, how many came before it, and the first to come. */
export const catchUp = (times: Times, {due, now}: {due: string; now: string}): Due => {
  const cron = open(times)
  const [end, next] = [new Date(now), cron.nextRun(new Date(now))?.toISOString() ?? null]
  let [newest, missed] = [new Date(due), 0]
  for (; missed < mostMissed; missed++) {
    const later = cron.nextRun(newest)
    if (!later || later > end) return {newest: newest.toISOString(), missed, next}
    newest = later
  }
  // The library leaves out the very moment it is asked about.
  const [last] = cron.previousRuns(1, new Date(end.getTime() + 1))
  return {newest: (last ?? newest).toISOString(), missed, next}
}

/** Refuses what is no cron of five fields, or never fires. */
export const assertTimes = (times: Times) => {
  assertZone(times.timezone)
  assertFields(times.cron)
  const first = nextAfter(times, new Date().toISOString())
  if (first === null) throw invalid(`“${times.cron}” never fires: no date is like this`)
}

const open = ({cron, timezone}: Times) => new Cron(cron, {timezone, mode: '5-part', fixedTimeRule: 'no-wildcard', paused: true})

const assertZone = (timezone: string) => {
  if (!isZone(timezone)) throw invalid(`There is no time zone “${timezone}”: name one of the IANA's list, such as Europe/Berlin or UTC`)
}

const assertFields = (cron: string) => {
  if (!/^\S+( \S+){4}$/.test(cron) || cron.includes('?'))
    throw invalid(`“${cron}” is not five fields with one space between: minute, hour, day of the month, month, day of the week`)
  try {
    open({cron, timezone: 'UTC'})
  } catch (error) {
    throw invalid(`“${cron}” cannot be read: ${error instanceof Error ? error.message.replace(/^CronPattern: /, '') : error}`)
  }
}

/** Whether it ever fires twice within five minutes, by the clock of UTC, which is never changed. */
export const isFrequent = (cron: string): boolean => {
  const beat = open({cron, timezone: 'UTC'})
  let last = beat.nextRun(new Date(0))
  const until = new Date((last?.getTime() ?? 0) + daysLooked * dayMs)
  for (let looked = 0; last && last < until && looked < momentsLooked; looked++) {
    const next = beat.nextRun(last)
    if (next && next.getTime() - last.getTime() < leastMinutes * 60_000) return true
    last = next
  }
  return false
}

/** With its offset: an hour that comes twice is told apart by that alone. */
const localOf = (moment: Date, timezone: string) => {
  const offset = zoneOffset(timezone, moment.getTime())!
  const shown = new Date(moment.getTime() + offset * 60_000).toISOString().slice(0, 'yyyy-MM-ddTHH:mm'.length)
  return `${shown}${writeOffset(offset)}`
}

const invalid = (message: string) => new Refusal('INVALID', message)
