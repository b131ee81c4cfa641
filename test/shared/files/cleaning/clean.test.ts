import test from 'ava'
import fc from 'fast-check'
import {Refusal} from '../../../../shared/errors.ts'
import {cleaned} from '../../../../shared/files/cleaning/clean.ts'
import {Cleaning} from '../../../../shared/files/cleaning/cleaning.ts'
import {openDigestMap} from '../../../../shared/files/digest-map.ts'
import {charactersAtOnce, type FileRow, maxRowCharacters, type Table} from '../../../../shared/files/row.ts'

const tableOf = (columns: string[], rows: string[][], size = 500): Table => ({
  columns,
  rows: (async function* () {
    const all = rows.map((cells, index): FileRow => ({rowNumber: index + 1, cells, ragged: cells.length !== columns.length}))
    for (let from = 0; from < all.length; from += size) yield all.slice(from, from + size)
  })(),
})

const clean = async (columns: string[], rows: string[][], steps: object[], size?: number) => {
  const table = cleaned(tableOf(columns, rows, size), Cleaning.parse(steps), {fileCharacters: 100_000_000})
  const all: FileRow[] = []
  for await (const chunk of table.rows) all.push(...chunk)
  return {
    columns: table.columns,
    rows: all,
    cells: all.map(({cells}) => cells),
    struck: all.flatMap(({rowNumber, struck}) => (struck ? [`${rowNumber} ${struck}`] : [])),
  }
}

const one = async (cell: string, ...steps: object[]) => (await clean(['a'], [[cell]], steps)).cells[0]![0]

test('without steps no cell is changed', async t => {
  const {rows} = await clean(['a'], [[' x ']], [])
  t.deepEqual(rows, [{rowNumber: 1, cells: [' x '], ragged: false}])
})

test('cells are trimmed, and runs of blanks become one', async t => {
  t.is(await one('\u00a0 x  y\t\n'), '\u00a0 x  y\t\n')
  t.is(await one('\u00a0 x  y\t\n', {step: 'trim'}), 'x  y')
  t.is(await one(' x \u00a0\n y', {step: 'collapseSpaces'}), ' x y')
})

test('a chunk of long cells is never followed by an empty chunk', async t => {
  const rows = Array.from({length: charactersAtOnce / maxRowCharacters}, () => ['x'.repeat(maxRowCharacters)])
  const {rows: chunks} = cleaned(tableOf(['a'], rows), [{step: 'trim'}], {fileCharacters: 100_000_000})
  t.deepEqual(
    (await Array.fromAsync(chunks)).map(({length}) => length),
    [rows.length],
  )
})

test('a step applies to its named columns, or to all', async t => {
  const {rows} = await clean(['a', 'b'], [[' x ', ' y ']], [{step: 'trim', columns: ['b']}])
  t.deepEqual(rows, [{rowNumber: 1, cells: [' x ', 'y'], ragged: false, read: [' x ', ' y ']}])
})

test('text is replaced literally, and a pattern by its groups', async t => {
  t.is(await one('a.b.c', {step: 'replace', find: '.', with: '$&'}), 'a$&b$&c')
  t.is(await one('x.Y x.y xzy', {step: 'replace', find: 'X.y', with: '$1', ignoreCase: true}), '$1 $1 xzy')
  t.is(await one('order 12-ab', {step: 'replace', find: String.raw`(\d+)-(\w+)`, with: '$2/$1', regex: true}), 'order ab/12')
  t.is(await one('+49 (0)30 12', {step: 'replace', find: '[^0-9+]', with: '', regex: true}), '+4903012')
  for (const [cell, cleanedCell] of [
    ['', 'none'],
    ['x', 'x'],
  ] as const)
    t.is(await one(cell, {step: 'replace', find: '^(y)?$', with: '$1none', regex: true}), cleanedCell)
  for (const find of ['^', '.*', '$', '[a-z]*'])
    t.is(await one('', {step: 'replace', find, with: 'none', regex: true}), '', 'a pattern that also fits texts leaves empty cells')
})

test('an impossible step is refused when it is defined', t => {
  for (const step of [
    {step: 'replace', find: '(', with: '', regex: true},
    {step: 'replace', find: '(?=x)', with: '', regex: true},
    {step: 'replace', find: '(a)', with: '$2', regex: true},
    ...['[ab]{0,900}'.repeat(2), '(?:(?:a{10}){10}b){10}', String.raw`(\d{500}|\pL{501})`, '(?P<x>[()]{9}){112}'].map(find => ({
      step: 'replace',
      find,
      with: '',
      regex: true,
    })),
    {step: 'replace', find: '', with: 'x'},
    {step: 'split', column: 'a', separator: ' ', into: ['one']},
    {step: 'strikeRows', rows: [{from: 5, to: 4}]},
    {step: 'strikeRows', rows: [{from: 0, to: 4}]},
    {step: 'fillDown'},
    {step: 'burn'},
  ])
    t.false(Cleaning.safeParse([step]).success, JSON.stringify(step))
})

