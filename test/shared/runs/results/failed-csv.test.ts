import test from 'ava'
import fc from 'fast-check'
import {openCsv} from '../../../../shared/files/csv/csv-file.ts'
import type {FileRow} from '../../../../shared/files/row.ts'
import {resolveReader, sampleBytes} from '../../../../shared/files/text/sniff.ts'
import {writeFailed} from '../../../../shared/runs/results/failed-csv.ts'
import {mayExist, type OutcomeEntry, type RowOutcome} from '../../../../shared/runs/results/row-result.ts'
import {collect, inPieces} from '../../files/chunks.ts'

async function* inChunks<T>(items: T[], size = 2): AsyncGenerator<T[], void, undefined> {
  for (let from = 0; from < items.length; from += size) yield items.slice(from, from + size)
}

const entry = (outcome: OutcomeEntry['outcome'], more: Partial<OutcomeEntry> = {}): OutcomeEntry => ({
  module: 'Contacts',
  outcome,
  recordId: null,
  code: null,
  message: null,
  ...more,
})

const modules = [{apiName: 'Contacts', label: 'Contacts'}]
const write = async (columns: string[], rows: FileRow[], outcomes: RowOutcome[], delimiter = ',') =>
  String(await collect(writeFailed({columns, rows: inChunks(rows), outcomes: inChunks(outcomes), modules, delimiter})))

const reasons = 'lading: row,lading: error'

const rowOf = (rowNumber: number, ...cells: string[]): FileRow => ({rowNumber, cells, ragged: false})

test('failed.csv has exactly the failed rows', async t => {
  const outcomes: Record<string, OutcomeEntry[] | undefined> = {
    created: [entry('created', {recordId: '1'})],
    refused: [entry('refused')],
    failed: [entry('failed')],
    unanswered: [entry('unanswered')],
    skipped: [entry('skipped')],
    inherited: [entry('inherited', {recordId: '2'})],
    'not reached': undefined,
    'written and refused': [entry('created', {recordId: '3'}), entry('refused', {module: 'Deals'})],
    'refused and unanswered': [entry('refused'), entry('unanswered', {module: 'Deals'})],
    'refused after a silence': [entry('refused', {disclosed: true})],
    'refused after a silence in an earlier run': [entry('refused', {message: `Not this. ${mayExist}`})],
    'written, its patch refused': [entry('created', {recordId: '4'}), entry('refused', {phase: 'patch', target: 'Manager'})],
  }
  const names = Object.keys(outcomes)
  const text = await write(
    ['name'],
    names.map((name, at) => rowOf(at + 1, name)),
    names.flatMap((name, at) => (outcomes[name] ? [{rowNumber: at + 1, entries: outcomes[name]}] : [])),
  )
  t.is(text, `\ufeff${reasons},name\r\n2,,refused\r\n3,,failed\r\n8,,written and refused\r\n`)
})

test('failed.csv has cells as read, before cleaning, and no struck or ragged rows', async t => {
  const rows: FileRow[] = [
    {...rowOf(1, 'cleaned'), read: [' =1+1 ']},
    {...rowOf(2, 'struck'), struck: 'empty'},
    {...rowOf(3, '1', '2', '3'), ragged: true},
  ]
  const text = await write(
    ['a'],
    rows,
    [1, 2, 3].map(rowNumber => ({rowNumber, entries: [entry('failed')]})),
  )
  t.is(text, `\ufeff${reasons},a\r\n1,," =1+1 "\r\n`)
})

test('each failed row begins with its number and its error, in the delimiter of the file', async t => {
  const rows = [rowOf(7, 'a', 'b')]
  const refused = entry('refused', {code: 'INVALID_DATA', message: '=bad; value'})
  const text = await write(['n', 'm'], rows, [{rowNumber: 7, entries: [refused]}], ';')
  t.is(text, '\ufefflading: row;lading: error;n;m\r\n7;"\'=bad; value (INVALID_DATA)";a;b\r\n')
  t.deepEqual(await readBack(text), {columns: ['n', 'm'], read: [['a', 'b']]}, 'an import leaves both out')
  const {reader} = resolveReader(Buffer.from(text), {reasons: 'keep'})
  t.is(reader.reasons, 'keep', 'unless the caller wants them')
  t.is((await write(['n'], rows, [], '^')).split('\r\n')[0], `\ufeff${reasons},n`, 'a delimiter that no spreadsheet detects')
})

