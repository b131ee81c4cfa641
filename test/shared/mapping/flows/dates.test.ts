import test from 'ava'
import {Settings, usualSettings} from '../../../../shared/configuration/settings.ts'
import {openSandbox} from '../../../../shared/expressions/sandbox.ts'
import {isZone} from '../../../../shared/expressions/zone-offset.ts'
import {dateFormatOf} from '../../../../shared/mapping/flows/date-format.ts'
import {convert, type FieldShape, type Rules} from '../../../../shared/mapping/flows/value.ts'

const field = (type: string): FieldShape => ({apiName: 'F', type, length: null, picklist: []})
const refused = 'INVALID_VALUE'

/** Pairs a spelling of 3 March 2026 with its value. */
const day = (text: string): [string, unknown] => [text, '2026-03-03']

const tables: [what: string, shape: FieldShape, rules: Rules, cells: [string, unknown][]][] = [
  [
    'days first',
    field('date'),
    {reading: {dateOrder: 'dmy'}},
    [
      ['2026/4/3', '2026-04-03'],
      ['3.4.2026', '2026-04-03'],
      ['31/01/2026', '2026-01-31'],
      ['2026-01-31', '2026-01-31'],
      ['2026-01-31T00:00:00', '2026-01-31'],
      ['01/31/2026', refused],
      ['3.4.26', refused],
      ['29.02.2025', refused],
      ['31.01.2026 10:00', refused],
      ['1/2.2026', refused],
    ],
  ],
  [
    'months first',
    field('date'),
    {reading: {dateOrder: 'mdy'}},
    [
      ['3/4/2026', '2026-03-04'],
      ['13/1/2026', refused],
      ['3/4/2026 12:00 AM', '2026-03-04'],
      ['3/4/2026 2:30 PM', refused],
    ],
  ],
  [
    'years first',
    field('date'),
    {reading: {dateOrder: 'ymd'}},
    [
      ['2026/1/2', '2026-01-02'],
      ['01/02/2026', refused],
    ],
  ],
  [
    'months by name, without an order',
    field('date'),
    {reading: {}},
    [
      ...['3 March 2026', '3rd March 2026', '3 Mar. 2026', '03-Mar-26', '03.Mar.2026', '3/mar/2026'].map(day),
      ...['March 3, 2026', 'March 3rd, 2026', 'Mar 3 2026', 'MAR-03-2026', '2026 March 3', '2026-Mar-03', '3 of March 2026'].map(day),
      ...['3. März 2026', '3. Mrz 2026', '3. Mär. 2026', '3 mars 2026', '3 de marzo de 2026', '3 marzo 2026'].map(day),
      ...['3 de março de 2026', '3 maart 2026', '3 mrt 2026', '3 marca 2026', '3 March 2026 00:00', 'Mar 3, 2026, 0:00:00'].map(day),
      ['Jun 12 1998', '1998-06-12'],
      ['1er août 2026', '2026-08-01'],
      ['15. Jänner 2026', '2026-01-15'],
      ['29 Feb 2024', '2024-02-29'],
      ['29 Feb 2025', refused],
      ['31 June 2026', refused],
      ['0 March 2026', refused],
      ['3 Marsh 2026', refused],
      ['March 2026', refused],
      ['3 March', refused],
      ['3 March 2026 10:30', refused],
      ['03Mar2026', refused],
      ['Mar 3 26', refused],
      ['03-Mar-69', '2069-03-03'],
      ['03-Mar-70', '1970-03-03'],
    ],
  ],
  [
    'months by name, in columns of any order, leave numbers as they are',
    field('date'),
    {reading: {dateOrder: 'mdy'}},
    [
      ['3 March 2026', '2026-03-03'],
      ['3/4/2026', '2026-03-04'],
    ],
  ],
  [
    'months by name, beside a stated format',
    field('date'),
    {format: 'dd.MM.yyyy'},
    [
      ['03.04.2026', '2026-04-03'],
      ['3 March 2026', refused],
    ],
  ],
  [
    'moments with months by name',
    field('datetime'),
    {reading: {}, zone: 'Europe/Berlin'},
    [
      ['3 March 2026 10:30', '2026-03-03T10:30:00+01:00'],
      ['3. Juli 2026, 9:05:07', '2026-07-03T09:05:07+02:00'],
      ['3 March 2026', refused],
      ['3 March 2026 24:30', refused],
    ],
  ],
  [
    'no order known',
    field('date'),
    {reading: {}},
    [
      ['03/04/2026', refused],
      ['31/01/2026', refused],
      ['2026-03-04', '2026-03-04'],
      ['0001-01-01', '0001-01-01'],
      ['0000-01-01', refused],
    ],
  ],
  [
    'a stated format',
    field('date'),
    {format: 'd MMM yy'},
    [
      ['3 Jan 26', '2026-01-03'],
      ['31 december 99', refused],
      ['31 Dec. 99', '1999-12-31'],
      ['2026-01-03', '2026-01-03'],
      ['03/01/26', refused],
    ],
  ],
  [
    'a stated format that begins with the year',
    field('date'),
    {format: 'yyyy-dd-MM'},
    [
      ['2026-13-01', '2026-01-13'],
      ['2026-01-13', refused],
    ],
  ],
  [
    'moments by the clock of a zone',
    field('datetime'),
    {zone: 'Europe/Berlin', reading: {dateOrder: 'dmy'}},
    [
      ['2026-01-31 10:00', '2026-01-31T10:00:00+01:00'],
      ['2026-07-31T10:00:30', '2026-07-31T10:00:30+02:00'],
      ['31.7.2026 9:05', '2026-07-31T09:05:00+02:00'],
      ['2026-07-31T10:00:30Z', '2026-07-31T10:00:30+00:00'],
      ['2026-07-31T10:00:30+14:00', '2026-07-31T10:00:30+14:00'],
      ...['+14:30', '-15:00', '+02:60', '+25:99'].map((offset): [string, unknown] => [`2026-07-31T10:00:30${offset}`, refused]),
      ['2026-03-29 02:30', refused],
      ['2026-10-25 02:30', refused],
      ['2026-10-25 03:00', '2026-10-25T03:00:00+01:00'],
      ['2026-01-31', refused],
    ],
  ],
  [
    'moments with AM and PM in the order of the column',
    field('datetime'),
    {zone: 'America/New_York', reading: {dateOrder: 'mdy'}},
    [
      ['3/15/2024 2:30 PM', '2024-03-15T14:30:00-04:00'],
      ['3/15/2024 12:05:07am', '2024-03-15T00:05:07-04:00'],
      ['2024-03-15 12:30 pm', '2024-03-15T12:30:00-04:00'],
      ['15/3/2024 2:30 PM', refused],
      ['3/15/2024 0:30 AM', refused],
      ['3/15/2024 13:05 PM', refused],
      ['3/15/24 2:30 PM', refused],
    ],
  ],
  [
    "moments with AM and PM in the org's date format",
    field('datetime'),
    {zone: 'America/New_York', reading: {dateFormat: 'MM/dd/yyyy'}},
    [
      ['03/15/2024 2:30 PM', '2024-03-15T14:30:00-04:00'],
      ['03/15/2024 02:30:09 AM', '2024-03-15T02:30:09-04:00'],
      ['03/15/2024 14:30', '2024-03-15T14:30:00-04:00'],
    ],
  ],
  [
    'moments in a stated format',
    field('datetime'),
    {zone: 'America/New_York', format: 'M/d/yyyy h:mm a'},
    [
      ['7/4/2026 12:05 AM', '2026-07-04T00:05:00-04:00'],
      ['12/4/2026 1:05 p.m.', '2026-12-04T13:05:00-05:00'],
      ['7/4/2026 13:05 PM', refused],
    ],
  ],
  [
    'an offset in the format',
    field('datetime'),
    {format: 'yyyyMMdd HHmmssXXX'},
    [
      ['20260131 101500+0530', '2026-01-31T10:15:00+05:30'],
      ['20260131 101500+2599', refused],
    ],
  ],
  [
    'a day alone, where the format says so',
    field('datetime'),
    {format: 'dd.MM.yyyy', zone: 'Asia/Tokyo'},
    [['31.01.2026', '2026-01-31T00:00:00+09:00']],
  ],
  [
    'times of day',
    field('time'),
    {},
    [
      ['09:15', '09:15'],
      ['23:59:59', '23:59:59'],
      ['24:00', refused],
      ['9:15', refused],
    ],
  ],
]

