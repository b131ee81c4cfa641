import test from 'ava'
import {lookOf, looks} from '../../../shared/files/cell-kind.ts'
import {openEvidence} from '../../../shared/files/evidence.ts'

const evidenceOf = (...values: string[]) => evidenceOfColumn(values)

const evidenceOfColumn = (values: readonly string[]) => {
  const evidence = openEvidence(['a'])
  evidence.add(values.map((value, index) => ({rowNumber: index + 1, cells: [value], ragged: false})))
  return evidence.end().columns[0]!
}

const seen: Record<string, object> = {
  '12': {kind: 'integer'},
  '-12': {kind: 'integer'},
  '0': {kind: 'integer'},
  ' 7 ': {kind: 'integer'},
  '007': {kind: 'integer', leadingZeros: true},
  '9007199254740991': {kind: 'integer'},
  '9007199254740992': {kind: 'integer', beyond53: true},
  '-123456789012345678': {kind: 'integer', beyond53: true},
  '00000000000000000012': {kind: 'integer', leadingZeros: true},
  '12.50': {kind: 'decimal', mark: 'point'},
  '12,5': {kind: 'decimal', mark: 'comma'},
  '1,234': {kind: 'decimal', mark: 'ambiguous'},
  '0.125': {kind: 'decimal', mark: 'point'},
  '1,234.5': {kind: 'decimal', mark: 'point'},
  '1.234,5': {kind: 'decimal', mark: 'comma'},
  '1,234,567': {kind: 'integer', mark: 'point'},
  '1.234.567': {kind: 'integer', mark: 'comma'},
  "1'234.50": {kind: 'decimal', mark: 'point'},
  '1 234 567': {kind: 'integer'},
  '$1,000': {kind: 'text', mark: 'ambiguous', amount: true},
  '$12,345.50': {kind: 'text', mark: 'point', amount: true},
  '-1,5 %': {kind: 'text', mark: 'comma', amount: true},
  '1\u202f234,50': {kind: 'text', mark: 'comma', amount: true},
  '€ 1.234.567': {kind: 'text', mark: 'comma', amount: true},
  '900 €': {kind: 'text', amount: true},
  '-$5': {kind: 'text'},
  '1,5 §': {kind: 'text'},
  true: {kind: 'boolean'},
  NEIN: {kind: 'boolean'},
  '2024-01-31': {kind: 'date', order: 'ymd'},
  '2024/1/5': {kind: 'date', order: 'ymd'},
  '2024-01-31T10:00:00.000Z': {kind: 'date', order: 'ymd'},
  '2024-01-31 10:00:00 +01:00': {kind: 'date', order: 'ymd'},
  '31/12/2024': {kind: 'date', order: 'dmy'},
  '31.12.24': {kind: 'date', shortYear: true},
  '12/31/2024 11:59 PM': {kind: 'date', order: 'mdy'},
  '01/02/2024': {kind: 'date', order: 'ambiguous'},
  '10.11.12': {kind: 'date', shortYear: true},
  '05/05/2024': {kind: 'date'},
  '24-01-31': {kind: 'date', shortYear: true},
  '2024-13-01': {kind: 'phone'},
  '1.2.3': {kind: 'text'},
  '192.168.1.1': {kind: 'text'},
  '+49 30 1234567': {kind: 'phone'},
  '+493012345678': {kind: 'phone'},
  '(020) 7946-0958': {kind: 'phone'},
  'anna@example.com': {kind: 'email'},
  '@anna': {kind: 'text'},
  'https://example.com/a?b=1': {kind: 'url'},
  'www.example.com': {kind: 'url'},
  [`https://example.com/${'a'.repeat(200)}`]: {kind: 'url'},
  'Anna Meier': {kind: 'text'},
  'Flat 4': {kind: 'text'},
  ['x'.repeat(5000)]: {kind: 'text'},
  '½': {kind: 'text'},
}

for (const [cell, look] of Object.entries(seen)) {
  test(`${cell.length > 40 ? `${cell.slice(0, 40)}…` : cell} looks like ${JSON.stringify(look)}`, t => {
    t.deepEqual(looks[lookOf(cell)] as object, look)
  })
}

test('a column counts its kinds, blanks, distinct values and longest value', t => {
  t.like(evidenceOf('12', '', '  ', '12', 'xy', '007'), {
    kinds: {integer: 3, text: 1},
    empties: 2,
    distinct: {count: 3, more: false},
    longest: 3,
    leadingZeros: {count: 1, firstRow: 6},
    beyond53: null,
    replaced: null,
    samples: ['12', 'xy', '007'],
  })
})