test('a step that does not fit the columns is refused with its path', async t => {
  const of = (...steps: object[]) => t.throwsAsync(clean(['a', 'b'], [['1', '2']], steps), {instanceOf: Refusal})
  t.like((await of({step: 'trim', columns: ['a', 'c']}))?.extra, {issues: [{path: [0]}]})
  t.like((await of({step: 'trim'}, {step: 'split', column: 'a', separator: ' ', into: ['x', 'b']}))?.extra, {issues: [{path: [1]}]})
  for (const expression of ['row.c', 'row.a ===', 'value > 1', 'core.x(row.a)', 'fetch("x")'])
    t.like((await of({step: 'strikeWhere', expression}))?.extra, {issues: [{path: [0, 'expression']}]})
  await t.notThrowsAsync(
    clean(
      ['a', 'b'],
      [['1', '2']],
      [
        {step: 'split', column: 'a', separator: ' ', into: ['x', 'y']},
        {step: 'trim', columns: ['y']},
      ],
    ),
  )
})

test('empty cells take the value above, except from struck or ragged rows, and a blank row stays blank beside other columns', async t => {
  const rows = [['', '1'], ['A', ''], [' ', '2'], ['B'], ['', '3'], ['C', 'x'], ['', '4'], ['', ' ']]
  const {cells, struck} = await clean(['a', 'b'], rows, [
    {step: 'strikeRows', rows: [{from: 6, to: 6}]},
    {step: 'fillDown', columns: ['a']},
  ])
  t.deepEqual(cells, [['', '1'], ['A', ''], ['A', '2'], ['B'], ['A', '3'], ['C', 'x'], ['A', '4'], ['', ' ']])
  t.deepEqual(struck, ['6 The row was excluded by its number'])
  t.deepEqual((await clean(['a'], [['A'], ['']], [{step: 'fillDown', columns: ['a']}])).cells, [['A'], ['A']])
})

test('a column is split into new columns at the end, the last with the rest', async t => {
  const {columns, cells} = await clean(
    ['name', 'x'],
    [
      ['Anna Maria Meier', '1'],
      ['Cher', '2'],
      ['', '3'],
    ],
    [{step: 'split', column: 'name', separator: ' ', into: ['first', 'last']}],
  )
  t.deepEqual(columns, ['name', 'x', 'first', 'last'])
  t.deepEqual(cells, [
    ['Anna Maria Meier', '1', 'Anna', 'Maria Meier'],
    ['Cher', '2', 'Cher', ''],
    ['', '3', '', ''],
  ])
})

test('empty rows are struck and keep their row number', async t => {
  const {struck, rows} = await clean(
    ['a', 'b'],
    [
      ['1', '2'],
      ['', ' '],
      ['3', ''],
    ],
    [{step: 'strikeEmpty'}],
  )
  t.deepEqual(struck, ['2 The row is empty'])
  t.deepEqual(
    rows.map(({rowNumber}) => rowNumber),
    [1, 2, 3],
  )
  t.deepEqual(
    (
      await clean(
        ['a', 'b'],
        [
          ['1', '2'],
          ['3', ''],
        ],
        [{step: 'strikeEmpty', columns: ['b']}],
      )
    ).struck,
    ['2 The row is empty'],
  )
})

test('of rows with the same key the first is kept', async t => {
  const rows = [
    ['1', 'x'],
    ['1', 'y'],
    ['', 'z'],
    ['', 'z'],
    ['2', 'X'],
    ['1', 'x'],
  ]
  const of = async (...columns: string[]) => (await clean(['a', 'b'], rows, [{step: 'strikeDuplicates', columns}])).struck
  t.deepEqual(await of('a'), ['2 The row repeats row 1', '6 The row repeats row 1'])
  t.deepEqual(await of('a', 'b'), ['4 The row repeats row 3', '6 The row repeats row 1'])
  t.deepEqual((await clean(['a'], [['Ä'], ['ä']], [{step: 'strikeDuplicates', columns: ['a'], ignoreCase: true}])).struck, [
    '2 The row repeats row 1',
  ])
  t.deepEqual(
    (
      await clean(
        ['a', 'b'],
        [
          ['1,', '2'],
          ['1', ',2'],
        ],
        [{step: 'strikeDuplicates', columns: ['a', 'b']}],
      )
    ).struck,
    [],
  )
})