test('failed.csv of a run without failed rows has only the header', async t => {
  t.is(await write(['a', 'b'], [rowOf(1, '1', '2')], []), `\ufeff${reasons},a,b\r\n`)
})

/** Reads the file like an upload, with all options detected. */
const readBack = async (text: string) => {
  const bytes = Buffer.from(text)
  const {columns, rows} = await openCsv(inPieces(bytes, 1000), resolveReader(bytes.subarray(0, sampleBytes)).reader)
  const read: string[][] = []
  for await (const chunk of rows) read.push(...chunk.map(({cells}) => cells))
  return {columns, read}
}

test('a `sep=` line is added if the delimiter would be detected wrongly', async t => {
  const rows = Array.from({length: 20}, (_, at) => rowOf(at + 1, `${at}`, 'a,b,c,d,e'))
  const outcomes = rows.map(({rowNumber}) => ({rowNumber, entries: [entry('failed')]}))
  const text = await write(['n', 'x,y,z,w,v'], rows, outcomes, ';')
  t.true(text.startsWith('\ufeffsep=;\r\nlading: row;'))
  t.deepEqual(
    (await readBack(text)).read,
    rows.map(({cells}) => cells),
  )
})

test('an upload of failed.csv reads back any cells unchanged', async t => {
  const cell = fc.oneof(
    fc.string({unit: 'grapheme', maxLength: 12}).map(text => text.replaceAll('\0', '').replaceAll('\ufeff', '')),
    fc.constantFrom('=1', '"', ',', '1,5', 'a;b', 'a;b;c', 'a\tb', '|', '\r\n', '\r', '\n', "'", ' x ', '', '€', '0012', '#x', 'sep=;'),
  )
  const table = fc
    .integer({min: 1, max: 4})
    .chain(width => fc.array(fc.array(cell, {minLength: width, maxLength: width}), {minLength: 1, maxLength: 12}))
  await fc.assert(
    fc.asyncProperty(table, fc.constantFrom(',', ';', '\t', '|', '^'), async (cells, delimiter) => {
      const columns = cells[0]!.map((_, at) => `Column ${at + 1}`)
      const rows = cells.map((row, at) => rowOf(at + 1, ...row))
      const text = await write(
        columns,
        rows,
        rows.map(({rowNumber}) => ({rowNumber, entries: [entry('failed', {message: 'Not, good; =x'})]})),
        delimiter,
      )
      t.deepEqual(await readBack(text), {columns, read: cells})
    }),
    {numRuns: 300},
  )
})

const allFailed = (rows: FileRow[]) => rows.map(({rowNumber}) => ({rowNumber, entries: [entry('failed')]}))

test('no cell starts a formula, and an upload of the file reads every cell unchanged', async t => {
  const cells = ['=1+1', '+cmd', '-x', '@sum', '\t=1', '\r=1', '\uff1d1', "'=1", "''@x", "'plain", '-5', '+49,5', '', 'x']
  const rows = cells.map((cell, at) => rowOf(at + 1, cell, 'y'))
  const text = await write(['=HDR', 'b'], rows, allFailed(rows))
  const lines = text.slice(1).split('\r\n')
  t.deepEqual(lines.slice(0, 5), [`${reasons},'=HDR,b`, "1,,'=1+1,y", "2,,'+cmd,y", "3,,'-x,y", "4,,'@sum,y"])
  t.true(text.includes(',-5,y') && text.includes(",'plain,y"), 'numbers and other apostrophes stay')
  const {columns, read} = await readBack(text)
  t.deepEqual(columns, ['=HDR', 'b'])
  t.deepEqual(
    read.map(([first]) => first),
    cells,
  )
})

test('a formula beyond the sample is read back, and a file without formulas is read unchanged', async t => {
  const rows = Array.from({length: 20_000}, (_, at) => rowOf(at + 1, at === 19_999 ? '=late' : `cell ${at}`, 'y'))
  const text = await write(['a', 'b'], rows, allFailed(rows))
  t.true(text.includes("'=late"))
  t.is((await readBack(text)).read.at(-1)![0], '=late')
  t.false('apostrophes' in resolveReader(Buffer.from("a,b\n'quoted',=x\n")).reader)
  t.is(resolveReader(Buffer.from("a,b\n'=x,1\n"), {apostrophes: 'keep'}).reader.apostrophes, 'keep')
})
