import test from 'ava'
import {Refusal} from '../../../../shared/errors.ts'
import {cleaned} from '../../../../shared/files/cleaning/clean.ts'
import {Cleaning} from '../../../../shared/files/cleaning/cleaning.ts'
import type {FileRow, Table} from '../../../../shared/files/row.ts'

const limits = {fileCharacters: 100_000_000}

const tableOf = (columns: string[], rows: string[][]): Table => ({
  columns,
  rows: (async function* () {
    yield rows.map((cells, index): FileRow => ({rowNumber: index + 1, cells, ragged: cells.length !== columns.length}))
  })(),
})

const thousandfold = {step: 'replace', find: 'a', with: 'a'.repeat(1000)}

const refusalOf = async (rows: string[][], steps: object[], fileCharacters = limits.fileCharacters) => {
  const columns = rows[0]!.map((_, at) => `c${at}`)
  const table = cleaned(tableOf(columns, rows), Cleaning.parse(steps), {fileCharacters})
  const parts: FileRow[][] = []
  try {
    for await (const part of table.rows) parts.push(part)
  } catch (error) {
    if (error instanceof Refusal) return {code: error.code, message: error.message, ...error.extra}
    throw error
  }
  return {code: null, parts}
}

test('a step that makes a row too long is refused with step and row', async t => {
  const rows = [['b'], ['a']]
  const refused = await refusalOf(rows, [{step: 'trim'}, thousandfold, thousandfold, thousandfold])
  t.like(refused, {code: 'UNREADABLE', step: 4, row: 2, limit: 1_048_576})
  t.regex((refused as {message: string}).message, /^Cleaning step 4 \(replace\) makes the cells of row 2 longer than 1,048,576 characters/)
  t.like(await refusalOf(rows, [thousandfold, thousandfold]), {code: null})
  for (const growing of [
    {find: 'A', with: 'a'.repeat(1000), ignoreCase: true},
    {find: 'a', with: 'a'.repeat(1000), regex: true},
    {find: '.', with: "$'".repeat(500), regex: true},
    {find: '.', with: '$&'.repeat(500), regex: true},
  ])
    t.like(await refusalOf([['a'.repeat(30_000)]], [{step: 'replace', ...growing}]), {code: 'UNREADABLE', step: 1, row: 1}, growing.with)
})

test('a refused pattern or expression names its step and row', async t => {
  const rows = [['b'], ['a']]
  const long = [thousandfold, {...thousandfold, with: 'a'.repeat(70)}]
  const searched = await refusalOf(rows, [...long, {step: 'replace', find: 'a', with: 'b', regex: true}])
  t.like(searched, {code: 'UNREADABLE', step: 3, row: 2, limit: 65_536})
  t.regex((searched as {message: string}).message, /^Cleaning step 3 \(replace\): Row 2 has a cell of 70,000 characters/)
  const thrown = await refusalOf(rows, [{step: 'trim'}, {step: 'strikeWhere', expression: 'row.c0 === "a" && JSON.parse("{")'}])
  t.like(thrown, {code: 'UNREADABLE', step: 2, row: 2})
})

test('a row of many growing cells is refused before all have grown', async t => {
  const wide = Array.from({length: 10_000}, () => 'a'.repeat(1000))
  const before = process.memoryUsage().heapUsed
  t.like(await refusalOf([wide.map(() => 'a'.repeat(100))], [thousandfold]), {code: 'UNREADABLE', step: 1, row: 1})
  t.true(process.memoryUsage().heapUsed - before < 200_000_000)
  t.like(
    await refusalOf(
      [
        ['a'.repeat(1000), ...wide.slice(0, 1100).map(() => '')],
        ['', ...wide.slice(0, 1100)],
      ],
      [],
    ),
    {code: null},
  )
})

test('filling down and splitting respect the limits of a row', async t => {
  const half = 'x'.repeat(600_000)
  const filled = [
    [half, ''],
    ['', half],
  ]
  t.like(await refusalOf(filled, [{step: 'fillDown', columns: ['c0']}]), {code: 'UNREADABLE', step: 1, row: 2, limit: 1_048_576})
  t.like(await refusalOf([[half]], [{step: 'split', column: 'c0', separator: ',', into: ['d', 'e']}]), {code: 'UNREADABLE', row: 1})
  const wide = Array.from({length: 16_384}, () => '')
  const split = {step: 'split', column: 'c0', separator: ',', into: ['d', 'e']}
  t.like(await refusalOf([wide], [split]), {code: 'UNREADABLE', step: 1, row: 1, limit: 16_384})
})

test('a file made too long by steps is refused at the row that passes the limit', async t => {
  const rows = Array.from({length: 10}, () => ['a'])
  t.like(await refusalOf(rows, [thousandfold], 10_000), {code: null})
  const refused = await refusalOf(rows, [{step: 'trim'}, thousandfold, {step: 'replace', find: 'a', with: ''}], 9_999)
  t.like(refused, {code: 'UNREADABLE', step: 2, row: 10, limit: 9_999})
})

test('a growing chunk continues in parts, with every row once and in order', async t => {
  const rows = Array.from({length: 50}, (_, at) => [at === 7 ? '' : 'a', String(at)])
  const steps = [
    thousandfold,
    {step: 'replace', find: 'a', with: 'bcd'},
    {step: 'strikeEmpty', columns: ['c0']},
    {...thousandfold, find: 'b', columns: ['c0']},
  ]
  const {parts} = (await refusalOf(rows, steps)) as {parts: FileRow[][]}
  t.true(parts.length > 5, `${parts.length} parts`)
  for (const part of parts) t.true(part.reduce((sum, {cells}) => sum + cells[0]!.length, 0) < 6_000_000)
  t.deepEqual(
    parts.flat().map(({rowNumber}) => rowNumber),
    rows.map((_, at) => at + 1),
  )
  t.is(parts.flat()[7]!.struck, 'The row is empty')
})
