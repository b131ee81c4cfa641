import test from 'ava'
import type {ColumnReading} from '../../../shared/files/choices.ts'
import {examine} from '../../../shared/files/examine.ts'
import {openFile} from '../../../shared/files/stored-file.ts'
import type {NumberReading} from '../../../shared/files/xlsx/cell.ts'
import {openXlsx} from '../../../shared/files/xlsx/xlsx-file.ts'
import {type SheetOf, writeWorkbook} from '../../support/workbook.ts'
import {read, readRows, refused, stored, usual} from './workbooks.ts'

const formats = ['0.0%', '00000', '#,##0,', '#,##0.00 [$€-407]']
const formatted: SheetOf['rows'] = [
  ['share', 'zip', 'thousands', 'price'],
  [
    {v: '0.25', s: 1},
    {v: '501', s: 2},
    {v: '1234567', s: 3},
    {v: '12.345', s: 4},
  ],
  [{v: 7}, 'A-1', {v: 8}, {v: 9}],
]

const readings: [numbers: NumberReading, cells: string[]][] = [
  [{}, ['25', '00501', '1234567', '12.345']],
  [{as: 'text'}, ['25', '00501', '1234567', '12.345']],
  [{as: 'number'}, ['25', '501', '1234567', '12.345']],
  [{numbers: 'displayed'}, ['25', '00501', '1234.567', '12.345']],
  [{numbers: 'stored'}, ['0.25', '501', '1234567', '12.345']],
]

for (const [numbers, expected] of readings)
  test(`formatted numbers are read as displayed or as stored: ${JSON.stringify(numbers)}`, async t => {
    const file = await readRows(t, formatted, {formats}, {numbersOf: () => numbers})
    t.deepEqual(file.cells, [expected, ['7', 'A-1', '8', '9']])
    t.deepEqual(file.all[0]?.stored ?? file.cells[0], ['0.25', '501', '1234567', '12.345'])
    t.deepEqual(file.stored, [{percent: 1, number: 1}, {padded: 1, text: 1}, {scaled: 1, number: 1}, {number: 2}])
    t.deepEqual(file.formatted.slice(0, 3), [
      {displayed: '25', stored: '0.25'},
      {displayed: '00501', stored: '501'},
      {displayed: '1234.567', stored: '1234567'},
    ])
  })

test('a run started by an earlier build keeps reading every number as stored', async t => {
  const {storage, key} = await stored(t, await writeWorkbook({sheets: [{name: 'One', rows: formatted}], formats}))
  const place = {
    storage,
    config: {FILE_LIMIT_BYTES: usual.unpacked, WORKBOOK_LIMIT_BYTES: usual.unpacked, WORKBOOK_STRINGS_BYTES: usual.strings},
  }
  const cellsWith = async (readings?: Record<string, ColumnReading>) => {
    const {rows} = await openFile(place, {fileKey: key, reader: {format: 'xlsx', sheet: 'One'}, readings})
    const cells: string[][] = []
    for await (const chunk of rows) cells.push(...chunk.map(row => row.cells))
    return cells[0]
  }
  for (const readings of [undefined, {}, {share: {}, zip: {as: 'text' as const}}])
    t.deepEqual(await cellsWith(readings), ['0.25', '501', '1234567', '12.345'])
  t.deepEqual(await cellsWith({share: {numbers: 'auto'}, zip: {numbers: 'auto'}}), ['25', '00501', '1234567', '12.345'])
})

test('a header is read as stored, regardless of its format', async t => {
  t.deepEqual((await readRows(t, [[{v: '0.1', s: 1}], ['x']], {formats})).columns, ['0.1'])
})

