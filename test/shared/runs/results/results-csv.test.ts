import test from 'ava'
import fc from 'fast-check'
import {Refusal} from '../../../../shared/errors.ts'
import type {FileRow} from '../../../../shared/files/row.ts'
import {type ResultsInput, writeResults} from '../../../../shared/runs/results/results-csv.ts'
import {describeRounded, type OutcomeEntry, type RowOutcome} from '../../../../shared/runs/results/row-result.ts'
import {collect, inPieces, readAll} from '../../files/chunks.ts'

const contacts = {apiName: 'Contacts', label: 'Contacts'}
const deals = {apiName: 'Deals', label: 'Opportunities'}

async function* inChunks<T>(items: T[], size = 2): AsyncGenerator<T[], void, undefined> {
  for (let from = 0; from < items.length; from += size) yield items.slice(from, from + size)
}

const rowsOf = (...cells: string[][]): FileRow[] => cells.map((row, index) => ({rowNumber: index + 1, cells: row, ragged: false}))

const entry = (outcome: OutcomeEntry['outcome'], more: Partial<OutcomeEntry> = {}): OutcomeEntry => ({
  module: 'Contacts',
  outcome,
  recordId: null,
  code: null,
  message: null,
  ...more,
})

type WriteInput = Partial<Omit<ResultsInput, 'rows' | 'outcomes'>> & {rows?: FileRow[]; outcomes?: RowOutcome[]}

const write = async ({columns = ['name'], rows = [], outcomes = [], modules = [contacts], ...more}: WriteInput) =>
  String(await collect(writeResults({columns, modules, rows: inChunks(rows), outcomes: inChunks(outcomes, 3), ...more})))

/** Returns the result cells of one row with these log entries. */
const resultFor = async (entries: OutcomeEntry[], modules = [contacts], excluded = false) => {
  const text = await write({rows: rowsOf(['Anna']), outcomes: [{rowNumber: 1, excluded, entries}], modules})
  return (await readAll(inPieces(text))).cells[0]!.slice(1)
}

test('results have every row in order, with cells, result and record', async t => {
  const text = await write({
    columns: ['id', 'name'],
    rows: rowsOf(['1', 'Anna'], ['2', 'Boris'], ['3', 'Chloé']),
    outcomes: [
      {rowNumber: 1, entries: [entry('created', {recordId: '501'})]},
      {rowNumber: 3, entries: [entry('refused', {code: 'INVALID_DATA', message: 'No such city'})]},
    ],
  })
  t.is(text, 'id,name,Result,Contacts record,Error\r\n1,Anna,Written,501,\r\n2,Boris,,,\r\n3,Chloé,Failed,,No such city (INVALID_DATA)\r\n')
})

for (const [outcome, result] of Object.entries({
  created: 'Written',
  updated: 'Written',
  inherited: 'Written before',
  skipped: 'Skipped',
  failed: 'Failed',
  refused: 'Failed',
  unanswered: 'No answer',
  lookup: '',
} as const)) {
  test(`a row with outcome ${outcome} has the result "${result || 'nothing'}"`, async t => {
    t.is((await resultFor([entry(outcome as OutcomeEntry['outcome'])]))[0], result)
  })
}

test('a row struck by cleaning has the result Excluded', async t => {
  t.deepEqual(await resultFor([], [contacts], true), ['Excluded', '', ''])
})

test('cells are written as read, before cleaning, and a struck row is always Excluded', async t => {
  const rows: FileRow[] = [
    {rowNumber: 1, cells: ['Anna', 'extra'], read: [' Anna'], ragged: false},
    {rowNumber: 2, cells: ['Boris'], read: ['Boris '], ragged: false, struck: 'The row repeats row 1'},
  ]
  const outcomes = rows.map(({rowNumber}) => ({rowNumber, entries: [entry('created', {recordId: '7'})]}))
  t.is(await write({rows, outcomes}), 'name,Result,Contacts record,Error\r\n Anna,Written,7,\r\nBoris ,Excluded,,\r\n')
})

test('the worst outcome of several modules is the result', async t => {
  const order = ['unanswered', 'failed', 'created', 'inherited', 'skipped'] as const
  const names = ['No answer', 'Failed', 'Written', 'Written before', 'Skipped']
  for (const [worst, outcome] of order.entries()) {
    for (const better of order.slice(worst)) {
      const cells = await resultFor([entry(better), entry(outcome, {module: 'Deals'})], [contacts, deals])
      t.is(cells[0], names[worst])
    }
  }
})

test('each module has a record column with its label in the connection, and several ids are joined', async t => {
  const text = await write({
    modules: [contacts, deals],
    rows: rowsOf(['Anna']),
    outcomes: [
      {
        rowNumber: 1,
        entries: [
          entry('created', {recordId: '1'}),
          entry('updated', {recordId: '2'}),
          entry('updated', {recordId: '2', phase: 'patch'}),
          entry('created', {module: 'Deals', recordId: '9'}),
        ],
      },
    ],
  })
  t.is(text, 'name,Result,Contacts record,Opportunities record,Error\r\nAnna,Written,1; 2,9,\r\n')
})

