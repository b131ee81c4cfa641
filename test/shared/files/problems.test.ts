import test, {type ExecutionContext} from 'ava'
import {Choices, readingsOf} from '../../../shared/files/choices.ts'
import {openEvidence} from '../../../shared/files/evidence.ts'
import {examine} from '../../../shared/files/examine.ts'
import {problemsOf} from '../../../shared/files/problems.ts'
import {readRows} from './workbooks.ts'

const evidenceOf = (...values: string[]) => {
  const evidence = openEvidence(['a'])
  evidence.add(values.map((value, index) => ({rowNumber: index + 1, cells: [value], ragged: false})))
  return evidence.end()
}

const of = (values: string[], choice?: object) => {
  const problems = problemsOf(evidenceOf(...values), Choices.parse(choice ? {a: choice} : {}))
  return problems.map(({kind, column}) => `${kind} ${column}`)
}

const ambiguous = ['ambiguous a']
const cases: [title: string, values: string[], problems: string[], choice?: object][] = [
  ['dates no value of which proves an order', ['01/02/2024', '03/04/2024'], ambiguous],
  ['the same once an order is chosen', ['01/02/2024', '03/04/2024'], [], {dateOrder: 'mdy'}],
  ['dates one of which proves their order', ['01/02/2024', '31/01/2024'], []],
  ['dates that prove two orders', ['31/01/2024', '01/31/2024'], ambiguous],
  ['ISO dates', ['2024-02-01', '2024-02-02'], []],
  ['ISO dates beside a date that proves no order', ['2024-02-01', '01/02/2024'], ambiguous],
  ['the same once its order is chosen', ['2024-02-01', '01/02/2024'], [], {dateOrder: 'dmy'}],
  ['dates with years of two digits', ['03/04/24', '31/12/24'], ambiguous],
  ['the same with an order, which does not help', ['03/04/24', '31/12/24'], ambiguous, {dateOrder: 'dmy'}],
  ['one such date among prose', ['01/02/2024', 'then', 'some', 'words'], []],
  ['leading zeros', ['007', '12'], ambiguous],
  ['leading zeros that are text by choice', ['007', '12'], [], {as: 'text'}],
  ['leading zeros that may be lost', ['007', '12'], [], {as: 'number'}],
  ['more digits than a number keeps', ['9007199254740993'], ambiguous],
  ['leading zeros in codes', ['007', 'A12', 'B13'], []],
  ['numbers of either mark', ['1,234', '2,345'], ambiguous],
  ['numbers one of which proves its mark', ['1,234', '2,5'], []],
  ['numbers of both marks', ['1.5', '2,5'], ambiguous],
  ['amounts with a currency sign of either mark', ['$1,000', '$900'], ambiguous],
  ['amounts one of which proves its mark', ['$1,000', '$12,345.50'], []],
  ['amounts of both marks', ['$1.50', '2,5 %', '7'], ambiguous],
  ['amounts beside a text', ['$1,000', '$900', '$800', 'on request'], ambiguous],
  ['the same once its mark is chosen', ['$1,000', '$900', '$800', 'on request'], [], {decimalMark: 'point'}],
  ['prose with amounts', ['$1,000', '$900', 'on request', 'sold'], []],
  ['plain numbers', ['1', '2', '0'], []],
  ['characters that were lost', ['M\ufffdller'], ['lost a']],
  ['quotes behind a backslash', ['"5\\" pipe"', '6'], ['escaped a']],
  ['quotes and backslashes apart', ['"Big" Joe', 'C:\\x', '5\\" pipe'], []],
  ['nothing at all', ['', ' '], []],
]

for (const [title, values, problems, choice] of cases) {
  test(`${title}: ${problems.length ? problems.join() : 'no problem'}`, t => t.deepEqual(of(values, choice), problems))
}

test('every problem has a message and a fix', async t => {
  const values = ['01/02/2024', '007', '1,234', '\ufffd1']
  for (const value of values) {
    for (const {message, fix} of problemsOf(evidenceOf(value), {})) {
      t.regex(message, /\w/)
      t.regex(fix, /\b(choose|export|add|correct|open)\b/i)
    }
  }
})

test('rows with an open quote are a problem of their own, with the option that accepts them', t => {
  const evidence = openEvidence(['a'])
  evidence.add([
    {rowNumber: 1, cells: ['x'], ragged: false},
    {rowNumber: 2, cells: ['"y\nz"'], ragged: true, openQuote: true},
  ])
  const found = evidence.end()
  t.deepEqual([found.ragged.count, found.openQuotes], [0, {count: 1, firstRow: 2}])
  t.like(problemsOf(found, {}), [{kind: 'quote', column: null, reader: {openQuotes: 'keep'}}])
})

const ofWorkbook = async (t: ExecutionContext, ...rest: Parameters<typeof readRows> extends [unknown, ...infer R] ? R : never) => {
  const file = await readRows(t, ...rest)
  const columns = {columns: file.columns, rows: (async function* () {})()}
  return problemsOf(await examine(columns, file), {}).map(({kind, column}) => `${kind} ${column}`)
}