test('the date order of a column is proved by some value or by none', t => {
  t.deepEqual(evidenceOf('01/02/2024', '31/01/2024', '03/03/2024').dates, {dmy: 1, mdy: 0, ymd: 0, ambiguous: 1})
  t.deepEqual(evidenceOf('01/02/2024', '02/03/2024').dates, {dmy: 0, mdy: 0, ymd: 0, ambiguous: 2})
  t.like(evidenceOf('01/02/24', '31/01/24', '01/31/24'), {dates: {dmy: 0, mdy: 0, ymd: 0, ambiguous: 0}, shortYears: 3})
  t.like(evidenceOf('3 March 2024', '03-Mar-24', '12MAR2024', '32 March 2024'), {
    kinds: {date: 2, text: 2},
    dates: {dmy: 0, mdy: 0, ymd: 0, ambiguous: 0},
  })
})

test('leading zeros, long numbers and replacement characters are counted with their first row', t => {
  const {leadingZeros, beyond53, replaced} = evidenceOf('a', '01', '01', '123456789012345678', 'M\ufffdller')
  t.deepEqual(
    [leadingZeros, beyond53, replaced],
    [
      {count: 2, firstRow: 2},
      {count: 1, firstRow: 4},
      {count: 1, firstRow: 5},
    ],
  )
})

test('distinct values are counted exactly up to 1,000', t => {
  const values = Array.from({length: 1000}, (_, index) => `value ${index}`)
  t.deepEqual(evidenceOf(...values, ...values).distinct, {count: 1000, more: false})
  const {about, ...exact} = evidenceOf(...values, 'one more').distinct
  t.deepEqual(exact, {count: 1000, more: true})
  t.true(about! > 1000 && about! < 1100, `${about}`)
})

test('more than 1,000 distinct values are estimated, regardless of their form and repetition', t => {
  for (const [size, of] of [
    [5_000, (n: number) => `${n}`],
    [50_000, (n: number) => `person${n}@example.org`],
    [200_000, (n: number) => `${n * 7919}`],
  ] as const) {
    const values = Array.from({length: size}, (_, n) => of(n))
    const {about} = evidenceOfColumn([...values.slice(0, 100), ...values]).distinct
    t.true(Math.abs(about! - size) < size * 0.1, `${size}: ${about}`)
  }
})

test('kinds are counted correctly after distinct values are no longer stored', t => {
  const values = Array.from({length: 3000}, (_, index) => `${index + 1}`)
  t.deepEqual(evidenceOf(...values, ...values).kinds, {integer: 6000})
})

test('ragged rows are counted, and their cells are ignored because they may be shifted', t => {
  const evidence = openEvidence(['a', 'b'])
  evidence.add([
    {rowNumber: 1, cells: ['1', '2'], ragged: false},
    {rowNumber: 2, cells: ['x'], ragged: true},
    {rowNumber: 3, cells: ['x', 'y', 'z'], ragged: true},
  ])
  const {rows, ragged, columns} = evidence.end()
  t.is(rows, 3)
  t.deepEqual(ragged, {count: 2, firstRow: 2})
  t.deepEqual(
    columns.map(({name, kinds}) => ({name, kinds})),
    [
      {name: 'a', kinds: {integer: 1}},
      {name: 'b', kinds: {integer: 1}},
    ],
  )
})

test('at most five samples are kept, cut at 200 characters; longer values still count as distinct', t => {
  const {samples, distinct, longest} = evidenceOf('a', 'b', `${'x'.repeat(500)}1`, `${'x'.repeat(500)}2`, 'c', 'd', 'e')
  t.deepEqual(samples, ['a', 'b', 'x'.repeat(200), 'x'.repeat(200), 'c'])
  t.deepEqual(distinct, {count: 7, more: false})
  t.is(longest, 501)
})

test('memory stays bounded for a file of 16,384 columns', t => {
  const width = 16_384
  const evidence = openEvidence(Array.from({length: width}, (_, index) => `c${index}`))
  const before = process.memoryUsage().heapUsed
  for (let row = 1; row <= 40; row++) {
    evidence.add([{rowNumber: row, cells: Array.from({length: width}, (_, index) => `value ${row} ${index}`), ragged: false}])
  }
  t.true(process.memoryUsage().heapUsed - before < 200_000_000)
  t.deepEqual(evidence.end().columns[7]?.distinct.count, 12)
})
