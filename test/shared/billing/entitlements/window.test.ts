import test from 'ava'
import fc from 'fast-check'
import pg from 'pg'
import {leftOf, windowAt} from '../../../../shared/billing/entitlements/window.ts'
import {databaseUrlOf, readConfig} from '../../../../shared/config.ts'

const moment = (from: string, to: string) =>
  fc.date({min: new Date(from), max: new Date(to), noInvalidDate: true}).map(date => date.toISOString())
const anchors = moment('2019-01-01', '2029-01-01')
const moments = moment('2019-01-01', '2035-01-01')

test('a period anchored on the 31st ends on the last day of shorter months and returns to the 31st', t => {
  const anchor = '2027-01-31T10:20:30.400Z'
  const starts = ['2027-02-10', '2027-03-10', '2027-04-10', '2027-05-10', '2028-03-10'].map(
    now => windowAt(anchor, `${now}T00:00:00.000Z`).startsAt,
  )
  t.deepEqual(
    starts.map(start => start.slice(0, 10)),
    ['2027-01-31', '2027-02-28', '2027-03-31', '2027-04-30', '2028-02-29'],
  )
  t.true(starts.every(start => start.endsWith('T10:20:30.400Z')))
})

test('every moment is in exactly one period, and periods follow without gaps', t => {
  fc.assert(
    fc.property(anchors, moments, (anchor, now) => {
      const window = windowAt(anchor, now)
      t.true(window.startsAt <= now && now < window.endsAt)
      const [before, after] = [windowAt(anchor, justBefore(window.startsAt)), windowAt(anchor, window.endsAt)]
      t.deepEqual([before.endsAt, after.startsAt], [window.startsAt, window.endsAt])
      t.deepEqual(windowAt(anchor, window.startsAt), window, 'its first moment is in it')
      t.deepEqual(windowAt(anchor, justBefore(window.endsAt)), window, 'and its last')
    }),
    {numRuns: 500},
  )
})

test('a period begins on the day of its anchor, or on the last day of a shorter month', t => {
  fc.assert(
    fc.property(anchors, moments, (anchor, now) => {
      t.is(windowAt(anchor, anchor).startsAt, anchor)
      const {startsAt} = windowAt(anchor, now)
      const start = new Date(startsAt)
      const lastDay = new Date(Date.UTC(start.getUTCFullYear(), start.getUTCMonth() + 1, 0)).getUTCDate()
      t.is(start.getUTCDate(), Math.min(new Date(anchor).getUTCDate(), lastDay))
      t.is(startsAt.slice(10), anchor.slice(10))
    }),
    {numRuns: 500},
  )
})

test('Postgres adds months to the same moments as our function', async t => {
  const client = new pg.Client(databaseUrlOf(readConfig()))
  await client.connect()
  t.teardown(() => client.end())
  const given = fc.sample(fc.tuple(anchors, moments), 500).map(([anchor, now]) => ({anchor, ...windowAt(anchor, now)}))
  const {rows} = await client.query(
    `select count(*) filter (where not exists (
       select from generate_series(-130, 200) as n
       where (anchor at time zone 'UTC' + make_interval(months => n)) at time zone 'UTC' = "startsAt"
         and (anchor at time zone 'UTC' + make_interval(months => n + 1)) at time zone 'UTC' = "endsAt"))::int as wrong
     from jsonb_to_recordset($1::jsonb) as w (anchor timestamptz, "startsAt" timestamptz, "endsAt" timestamptz)`,
    [JSON.stringify(given)],
  )
  t.is(rows[0].wrong, 0)
})

test('the remaining share of a period falls from one to zero', t => {
  const window = {startsAt: '2027-01-01T00:00:00.000Z', endsAt: '2027-01-11T00:00:00.000Z'}
  t.is(leftOf(window, window.startsAt), 1)
  t.is(leftOf(window, '2027-01-06T00:00:00.000Z'), 0.5)
  t.is(leftOf(window, window.endsAt), 0)
})

const justBefore = (moment: string) => new Date(Date.parse(moment) - 1).toISOString()
