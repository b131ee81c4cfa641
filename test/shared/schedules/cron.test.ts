import test from 'ava'
import fc from 'fast-check'
import {assertTimes, catchUp, isFrequent, mostMissed, nextAfter, preview} from '../../../shared/schedules/cron.ts'

/**
 * Reference implementation that goes through every minute of the wall clock. A cron time with a star or a step in its minute or hour fires in
 * every matching minute. Others fire once per named time: in its first matching minute or, if a clock change skips it, in the first minute
 * after the gap.
 */
const walk = ({cron, timezone}: {cron: string; timezone: string}, {from, days}: {from: string; days: number}): string[] => {
  const [minutes, hours, ...rest] = cron.split(' ')
  const isBeat = /[*/]/.test(`${minutes}${hours}`)
  const fired = new Set<number>()
  const told = new Set<string>()
  const shown = wall(timezone)
  const start = Date.parse(from)
  let last: Wall | null = null
  for (let at = start - 3 * hourMs; at < start + days * 24 * hourMs; at += minuteMs) {
    const now = shown(at)
    const left = last && !isBeat ? leftOut(last, now) : []
    for (const time of [...left, now]) {
      const name = `${time.day} ${time.hour}:${time.minute}`
      if (!reads(minutes!, time.minute, 0, 59) || !reads(hours!, time.hour, 0, 23) || !fits(rest, time)) continue
      if (isBeat || !told.has(name)) fired.add(at)
      told.add(name)
    }
    last = now
  }
  return [...fired].filter(at => at > start).map(at => new Date(at).toISOString())
}

const [minuteMs, hourMs] = [60_000, 3_600_000]
type Wall = {day: string; hour: number; minute: number; ms: number}

