import test, {type ExecutionContext} from 'ava'
import {Choices, readingsOf} from '../../../shared/imports/choices.ts'
import {openEvidence} from '../../../shared/imports/evidence.ts'
import {examine} from '../../../shared/imports/examine.ts'
import {problemsOf} from '../../../shared/imports/problems.ts'
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
  ['one such date among prose', ['01/02/2024', 'then', 'some', 'words'], []],
  ['leading zeros', ['007', '12'], ambiguous],
  ['leading zeros that are text by choice', ['007', '12'], [], {as: 'text'}],
  ['leading zeros that may be lost', ['007', '12'], [], {as: 'number'}],
  ['more digits than a number keeps', ['9007199254740993'], ambiguous],
  ['leading zeros in codes', ['007', 'A12', 'B13'], []],
  ['numbers of either mark', ['1,234', '2,345'], ambiguous],
  ['numbers one of which proves its mark', ['1,234', '2,5'], []],
  ['numbers of both marks', ['1.5', '2,5'], ambiguous],
  ['plain numbers', ['1', '2', '0'], []],
  ['characters that were lost', ['M\ufffdller'], ['lost a']],
  ['nothing at all', ['', ' '], []],
]

for (const [title, values, problems, choice] of cases) {
  test(`${title}: ${problems.length ? problems.join() : 'no problem'}`, t => t.deepEqual(of(values, choice), problems))
}

test('every problem says what it is and what to do', async t => {
  const values = ['01/02/2024', '007', '1,234', '\ufffd1']
  for (const value of values) {
    for (const {message, fix} of problemsOf(evidenceOf(value), {})) {
      t.regex(message, /\w/)
      t.regex(fix, /\b(choose|export|add|correct|open)\b/i)
    }
  }
})

const ofWorkbook = async (t: ExecutionContext, ...rest: Parameters<typeof readRows> extends [unknown, ...infer R] ? R : never) => {
  const file = await readRows(t, ...rest)
  const columns = {columns: file.columns, rows: (async function* () {})()}
  return problemsOf(await examine(columns, file), {}).map(({kind, column}) => `${kind} ${column}`)
}

test('a workbook’s formulas without values and zeros that only its format shows are told', async t => {
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

test('readings are what was chosen, else what the values prove', t => {
  const {columns} = evidenceOf('31/01/2024', '01/02/2024')
  t.deepEqual(readingsOf(columns, {}), {a: {dateOrder: 'dmy'}})
  t.deepEqual(readingsOf(columns, {a: {dateOrder: 'mdy', as: 'text'}}), {a: {dateOrder: 'mdy', as: 'text'}})
  t.deepEqual(readingsOf(evidenceOf('01/02/2024').columns, {}), {})
  t.deepEqual(readingsOf(evidenceOf('1,5').columns, {}), {a: {decimalMark: 'comma'}})
})