test('an unanswered create is disclosed', async t => {
  const [result, record, error] = await resultFor([entry('created', {recordId: '1', disclosed: true})])
  t.deepEqual([result, record], ['Written', '1'])
  t.is(error, 'A create was sent and never answered, so the record may exist twice')
})

test('an error names the module if there are several, and the field of a lookup or patch', async t => {
  const [, , , error] = await resultFor(
    [
      entry('created', {recordId: '1'}),
      entry('lookup', {phase: 'lookup', target: 'Account', message: 'No record found, the link is left empty', code: '0'}),
      entry('failed', {module: 'Deals', code: 'EXPRESSION', message: 'Not a number'}),
      entry('unanswered', {phase: 'patch', target: 'Manager'}),
    ],
    [contacts, deals],
  )
  t.is(
    error,
    [
      'Contacts, Account: No record found, the link is left empty',
      'Opportunities: Not a number (EXPRESSION)',
      'Contacts, Manager: The CRM did not answer, so this may or may not have been written',
    ].join('; '),
  )
})

test('a row skipped by a lookup has its reason once, and a question of a dry run is no error', async t => {
  const message = 'No record of Accounts has this Account_Name: the row was skipped'
  const [result, , error] = await resultFor([
    entry('skipped', {code: 'LOOKUP_NONE', message}),
    entry('would_ask', {phase: 'match', code: '2', message: '2 records match'}),
    entry('lookup', {phase: 'lookup', target: 'Account', code: 'NONE', message}),
  ])
  t.deepEqual([result, error], ['Skipped', `Account: ${message}`])
})

test('a failed patch is reported and does not change the result', async t => {
  const [result, , error] = await resultFor([
    entry('created', {recordId: '1'}),
    entry('refused', {phase: 'patch', target: 'Manager', code: 'X'}),
  ])
  t.deepEqual([result, error], ['Written', 'Manager: X'])
})

test('a file column named like a result column keeps its name', async t => {
  const text = await write({columns: ['Result', 'Contacts record', 'lading: Result', 'error'], modules: [contacts]})
  t.is(text, 'Result,Contacts record,lading: Result,error,lading: lading: Result,lading: Contacts record,Error\r\n')
})

test('a cell that a spreadsheet would execute gets an apostrophe, and a plain number does not', async t => {
  const guarded = ['=1+1', '+49 30', '-x', '@me', '-', '-1.2.3', '=', '+1e5', '-1,', '@', "=a,'b"]
  const plain = ['-5', '+5', '-5.25', '+1,5', '5', 'a=b', ' =1', '\t=1', "'=1", '']
  const text = await write({columns: ['=x'], rows: rowsOf(...[...guarded, ...plain].map(cell => [cell]))})
  const {columns, cells} = await readAll(inPieces(text))
  t.is(columns[0], "'=x")
  t.deepEqual(
    cells.map(([cell]) => cell),
    [...guarded.map(cell => `'${cell}`), ...plain],
  )
})

test('the apostrophe guard covers the error cell', async t => {
  t.is((await resultFor([entry('failed', {message: '=HYPERLINK("x")'})]))[2], `'=HYPERLINK("x")`)
})

test('cells are quoted where necessary, and keep their line ends', async t => {
  const text = await write({rows: rowsOf(['a,b'], ['say "hi"'], ['one\r\ntwo'], ['x\ny'], [' z '])})
  t.true(text.includes('"a,b",,,\r\n"say ""hi""",,,\r\n"one\r\ntwo",,,\r\n"x\ny",,,\r\n z ,,,\r\n'))
})

test('a ragged row keeps its cells, and the results stay in their columns', async t => {
  const rows: FileRow[] = [
    {rowNumber: 1, cells: ['1'], ragged: true},
    {rowNumber: 2, cells: ['1', '2', '3', '4'], ragged: true},
  ]
  const outcomes = rows.map(({rowNumber}) => ({rowNumber, entries: [entry('failed', {code: 'ROW_RAGGED'})]}))
  const text = await write({columns: ['a', 'b'], rows, outcomes})
  t.is(text, 'a,b,Result,Contacts record,Error\r\n1,,Failed,,ROW_RAGGED\r\n1,2,Failed,,ROW_RAGGED,3,4\r\n')
})

test('outcomes of absent or distant rows shift nothing', async t => {
  const text = await write({
    rows: [4, 5, 9].map(rowNumber => ({rowNumber, cells: [`${rowNumber}`], ragged: false})),
    outcomes: [1, 2, 5, 6, 7, 8, 9, 12].map(rowNumber => ({rowNumber, entries: [entry('created', {recordId: `id ${rowNumber}`})]})),
  })
  t.is(text, 'name,Result,Contacts record,Error\r\n4,,,\r\n5,Written,id 5,\r\n9,Written,id 9,\r\n')
})

