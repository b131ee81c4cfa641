import test from 'ava'
import {dateFormatOf, isZone} from '../../../shared/flows/date-format.ts'
import {type Converted, convert, convertValue, type FieldShape, type Rules} from '../../../shared/flows/value.ts'

const field = (type: string, more: Partial<FieldShape> = {}): FieldShape => ({apiName: 'F', type, length: null, picklist: [], ...more})
const said = (converted: Converted) => (converted.ok ? converted.value : converted.code)

type Table = [what: string, shape: FieldShape, rules: Rules, cells: [string, unknown][]]
const refused = 'INVALID_VALUE'
const amount = field('currency', {length: 16, decimalPlaces: 2})

const tables: Table[] = [
  [
    'a column whose mark is the point',
    amount,
    {reading: {decimalMark: 'point'}},
    [
      ['1,234.56', 1234.56],
      ['1,234', 1234],
      ["1'234'567.5", 1234567.5],
      ['1 234.5', 1234.5],
      ['1\u00a0234\u00a0567', 1234567],
      ['€ 12.50', 12.5],
      ['-$3', refused],
      ['12,5', refused],
      ['1,23,456', refused],
      ['1.234.567', refused],
      ['', refused],
    ],
  ],
  [
    'a column whose mark is the comma',
    amount,
    {reading: {decimalMark: 'comma'}},
    [
      ['1.234,56', 1234.56],
      ['1.234', 1234],
      ['0,5', 0.5],
      ['-1.000.000,01', -1000000.01],
      ['12,50 €', 12.5],
      ['1.5', refused],
      ['1,234.56', refused],
    ],
  ],
  [
    'a column of which nothing is known',
    field('double'),
    {reading: {}},
    [
      ['1.234', 'AMBIGUOUS_VALUE'],
      ['12,345', 'AMBIGUOUS_VALUE'],
      ['1.5', 1.5],
      ['1,5', 1.5],
      ['0.123', 0.123],
      ['1234.567', 1234.567],
      ['1,234,567', 1234567],
      ['1.234,5', 1234.5],
      ['42', 42],
    ],
  ],
  [
    'text that no file wrote',
    field('double'),
    {},
    [
      ['1.234', 1.234],
      ['1,234', refused],
      ['€5', refused],
    ],
  ],
  [
    'a digit that rounding adds',
    field('double', {length: 3, decimalPlaces: 1}),
    {},
    [
      ['999.94', 999.9],
      ['999.95', 'TOO_LONG'],
    ],
  ],
  [
    'per cent',
    field('percent', {length: 5, decimalPlaces: 2}),
    {reading: {}},
    [
      ['12.5 %', 12.5],
      ['7%', 7],
      ['123456', 'TOO_LONG'],
    ],
  ],
  [
    'places after the point',
    amount,
    {},
    [
      ['1.005', 1.01],
      ['2.675', 2.68],
      ['-1.005', -1.01],
      ['-0.001', 0],
      ['0.999', 1],
      ['9.995', 10],
      ['1e2', 100],
      ['8e-3', 0.01],
      ['8e-323', 0],
      ['123456789012345678.5', 'TOO_LONG'],
      ['9999999999999999.999', refused],
    ],
  ],
  [
    'digits that a number would lose',
    field('double'),
    {reading: {}},
    [
      ['12345678901234567890', refused],
      ['9007199254740993', refused],
      ['9007199254740992', 9007199254740992],
      ['0.1234567890123456789', 0.12345678901234568],
    ],
  ],
  ['digits whose loss was accepted', field('double'), {reading: {as: 'number'}}, [['12345678901234567890', 12345678901234567000]]],
  [
    'whole numbers',
    field('integer', {length: 9}),
    {reading: {decimalMark: 'comma', as: 'text'}},
    [
      ['1.234', 1234],
      ['-0', 0],
      ['1234567890', 'TOO_LONG'],
      ['1,5', refused],
      ['007', refused],
    ],
  ],
  [
    'long numbers',
    field('bigint', {length: 18}),
    {},
    [
      ['9000000001', '9000000001'],
      ['000123', '123'],
      ['+12', '12'],
      ['-0', '0'],
      ['1234567890123456789', 'TOO_LONG'],
    ],
  ],
  [
    'days first',
    field('date'),
    {reading: {dateOrder: 'dmy'}},
    [
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
    'no order known',
    field('date'),
    {reading: {}},
    [
      ['03/04/2026', refused],
      ['31/01/2026', refused],
      ['2026-03-04', '2026-03-04'],
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
      ['2026-03-29 02:30', refused],
      ['2026-10-25 02:30', refused],
      ['2026-10-25 03:00', '2026-10-25T03:00:00+01:00'],
      ['2026-01-31', refused],
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
  ['an offset in the format', field('datetime'), {format: 'yyyyMMdd HHmmssXXX'}, [['20260131 101500+0530', '2026-01-31T10:15:00+05:30']]],
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
  [
    'web addresses',
    field('website', {length: 30}),
    {},
    [
      ['example.org', 'example.org'],
      ['https://a.example/x y', refused],
      ['HTTP://A.example', 'HTTP://A.example'],
      ['localhost', refused],
      ['http://example', refused],
      [`http://${'a'.repeat(30)}.org`, 'TOO_LONG'],
    ],
  ],
  [
    'phones, untouched',
    field('phone', {length: 12}),
    {},
    [
      [' +49 (0)30 ', ' +49 (0)30 '],
      ['030/12 34-5', '030/12 34-5'],
      ['1234567890123', 'TOO_LONG'],
    ],
  ],
]

for (const [what, shape, rules, cells] of tables) {
  test(`${what}: ${shape.type}`, t => {
    for (const [text, value] of cells) t.deepEqual(said(convert(text, shape, rules)), value, JSON.stringify(text))
  })
}

const listed = [
  {display: 'Fresh', actual: 'New'},
  {display: 'Sold', actual: 'Sold'},
]

test('a picklist takes a stranger only where the mapping says so, and by its own words first', t => {
  const picked = (text: string, rules: Rules, type = 'picklist') => said(convert(text, field(type, {picklist: listed, length: 8}), rules))
  const map = new Map([
    ['neu', 'New'],
    ['sold', 'New'],
  ])
  t.is(picked('Neu', {}), 'NOT_IN_PICKLIST')
  t.is(picked(' Neu ', {map}), 'New')
  t.is(picked('Sold', {map}), 'New', 'the words of the mapping go before the list')
  t.is(picked('Old', {map}), 'NOT_IN_PICKLIST')
  t.is(picked('Old', {unlisted: 'pass'}), 'Old')
  t.is(picked('fresh', {unlisted: 'pass'}), 'New')
  t.is(picked('far too long', {unlisted: 'pass'}), 'TOO_LONG')
  t.deepEqual(picked('neu;Old', {map, unlisted: 'pass'}, 'multiselectpicklist'), ['New', 'Old'])
  t.deepEqual(picked('["Fresh", "Sold"]', {}, 'multiselectpicklist'), ['New', 'Sold'])
  t.is(picked('[Fresh]', {}, 'multiselectpicklist'), 'NOT_IN_PICKLIST')
})

test('what an expression gives is taken as it is: numbers, booleans, lists, links and days', t => {
  const given = (value: unknown, type: string, more = {}) => said(convertValue(value, field(type, {picklist: listed, ...more})))
  t.is(given(12, 'integer'), 12)
  t.is(given(12.5, 'integer'), refused)
  t.is(given(1.005, 'currency', {decimalPlaces: 2}), 1.01)
  t.is(given(12, 'text'), '12')
  t.is(given(1e21, 'double'), 1e21)
  t.is(given(12, 'bigint'), '12')
  t.is(given(true, 'boolean'), true)
  t.is(given(1, 'boolean'), true)
  t.is(given(true, 'text'), 'true')
  t.is(given('2026-01-31T00:00:00.000Z', 'date'), '2026-01-31')
  t.is(given('2026-01-31T10:00:00.000Z', 'date'), refused)
  t.is(given('2026-01-31T10:00:00.000Z', 'datetime'), '2026-01-31T10:00:00+00:00')
  t.deepEqual(given(['Fresh', 'Sold'], 'multiselectpicklist'), ['New', 'Sold'])
  t.is(given(['Fresh', 1], 'multiselectpicklist'), refused)
  t.is(given(['Fresh'], 'picklist'), refused)
  t.deepEqual(given({id: '5000000000001', name: 'x'}, 'lookup'), {id: '5000000000001'})
  t.is(given({id: '1'}, 'lookup'), refused)
  t.is(given({}, 'text'), refused)
})

test('a format that leaves something open, or says it twice, is none', t => {
  for (const format of [
    'dd.MM',
    'dd.MM.yyyy dd',
    'DD.MM.YYYY',
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