test('rows are struck by number, also ragged ones', async t => {
  const {struck} = await clean(
    ['a', 'b'],
    Array.from({length: 9}, (_, n) => (n === 3 ? ['x'] : ['x', 'y'])),
    [
      {
        step: 'strikeRows',
        rows: [
          {from: 7, to: 7},
          {from: 2, to: 4},
          {from: 3, to: 3},
          {from: 9, to: 2_000_000},
        ],
      },
    ],
  )
  t.deepEqual(
    struck.map(text => Number.parseInt(text, 10)),
    [2, 3, 4, 7, 9],
  )
})

test('steps apply in their order', async t => {
  const rows = [[' 1'], ['1'], ['2']]
  const [trim, strike] = [{step: 'trim'}, {step: 'strikeDuplicates', columns: ['a']}]
  t.is((await clean(['a'], rows, [trim, strike])).struck.length, 1)
  t.is((await clean(['a'], rows, [strike, trim])).struck.length, 0)
})

test('a table is cleaned the same for any chunks', async t => {
  const cell = fc.constantFrom('', ' ', 'a', 'b', ' a', 'a b', 'A')
  const step = fc.constantFrom<object>(
    {step: 'trim'},
    {step: 'fillDown', columns: ['x']},
    {step: 'strikeDuplicates', columns: ['x', 'y']},
    {step: 'strikeEmpty', columns: ['y']},
    {
      step: 'strikeRows',
      rows: [
        {from: 2, to: 3},
        {from: 9, to: 9},
      ],
    },
  )
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(cell, cell), {maxLength: 20}),
      fc.array(step, {maxLength: 5}),
      fc.integer({min: 1, max: 5}),
      async (rows, steps, size) => {
        const [whole, cut] = [await clean(['x', 'y'], rows, steps), await clean(['x', 'y'], rows, steps, size)]
        t.deepEqual(cut, whole)
        t.deepEqual(
          whole.rows.map(({rowNumber, read, cells}) => [rowNumber, read ?? cells]),
          rows.map((cells, index) => [index + 1, cells]),
        )
      },
    ),
    {numRuns: 200},
  )
})

test('a digest map finds every key, however often it grew', t => {
  const map = openDigestMap()
  for (let n = 1; n <= 50_000; n++) t.is(map.seen(`key ${n}`, n), undefined)
  for (let n = 50_000; n >= 1; n -= 7) t.is(map.seen(`key ${n}`, 99), n)
})

test('rows for which an expression is true are struck, after the earlier steps', async t => {
  const rows = Array.from({length: 1_200}, (_, n) => [` ${n + 1}`, n % 2 ? 'x-y' : 'z-y'])
  rows[4] = ['5', 'x-y', 'ragged']
  const steps = [
    {step: 'trim'},
    {step: 'split', column: 'b', separator: '-', into: ['first', 'second']},
    {step: 'strikeWhere', expression: "Number(row.a) > 600 && row.first === 'x' && Date.now() === 0"},
    {step: 'strikeWhere', expression: "row.a === '1'"},
  ]
  const {struck} = await clean(['a', 'b'], rows, steps)
  const expected = [1, ...Array.from({length: 300}, (_, n) => 602 + 2 * n)].map(row => `${row} The row was excluded by an expression`)
  t.deepEqual(struck, expected)
})

test('an expression that fails for a row is reported with the row', async t => {
  const strike = (expression: string) =>
    t.throwsAsync(clean(['a'], [['1'], ['x']], [{step: 'strikeWhere', expression}]), {instanceOf: Refusal})
  t.like(await strike("row.a === 'x' && null.x"), {code: 'UNREADABLE', extra: {row: 2, reason: 'EXPRESSION_THROWN'}})
  t.like(await strike(`row.a === 'x' && /^(a+)+$/.test('${'a'.repeat(60)}!')`), {
    code: 'UNREADABLE',
    extra: {row: 2, reason: 'EXPRESSION_TIMEOUT'},
  })
})

test('a costly pattern does not block the event loop during a chunk', async t => {
  const times: number[] = []
  const timer = setInterval(() => times.push(performance.now()), 1)
  await clean(['a'], Array(20).fill(['ab'.repeat(200)]), [{step: 'replace', find: '(a?){400}b', with: '', regex: true}])
  clearInterval(timer)
  t.true(times.length > 0, `${times.length} turns`)
})