const wall = (timeZone: string) => {
  const parts = {year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit'} as const
  const clock = new Intl.DateTimeFormat('sv-SE', {timeZone, ...parts})
  return (at: number): Wall => {
    const [day, time] = clock.format(at).split(' ')
    const [hour, minute] = time!.split(':').map(Number)
    return {day: day!, hour: hour!, minute: minute!, ms: Date.parse(`${day}T${time}Z`)}
  }
}

/** Returns every minute that the wall clock skipped. */
const leftOut = (last: Wall, now: Wall): Wall[] =>
  Array.from({length: Math.max(0, (now.ms - last.ms) / minuteMs - 1)}, (_, n) => wall('UTC')(last.ms + (n + 1) * minuteMs))

const fits = ([days, months, weekdays]: string[], {day}: Wall) => {
  const date = new Date(day)
  if (!reads(months!, date.getUTCMonth() + 1, 1, 12)) return false
  const [onDay, onWeekday] = [reads(days!, date.getUTCDate(), 1, 31), reads(weekdays!, date.getUTCDay(), 0, 6)]
  return days !== '*' && weekdays !== '*' ? onDay || onWeekday : onDay && onWeekday
}

const reads = (field: string, value: number, least: number, most: number): boolean =>
  field.split(',').some(part => {
    const [range, step = '1'] = part.split('/')
    const [low, high = low] = range === '*' ? [least, most] : range!.split('-').map(Number)
    return value >= low! && value <= high! && (value - low!) % Number(step) === 0
  })

/** Returns all times of the library in the same span. */
const listed = (times: {cron: string; timezone: string}, {from, days}: {from: string; days: number}): string[] => {
  const end = new Date(Date.parse(from) + days * 24 * hourMs).toISOString()
  const found: string[] = []
  for (let at = nextAfter(times, from); at !== null && at < end; at = nextAfter(times, at)) found.push(at)
  return found
}

/**
 * Time zones with the beginning of a span: clock changes in spring and autumn, north and south, by an hour and by half an hour, at midnight, and
 * none.
 */
const changes = [
  ['Europe/Berlin', '2026-03-28T12:00:00.000Z'],
  ['Europe/Berlin', '2026-10-24T12:00:00.000Z'],
  ['America/New_York', '2027-03-13T12:00:00.000Z'],
  ['America/New_York', '2026-10-31T12:00:00.000Z'],
  ['Australia/Lord_Howe', '2026-10-03T06:00:00.000Z'],
  ['Australia/Lord_Howe', '2026-04-04T06:00:00.000Z'],
  ['America/Santiago', '2026-09-05T12:00:00.000Z'],
  ['America/Santiago', '2026-04-04T12:00:00.000Z'],
  ['Asia/Kolkata', '2026-10-24T12:00:00.000Z'],
] as const

const field = (least: number, most: number, step: string[]) => {
  const number = fc.integer({min: least, max: most})
  const list = fc.uniqueArray(number, {minLength: 1, maxLength: 3}).map(numbers => numbers.sort((a, b) => a - b).join(','))
  const range = fc.tuple(number, number).map(([a, b]) => `${Math.min(a, b)}-${Math.max(a, b)}`)
  return fc.oneof(list, range, fc.constantFrom('*', ...step))
}
const crons = fc.tuple(field(0, 59, ['*/15', '5-50/20']), field(0, 5, ['*/2', '1-4/2'])).map(([minute, hour]) => `${minute} ${hour} * * *`)

test('due times equal those of a walk through every minute, across clock changes in both directions', t => {
  fc.assert(
    fc.property(crons, fc.constantFrom(...changes), (cron, [timezone, from]) => {
      const [times, span] = [
        {cron, timezone},
        {from, days: 2},
      ]
      t.deepEqual(listed(times, span), walk(times, span), `${cron} ${timezone} ${from}`)
    }),
    {numRuns: 60},
  )
})

test('a time skipped in spring fires at the change, one repeated in autumn fires once, and intervals continue', t => {
  const berlin = (cron: string, from: string) => preview({cron, timezone: 'Europe/Berlin'}, from, 3).map(({local}) => local)
  t.deepEqual(berlin('30 2 * * *', '2026-03-28T12:00:00Z'), ['2026-03-29T03:00+02:00', '2026-03-30T02:30+02:00', '2026-03-31T02:30+02:00'])
  t.deepEqual(berlin('30 2 * * *', '2026-10-24T12:00:00Z'), ['2026-10-25T02:30+02:00', '2026-10-26T02:30+01:00', '2026-10-27T02:30+01:00'])
  t.deepEqual(berlin('0 2,3 * * *', '2026-03-28T12:00:00Z'), ['2026-03-29T03:00+02:00', '2026-03-30T02:00+02:00', '2026-03-30T03:00+02:00'])
  t.deepEqual(berlin('0 * * * *', '2026-03-28T23:30:00Z'), ['2026-03-29T01:00+01:00', '2026-03-29T03:00+02:00', '2026-03-29T04:00+02:00'])
  t.deepEqual(berlin('0 * * * *', '2026-10-24T23:30:00Z'), ['2026-10-25T02:00+02:00', '2026-10-25T02:00+01:00', '2026-10-25T03:00+01:00'])
})

test('days of the month and of the week are combined as in cron', t => {
  for (const cron of ['0 9 1,15 * *', '0 9 * * 1-5', '0 9 13 * 5', '0 9 * 2 *', '30 6 29 2 *']) {
    const [times, span] = [
      {cron, timezone: 'UTC'},
      {from: '2028-01-01T00:00:00.000Z', days: 61},
    ]
    t.deepEqual(listed(times, span), walk(times, span), cron)
  }
})

test('after an outage only the newest due time is left, with a count of missed ones, across clock changes', t => {
  const times = {cron: '30 2 * * *', timezone: 'Europe/Berlin'}
  const [due, now] = ['2026-03-28T01:30:00.000Z', '2026-03-29T01:00:00.000Z']
  t.deepEqual(catchUp(times, {due, now}), {newest: now, missed: 1, next: '2026-03-30T00:30:00.000Z'})
  t.deepEqual(catchUp(times, {due, now: '2026-03-28T01:30:00.000Z'}), {newest: due, missed: 0, next: now})
  const often = {cron: '*/5 * * * *', timezone: 'UTC'}
  const long = catchUp(often, {due: '2026-01-01T00:00:00.000Z', now: '2026-02-01T00:02:00.000Z'})
  t.deepEqual(long, {newest: '2026-02-01T00:00:00.000Z', missed: mostMissed, next: '2026-02-01T00:05:00.000Z'})
})

const refusals: [cron: string, timezone: string, says: RegExp][] = [
  ['0 0 31 2 *', 'UTC', /never fires/],
  ['0 0 * * * *', 'UTC', /five fields/],
  ['@daily', 'UTC', /five fields/],
  ['? * * * *', 'UTC', /five fields/],
  ['60 * * * *', 'UTC', /not a valid cron expression/],
  ['a * * * *', 'UTC', /not a valid cron expression/],
  ['0 0 * * *', 'Europe/Atlantis', /time zone “Europe\/Atlantis” is unknown/],
  ['0 0 * * *', '+02:00', /time zone “\+02:00” is unknown/],
]
test('an invalid cron expression or time zone, or a cron that never fires, is refused with the reason', t => {
  for (const [cron, timezone, says] of refusals) t.throws(() => assertTimes({cron, timezone}), {code: 'INVALID', message: says}, cron)
  for (const cron of ['*/5 * * * *', '0 0 29 2 *', '0 9 L * *', '0 9 * * MON#1', '0 9-17/2 * JAN-MAR MON-FRI', '55 23 * * *'])
    t.notThrows(() => assertTimes({cron, timezone: 'Europe/Berlin'}), cron)
})

test('two due times less than five minutes apart make a cron frequent, also across midnight', t => {
  for (const cron of ['*/4 * * * *', '* * * * *', '0,3 9 * * 1', '58,0 0,23 * * *']) t.true(isFrequent(cron), cron)
  for (const cron of ['*/5 * * * *', '0 0 29 2 *', '55 23 * * *', '0,5 9 * * 1']) t.false(isFrequent(cron), cron)
})