test('formulas without values and zeros shown only by a format are reported for a workbook', async t => {
  const rows = [
    ['zip', 'sum'],
    [{v: 123, s: 1}, {f: 'A2'}],
    [
      {v: 4567, s: 1},
      {f: 'A3', v: 4567},
    ],
  ]
  t.deepEqual(await ofWorkbook(t, rows, {formats: ['00000']}), ['ambiguous zip', 'uncalculated sum'])
})

test('error values of a workbook are reported by column', async t => {
  const error = {t: 'e', v: '#REF!', f: 'A9'}
  t.deepEqual(
    await ofWorkbook(t, [
      ['a', 'b'],
      [error, 'x'],
      [error, '#REF!'],
    ]),
    ['error a'],
  )
})

const formatted = async (t: ExecutionContext, format: string, values: (number | string)[], choice?: object) => {
  const file = await readRows(t, [['a'], ...values.map(v => [{v, s: 1}])], {formats: [format]})
  const examined = await examine({columns: file.columns, rows: (async function* () {})()}, file)
  return {columns: examined.columns, problems: problemsOf(examined, Choices.parse(choice ? {a: choice} : {}))}
}

const formats: [what: string, format: string, values: (number | string)[], choice: object | undefined, problems: RegExp[]][] = [
  ['percentages', '0.0%', [0.25, 1], undefined, []],
  ['zeros that only the format shows', '00000', [501], undefined, [/1 number displayed with zeros or signs/]],
  ['a mask', '000-00-0000', [12345678], undefined, [/displayed with zeros or signs/]],
  ['zeros that are kept', '00000', [501], {as: 'text'}, []],
  ['zeros that may be lost', '00000', [501], {as: 'number'}, []],
  ['zeros whose numbers are chosen', '00000', [501], {numbers: 'stored'}, []],
  ['thousands', '#,##0,', [1234567], undefined, [/1 number displayed in thousands or millions/]],
  ['thousands that are chosen', '#,##0,', [1234567], {numbers: 'displayed'}, []],
  ['invalid dates', 'yyyy-mm-dd', [-1, 60], undefined, [/2 cells formatted as dates or times hold numbers/]],
  ['dates and durations', '[h]:mm', [1.5, -0.5], undefined, []],
  ['plain numbers', '#,##0.00', [501], undefined, []],
]

for (const [what, format, values, choice, problems] of formats)
  test(`a workbook’s ${what}: ${problems.length ? 'reported' : 'no problem'}${choice ? ` with ${JSON.stringify(choice)}` : ''}`, async t => {
    const {problems: found} = await formatted(t, format, values, choice)
    t.is(found.length, problems.length)
    for (const [at, problem] of problems.entries()) t.regex(found[at]!.message, problem)
  })

test('readings say how formatted numbers are read, only where a format changes them', async t => {
  const readings = async (format: string, choice?: object) =>
    readingsOf((await formatted(t, format, [501])).columns, Choices.parse(choice ? {a: choice} : {})).a?.numbers
  t.is(await readings('0%'), 'auto')
  t.is(await readings('0%', {numbers: 'stored'}), 'stored')
  t.is(await readings('0.00'), undefined)
  t.is(await readings('0.00', {as: 'text'}), undefined)
})

test('a reading is the choice of a person, or else what the values prove', t => {
  const {columns} = evidenceOf('31/01/2024', '01/02/2024')
  t.deepEqual(readingsOf(columns, {}), {a: {dateOrder: 'dmy'}})
  t.deepEqual(readingsOf(columns, {a: {dateOrder: 'mdy', as: 'text'}}), {a: {dateOrder: 'mdy', as: 'text'}})
  t.deepEqual(readingsOf(evidenceOf('01/02/2024').columns, {}), {})
  t.deepEqual(readingsOf(evidenceOf('1,5').columns, {}), {a: {decimalMark: 'comma'}})
  t.deepEqual(readingsOf(evidenceOf('$1,000', '$12,345.50').columns, {}), {a: {decimalMark: 'point'}})
  t.deepEqual(readingsOf(evidenceOf('$12,345.50', 'paid', 'open').columns, {}), {}, 'amounts in prose decide nothing')
})

test('a decimal comma in a text cell of a workbook does not decide how its numbers are read', t => {
  const evidence = evidenceOf('1.234', '2.345', '0,5')
  t.deepEqual(readingsOf(evidence.columns, {}), {a: {decimalMark: 'comma'}}, 'in a CSV file it does')
  const columns = evidence.columns.map(column => ({...column, stored: {number: 2, text: 1}}))
  t.deepEqual(readingsOf(columns, {}), {})
  t.deepEqual(
    problemsOf({...evidence, columns}, {}).map(({kind}) => kind),
    ['ambiguous'],
  )
  t.deepEqual(readingsOf(columns, {a: {decimalMark: 'point'}}), {a: {decimalMark: 'point'}})
})