test('results over the limit are refused with the true row and byte counts, and output stops', async t => {
  const rows = rowsOf(...Array.from({length: 1000}, (_, index) => [`row ${index}`]))
  const whole = await write({rows})
  t.is(await write({rows, limit: whole.length}), whole)
  let given = 0
  const error = await t.throwsAsync(
    async () => {
      for await (const chunk of writeResults({
        columns: ['name'],
        modules: [contacts],
        rows: inChunks(rows),
        outcomes: inChunks([]),
        limit: 5000,
      }))
        given += chunk.length
    },
    {instanceOf: Refusal},
  )
  t.true(given <= 5000)
  t.like(error, {code: 'RESULTS_TOO_LARGE', status: 413, extra: {rows: 1000, bytes: whole.length, limit: 5000}})
})

test('the joined parts of a file equal the file, and line N of a part is row `from` + N - 1', async t => {
  const rows = rowsOf(...Array.from({length: 300}, (_, n) => [`=Row ${n + 1}\n"${'x'.repeat(n)}"`]))
  const outcomes = rows.map(({rowNumber}) => ({rowNumber, entries: [entry('created', {recordId: `${rowNumber}`})]}))
  const whole = await write({rows, outcomes})
  for (const limit of [4_000, 9_000, whole.length - 1]) {
    let [joined, parts] = ['', 0]
    for (let from: number | null = 1; from !== null; parts++) {
      const first: number = from
      from = null
      const part = {from: first, ...(first > 1 && {header: false})}
      const text = await write({rows, outcomes, limit, part, onNext: next => (from = next)})
      t.true(Buffer.byteLength(text) <= limit)
      t.true(from === null || from > first)
      joined += text
    }
    t.true(parts > 1)
    t.is(joined, whole)
  }
  const middle = await readAll(inPieces(await write({rows, outcomes, part: {from: 11, to: 13}})))
  t.deepEqual(
    middle.cells.map(([, , record]) => record),
    ['11', '12', '13'],
  )
  t.is((await write({rows, outcomes, part: {from: 301}})).trim(), 'name,Result,Contacts record,Error')
  t.is(await write({rows, outcomes, part: {byteOrderMark: true}}), `\ufeff${whole}`)
  await t.throwsAsync(write({rows, outcomes, limit: 4_000, part: {from: 1, to: 300}}), {code: 'RESULTS_TOO_LARGE', message: /from=1/})
})

test('leaving early closes both input streams', async t => {
  const closed: string[] = []
  async function* endless<T>(name: string, item: (n: number) => T) {
    try {
      for (let n = 1; ; n++) yield [item(n)]
    } finally {
      closed.push(name)
    }
  }
  const rows = endless('rows', rowNumber => ({rowNumber, cells: ['x'], ragged: false}))
  const outcomes = endless('outcomes', rowNumber => ({rowNumber, entries: [entry('created')]}))
  let chunks = 0
  for await (const _ of writeResults({columns: ['name'], modules: [contacts], rows, outcomes})) if (++chunks === 5) break
  t.deepEqual(closed.toSorted(), ['outcomes', 'rows'])
})

test('written results read back unchanged, apart from apostrophes', async t => {
  const cell = fc.oneof(
    fc.string({unit: 'grapheme', maxLength: 10}).map(text => text.replaceAll('\0', '')),
    fc.constantFrom('=1', '+2', '-x', '@', '"', ',', '\r\n', '\r', "'"),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(cell, cell), {minLength: 1, maxLength: 8}), fc.integer({min: 1, max: 50}), async (cells, size) => {
      const {cells: read} = await readAll(inPieces(await write({columns: ['a', 'b'], rows: rowsOf(...cells)}), size))
      const bare = (text: string, as: string) => (text !== as && text === `'${as}` ? as : text)
      t.deepEqual(
        read.map(([a, b], index) => [bare(a!, cells[index]![0]), bare(b!, cells[index]![1])]),
        cells,
      )
    }),
    {numRuns: 200},
  )
})

test('a written row names its rounded values and stays Written', async t => {
  const message = describeRounded(['Amount', 'Tax'])
  const said = 'Amount, Tax were rounded from more decimal places'
  t.is(message, said)
  t.deepEqual(await resultFor([entry('created', {recordId: '1', message})]), ['Written', '1', said])
  t.deepEqual(await resultFor([entry('updated', {recordId: '1', code: 'MADE_EARLIER', message: `Made before. ${message}`})]), [
    'Written',
    '1',
    said,
  ])
  t.deepEqual(await resultFor([entry('created', {recordId: '1', code: 'MADE_EARLIER', message: 'Made before'})]), ['Written', '1', ''])
  t.deepEqual(await resultFor([entry('created', {recordId: '1', message, disclosed: true})]), [
    'Written',
    '1',
    `${said}; A create was sent and never answered, so the record may exist twice`,
  ])
})