for (const [what, shape, rules, cells] of tables) {
  test(`dates are converted with ${what}: ${shape.type}`, t => {
    for (const [text, value] of cells) {
      const converted = convert(text, shape, rules)
      t.is(converted.ok ? converted.value : converted.code, value, JSON.stringify(text))
    }
  })
}

test('a refused date with a year of two digits names the format that reads it', t => {
  const known = convert('31.12.24', field('date'), {reading: {dateOrder: 'dmy'}})
  t.regex(known.ok ? '' : known.message, /year has two digits. Correct it, or give the mapping a format such as dd\/MM\/yy/)
  t.deepEqual(convert('31.12.24', field('date'), {format: 'dd.MM.yy'}), {ok: true, value: '2024-12-31'})
})

const spellings: [one: string, other: string, text: string, day: string][] = [
  ['dd.MM.yyyy', 'DD.MM.YYYY', '29.02.2024', '2024-02-29'],
  ['d/M/yy', 'D/M/YY', '9/2/24', '2024-02-09'],
  ['yyyyMMdd', 'YYYYMMDD', '20240229', '2024-02-29'],
  ['dd.MM.YYYY', 'DD.MM.yyyy', '29.02.2024', '2024-02-29'],
  ['dddd, d MMMM yyyy', 'dddd, D MMMM YYYY', 'Thursday, 29 February 2024', '2024-02-29'],
  ['d [de] MMMM [de] yyyy', 'D [de] MMMM [de] YYYY', '29 de February de 2024', '2024-02-29'],
]
const sandbox = openSandbox()
test.after.always(() => sandbox.close())

