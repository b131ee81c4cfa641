import {Cron} from 'croner'
import {Refusal} from '../errors.ts'
import {isZone, writeOffset, zoneOffset} from '../expressions/zone-offset.ts'

/** The times at which a schedule fires: a cron expression of five fields, in an IANA time zone. */
export type Times = {cron: string; timezone: string}

const leastMinutes = 5
/** Maximum number of moments that `isFrequent` checks. A day has fewer moments if they are `leastMinutes` apart. */
const momentsLooked = (24 * 60) / leastMinutes + 2
const daysLooked = 400
const dayMs = 86_400_000

/**
 * Returns the first moment after `after` (ISO 8601, UTC), or null. When clocks change, an expression with fixed hours and minutes (`30 2 * * *`)
 * fires once for each named time: a skipped time fires when the clock jumps, a repeated time only the first time. An expression with a `*` or a step
 * in minute or hour (`0 * * * *`) also fires in the repeated hour, and never at skipped times.
 */
export const nextAfter = (times: Times, after: string): string | null => open(times).nextRun(new Date(after))?.toISOString() ?? null

export const preview = (times: Times, after: string, count = 5): {at: string; local: string}[] =>
  open(times)
    .nextRuns(count, new Date(after))
    .map(moment => ({at: moment.toISOString(), local: localOf(moment, times.timezone)}))

export const mostMissed = 1_000

export type Due = {newest: string; missed: number; next: string | null}

/**
 * Returns the newest moment from `due` up to `now`, the number of missed moments before it (at most `mostMissed`), and the next moment after
 * `now`. `due` is the oldest moment that has not fired.
 */
export const catchUp = (times: Times, {due, now}: {due: string; now: string}): Due => {
  const cron = open(times)
  const [end, next] = [new Date(now), cron.nextRun(new Date(now))?.toISOString() ?? null]
  let [newest, missed] = [new Date(due), 0]
  for (; missed < mostMissed; missed++) {
    const later = cron.nextRun(newest)
    if (!later || later > end) return {newest: newest.toISOString(), missed, next}
    newest = later
  }
  // `previousRuns` excludes the given moment.
  const [last] = cron.previousRuns(1, new Date(end.getTime() + 1))
  return {newest: (last ?? newest).toISOString(), missed, next}
}

/** Throws if the time zone is unknown, if the text is not a cron expression of five fields, or if the expression never fires. */
export const assertTimes = (times: Times) => {
  assertZone(times.timezone)
  assertFields(times.cron)
  const first = nextAfter(times, new Date().toISOString())
  if (first === null) throw invalid(`“${times.cron}” never fires, because no date matches it. Correct the day and the month`)
}

const open = ({cron, timezone}: Times) => new Cron(cron, {timezone, mode: '5-part', fixedTimeRule: 'no-wildcard', paused: true})

const assertZone = (timezone: string) => {
  if (!isZone(timezone)) throw invalid(`The time zone “${timezone}” is unknown. Use an IANA name, such as Europe/Berlin or UTC`)
}

const assertFields = (cron: string) => {
  if (!/^\S+( \S+){4}$/.test(cron) || cron.includes('?'))
    throw invalid(
      `“${cron}” is not a cron expression. Write five fields with one space between them: minute, hour, day of the month, month, day of the week`,
    )
  try {
    open({cron, timezone: 'UTC'})
  } catch (error) {
    throw invalid(
      `“${cron}” is not a valid cron expression: ${error instanceof Error ? error.message.replace(/^CronPattern: /, '') : error}`,
    )
  }
}

/**
 * Returns whether two consecutive moments of the expression are less than five minutes apart. Checks at most `momentsLooked` moments within
 * `daysLooked` days of the first. Times are in UTC, where the clock never changes.
 */
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

/** Formats a moment in local time with its offset. The offset distinguishes the two occurrences of a repeated hour. */
const localOf = (moment: Date, timezone: string) => {
  const offset = zoneOffset(timezone, moment.getTime())!
  const shown = new Date(moment.getTime() + offset * 60_000).toISOString().slice(0, 'yyyy-MM-ddTHH:mm'.length)
  return `${shown}${writeOffset(offset)}`
}

const invalid = (message: string) => new Refusal('INVALID', message)
