import test from 'ava'
import {type Converted, convert, convertValue, type FieldShape, type Rules} from '../../../../shared/mapping/flows/value.ts'

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
    'a column without known marks',
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
      ['-12.5e-2', -0.13],
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
  test(`${what} is converted by the table: ${shape.type}`, t => {
    for (const [text, value] of cells) t.deepEqual(said(convert(text, shape, rules)), value, JSON.stringify(text))
  })
}

const listed = [
  {display: 'Fresh', actual: 'New'},
  {display: 'Sold', actual: 'Sold'},
]

test('a picklist accepts an unlisted value only if the mapping says so', t => {
  const picked = (text: string, rules: Rules, type = 'picklist') => said(convert(text, field(type, {picklist: listed, length: 8}), rules))
  t.is(picked('Neu', {}), 'NOT_IN_PICKLIST')
  t.is(picked('Old', {unlisted: 'pass'}), 'Old')
  t.is(picked('fresh', {unlisted: 'pass'}), 'Fresh')
  t.is(picked('far too long', {unlisted: 'pass'}), 'TOO_LONG')
  t.deepEqual(picked('new;Old', {unlisted: 'pass'}, 'multiselectpicklist'), ['Fresh', 'Old'])
  t.deepEqual(picked('["Fresh", "Sold"]', {}, 'multiselectpicklist'), ['Fresh', 'Sold'])
  t.is(picked('[Fresh]', {}, 'multiselectpicklist'), 'NOT_IN_PICKLIST')
})

test('typed values of an expression are accepted: numbers, booleans, lists, lookups and dates', t => {
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
  t.deepEqual(given(['Fresh', 'Sold'], 'multiselectpicklist'), ['Fresh', 'Sold'])
  t.is(given(['Fresh', 1], 'multiselectpicklist'), refused)
  t.is(given(['Fresh'], 'picklist'), refused)
  t.deepEqual(given({id: '5000000000001', name: 'x'}, 'lookup'), {id: '5000000000001'})
  t.is(given({id: '1'}, 'lookup'), refused)
  t.is(given({}, 'text'), refused)
})

test('a number with more decimal places than its field is reported as rounded', t => {
  const places = field('currency', {length: 16, decimalPlaces: 2})
  const isRounded = (value: unknown) => {
    const converted = convertValue(value, places)
    return converted.ok ? [converted.value, converted.rounded === true] : converted
  }
  for (const [value, wanted, rounded] of [
    ['12.345', 12.35, true],
    ['-0.001', 0, true],
    ['1.5e-3', 0, true],
    ['12345678901234.567', 12345678901234.57, true],
    ['12.30', 12.3, false],
    ['12.3000', 12.3, false],
    ['12', 12, false],
    ['1e3', 1000, false],
    ['12345678901234.56', 12345678901234.56, false],
    [0.1 + 0.2, 0.3, false],
    [0.125, 0.13, true],
  ] as const)
    t.deepEqual(isRounded(value), [wanted, rounded], `${value}`)
  t.deepEqual(convertValue('1.23456', field('double', {decimalPlaces: null})), {ok: true, value: 1.23456})
})