test('without a sheet name, the first visible sheet with rows is read', async t => {
  const sheets: SheetOf[] = [
    {name: 'Cover', rows: [['Report']]},
    {name: 'Blank', rows: []},
    {name: 'Secret', state: 'hidden', rows: [['s'], [1]]},
    {name: 'Data', rows: [['d'], [1]]},
    {name: 'More', rows: [['m'], [1]]},
  ]
  const workbook = await writeWorkbook({sheets})
  const file = await read(t, workbook)
  t.deepEqual([file.sheet.name, file.passed, file.columns, file.cells], ['Data', 'Cover', ['d'], [['1']]])
  t.is((await read(t, workbook, {headerRow: false})).sheet.name, 'Cover')
  t.is((await read(t, workbook, {sheet: 'More'})).passed, null)
  t.like((await refused(t, workbook, 'FILE_EMPTY', {sheet: 'Blank'})).extra, {sheets: sheets.map(({name}) => ({name}))})
  const hidden = await writeWorkbook({sheets: [sheets[0]!, sheets[2]!]})
  t.like((await refused(t, hidden, 'FILE_NO_ROWS')).extra, {sheets: [{name: 'Cover'}, {name: 'Secret', state: 'hidden'}]})
})

test('a title above the header is found, and no row is skipped for it', async t => {
  const rows: SheetOf['rows'] = [['Sales report 2026'], undefined, ['Name', 'City', 'Amount'], ['Anna', 'Bonn', 5], ['Boris', 'Bern', 6]]
  const file = await readRows(t, rows)
  t.deepEqual([file.columns, file.all.length], [['Sales report 2026'], 4])
  t.deepEqual(file.proposeHeader(), {title: 'Sales report 2026', columns: ['Name', 'City', 'Amount'], reader: {range: 'A3'}})
  const again = await readRows(t, rows, {}, {range: 'A3'})
  t.deepEqual([again.columns, again.cells.length, again.proposeHeader()], [['Name', 'City', 'Amount'], 2, null])
  t.deepEqual((await readRows(t, rows, {}, {range: 'A1:C5'})).proposeHeader()?.reader, {range: 'A3:C5'})
  t.deepEqual((await readRows(t, rows, {}, {range: 'C5:A1'})).proposeHeader()?.reader, {range: 'C3:A5'}, 'in any order of the corners')
  t.is((await readRows(t, rows, {}, {headerRow: false})).proposeHeader(), null)
})

test('a formula with an empty value, as openpyxl writes it, is a formula without a saved value', async t => {
  const {cells, stored} = await readRows(t, [
    ['a', 'b', 'c'],
    [1, {f: 'A2*2', v: ''}, {t: 'str', f: 'IF(A2,"","x")', v: ''}],
  ])
  t.deepEqual(cells, [['1', '', '']])
  t.deepEqual([stored[1], stored[2]], [{uncalculated: 1}, undefined], 'an empty text is a value')
})

test('numbers are marked in columns whose texts have a decimal comma', async t => {
  const numbersOf = (name: string) => ({decimalMark: name === 'b' ? ('point' as const) : ('comma' as const)})
  const {all} = await readRows(
    t,
    [['a', 'b', 'c'], [{v: '1.234'}, {v: '1.234'}, '1.234'], [{v: 1}, 'x', {v: '0.255', s: 1}], [{v: '0.125', s: 1}]],
    {formats: ['0.0%']},
    {numbersOf},
  )
  t.deepEqual(
    all.map(({numeric}) => numeric),
    [{0: true}, {2: true}, {0: true}],
  )
})

test('merged ranges are counted although the range ends before the last row, without its rows', async t => {
  const after = '<mergeCells count="2"><mergeCell ref="A2:A3"/><mergeCell ref="B2:B3"/></mergeCells>'
  // The sheet is larger than one piece of XML.
  const rows = Array.from({length: 20_000}, (_, at) => `<row r="${at + 1}"><c><v>1</v></c></row>`).join('')
  const merged = async (data: string, range: string) => {
    const workbook = await writeWorkbook({sheets: [{name: 'One', data, after}]})
    const file = await openXlsx(await stored(t, workbook), {headerRow: true, range}, usual)
    const {rows: count, workbook: found} = await examine(file, file)
    return [count, found?.merged]
  }
  t.deepEqual(await merged(rows, 'A1:B3'), [2, 2])
  t.deepEqual(await merged(rows, 'A1:B'), [19_999, 2])
  t.deepEqual(await merged(`${rows}<row r="1"/>`, 'A1:A3'), [2, 0], 'rows outside the range may be unreadable')
})