for (const [one, other, text, day] of spellings)
  test(`${one} and ${other} are the same format, in mappings and in expressions`, async t => {
    for (const format of [one, other]) {
      t.deepEqual(convert(text, field('date'), {format}), {ok: true, value: day}, format)
      const expressions = {
        read: `helpers.date(value, ${JSON.stringify(format)})`,
        written: `helpers.formatDate("${day}", ${JSON.stringify(format)})`,
      }
      const given = Object.fromEntries(Object.entries(expressions).map(([name, source]) => [name, {source, value: 'text'}]))
      const [outcome] = await sandbox.evaluate({expressions: given, rows: [{text}], clock: 0, seed: ''})
      t.deepEqual(outcome, {read: {value: day}, written: {value: text}}, format)
    }
  })

test('times, AM and PM, offsets and milliseconds have both notations, too', async t => {
  for (const [format, text] of [
    ['yyyy-MM-dd hh:mm:ss.SSS a XXX', '2024-02-29 01:05:09.250 PM +01:00'],
    ['YYYY-MM-DD hh:mm:ss.SSS A Z', '2024-02-29 01:05:09.250 PM +01:00'],
  ] as const) {
    t.deepEqual(convert(text, field('datetime'), {format}), {ok: true, value: '2024-02-29T13:05:09+01:00'})
    const expressions = {read: {source: `helpers.dateTime(value, "${format}")`, value: 'text'}}
    const [outcome] = await sandbox.evaluate({expressions, rows: [{text}], clock: 0, seed: ''})
    t.deepEqual(outcome!.read, {value: '2024-02-29T13:05:09.250+01:00'})
  }
  t.like(convert('Friday, 29 February 2024', field('date'), {format: 'dddd, d MMMM yyyy'}), {code: refused}, 'another day has that name')
})

test('a helper refuses a format without a token, and keeps words that contain token letters', async t => {
  const expressions = {none: 'helpers.date("29.02.2024", "...")', words: 'helpers.formatDate("2024-02-09", "D de MMMM YYYY")'}
  const [outcome] = await sandbox.evaluate({expressions, rows: [{}], clock: 0, seed: ''})
  t.regex(JSON.stringify(outcome!.none), /has no day, month or year/)
  t.deepEqual(outcome!.words, {value: '9 de February 2024'})
})

test('the settings accept both notations', t => {
  const takes = (dateFormat: string) => Settings.safeParse({...usualSettings, dateFormat}).success
  for (const format of ['dd.MM.yyyy', 'DD.MM.YYYY', 'YYYY-MM-DD', 'D/M/YY']) t.true(takes(format), format)
  for (const format of ['dD.MM.yyyy', 'dd.mm.yyyy', 'DD.MM', 'DD.MM.yyYY']) t.false(takes(format), format)
})

test('an ambiguous or repeated date format is refused', t => {
  for (const format of [
    'dd.MM',
    'dd.MM.yyyy dd',
    'D de MMMM YYYY',
    'dd.MM.yyyy hh:mm',
    'dd.MM.yyyy HH:mm a',
    '',
    `dd.MM.yyyy${' '.repeat(60)}`,
  ])
    t.is(typeof dateFormatOf(format), 'string', format)
  for (const format of ['dd/MM/yyyy', 'd-M-yy', 'yyyy-MM-ddTHH:mm:ssXXX', 'MMMM d, yyyy h a'])
    t.is(typeof dateFormatOf(format), 'object', format)
  t.deepEqual([isZone('Europe/Berlin'), isZone('+02:00'), isZone('Nowhere/Else')], [true, false, false])
})
