import test, {type ExecutionContext} from 'ava'
import fc from 'fast-check'
import {readSharedStrings} from '../../../shared/files/xlsx/shared-strings.ts'
import {openZip} from '../../../shared/files/xlsx/zip.ts'
import {type Cell, type SheetOf, writeWorkbook} from '../../support/workbook.ts'
import {read, readRows, refused, stored, usual} from './workbooks.ts'

const spills = async (t: ExecutionContext, workbook: Uint8Array, limit: number) => {
  const zip = await openZip(await stored(t, workbook), usual.unpacked)
  const {spilled, close} = await readSharedStrings(zip, 'xl/sharedStrings.xml', limit)
  close()
  zip.close()
  return spilled
}

for (const shared of [true, false]) {
  test(`text is read completely from ${shared ? 'shared' : 'inline'} strings`, async t => {
    const {columns, all} = await readRows(
      t,
      [
        ['name', 'note'],
        ['Jörg & <Söhne>', ' two\nlines "x" '],
        ['😀', 'a'],
        ['Jörg & <Söhne>', '007'],
      ],
      {shared},
    )
    t.deepEqual(columns, ['name', 'note'])
    t.deepEqual(all, [
      {rowNumber: 1, cells: ['Jörg & <Söhne>', ' two\nlines "x" '], ragged: false},
      {rowNumber: 2, cells: ['😀', 'a'], ragged: false},
      {rowNumber: 3, cells: ['Jörg & <Söhne>', '007'], ragged: false},
    ])
  })
}

test('rich text is joined without phonetic runs, and valid escapes are decoded', async t => {
  const items = [
    '<r><t>bold</t></r><r><rPr><b/></rPr><t xml:space="preserve"> and plain</t></r><rPh sb="0" eb="1"><t>ふり</t></rPh><phoneticPr fontId="1"/>',
    '<t>a_x000D_b_x005F_x0041_ _x0000_ _xD83D_</t>',
    '<t/>',
    '<t><![CDATA[<x>]]>&#233;</t>',
  ]
  const {cells} = await readRows(
    t,
    [
      ['a', 'b', 'c', 'd', 'e'],
      [
        {t: 's', v: 0},
        {t: 's', v: 1},
        {t: 's', v: 2},
        {t: 's', v: 3},
        {t: 'inlineStr', xml: '<is><r><t>in</t></r><r><t>line</t></r></is>'},
      ],
    ],
    {items},
  )
  t.deepEqual(cells, [['bold and plain', 'a\rb_x0041_ _x0000_ _xD83D_', '', '<x>é', 'inline']])
})

test('numbers are read as the digits in the file, without floating point errors', async t => {
  const numbers = [
    '0.1',
    '0.30000000000000004',
    '12345678901234567890',
    '-0.50',
    '1E+3',
    '1.25E-3',
    '1.2345678901234567E+17',
    '-4.9E+11',
    '1E+300',
    '007',
    '',
  ]
  const {cells, all} = await readRows(t, [numbers.map((_, n) => `c${n}`), numbers.map(v => ({v}))])
  const expected = [
    '0.1',
    '0.30000000000000004',
    '12345678901234567890',
    '-0.50',
    '1000',
    '0.00125',
    '123456789012345670',
    '-490000000000',
    '1E+300',
    '007',
    '',
  ]
  t.deepEqual(cells[0], expected)
  t.deepEqual(all[0]?.stored, numbers)
})

const dates: [format: string | number, stored: number | string, in1900: string, in1904: string][] = [
  [14, 45322, '2024-01-31', '2028-02-01'],
  [14, 1, '1900-01-01', '1904-01-02'],
  [14, 59, '1900-02-28', '1904-02-29'],
  [14, 60, '########', '1904-03-01'],
  [14, 61, '1900-03-01', '1904-03-02'],
  [14, 0, '########', '1904-01-01'],
  [14, -1, '########', '########'],
  [14, 2958465, '9999-12-31', '########'],
  [14, 2958466, '########', '########'],
  [14, 45322.5, '2024-01-31T12:00:00', '2028-02-01T12:00:00'],
  [22, '45322.395833333336', '2024-01-31T09:30:00', '2028-02-01T09:30:00'],
  [22, '45322.3958333', '2024-01-31T09:30:00', '2028-02-01T09:30:00'],
  [22, 45322, '2024-01-31T00:00:00', '2028-02-01T00:00:00'],
  ['yyyy-mm-dd hh:mm:ss.000', '45322.00000289352', '2024-01-31T00:00:00.250', '2028-02-01T00:00:00.250'],
  [20, 0.75, '18:00:00', '18:00:00'],
  [20, 45322.75, '2024-01-31T18:00:00', '2028-02-01T18:00:00'],
  ['[h]:mm', 1.5, '36:00:00', '36:00:00'],
  ['[h]:mm:ss', -0.5, '-12:00:00', '-12:00:00'],
  ['[mm]', 0.25, '06:00:00', '06:00:00'],
  ['[ss].00', '0.0000144676', '00:00:01.250', '00:00:01.250'],
  [46, 40.25, '966:00:00', '966:00:00'],
  ['h:mm', -0.5, '########', '########'],
  ['mm:ss.0', '0.0007002315', '00:01:00.500', '00:01:00.500'],
  ['yyyy-mm-dd;@', -1, '########', '########'],
  ['mm:ss', 0.001, '00:01:26.400', '00:01:26.400'],
  ['dd/mm/yyyy', 45322, '2024-01-31', '2028-02-01'],
  ['[$-407]d. mmmm yyyy;@', 45322, '2024-01-31', '2028-02-01'],
  ['h:mm AM/PM', 0.25, '06:00:00', '06:00:00'],
  ['"date" 0', 45322, '45322', '45322'],
  ['0.00E+00', 45322, '45322', '45322'],
  ['#,##0.00 [$€-407];[Red]-#,##0.00', 45322, '45322', '45322'],
  ['General', 45322, '45322', '45322'],
  ['0\\d', 45322, '45322', '45322'],
]

for (const date1904 of [false, true]) {
  test(`dates are recognised by their format, with days counted from ${date1904 ? 1904 : 1900}`, async t => {
    const formats = dates.map(([format]) => format)
    const {cells, all, evidence, stored} = await readRows(t, [formats.map((_, n) => `c${n}`), dates.map(([, v], n) => ({v, s: n + 1}))], {
      formats,
      date1904,
    })
    t.deepEqual(
      cells[0],
      dates.map(([, , in1900, in1904]) => (date1904 ? in1904 : in1900)),
    )
    t.deepEqual(
      all[0]?.stored,
      dates.map(([, v]) => String(v)),
    )
    // Exactly the cells without a date have a reason.
    t.deepEqual(
      cells[0]!.flatMap((text, at) => (text === '########' ? [String(at)] : [])),
      Object.keys(all[0]?.faults ?? {}),
    )
    t.is(evidence.epoch, date1904 ? 1904 : 1900)
    t.deepEqual(stored[0], {date: 1})
  })
}

test('booleans, errors, formulas and ISO dates are read as saved', async t => {
  const cells: Cell[] = [
    true,
    false,
    {t: 'e', v: '#N/A'},
    {f: 'A1+1', v: 3},
    {t: 'str', f: 'A1&"x"', v: 'a_x000A_b'},
    {f: 'B1'},
    {t: 'd', v: '2024-01-31'},
    {t: 'str', f: 'x', v: ''},
  ]
  const {all, stored} = await readRows(t, [cells.map((_, n) => `c${n}`), cells, cells])
  t.deepEqual(all[0]?.cells, ['TRUE', 'FALSE', '#N/A', '3', 'a\nb', '', '2024-01-31', ''])
  t.regex(all[0]?.faults?.[2] ?? '', /error such as #N\/A/)
  t.deepEqual(stored.slice(0, 7), [{boolean: 2}, {boolean: 2}, {error: 2}, {number: 2}, {text: 2}, {uncalculated: 2}, {date: 2}])
})

test('missing rows and cells are blank, trailing ones are dropped, and row numbers are kept', async t => {
  const rows: SheetOf['rows'] = [
    undefined,
    [],
    [null, 'a', null, 'c', null],
    undefined,
    [null, 1],
    [],
    [{v: ''}],
    [null, null, null, 2],
    [],
    [{s: 1}],
  ]
  const {columns, all} = await readRows(t, rows, {formats: [14]})
  t.deepEqual(columns, ['Column 1', 'a', 'Column 3', 'c'])
  t.deepEqual(
    all.map(({rowNumber, cells}) => [rowNumber, ...cells]),
    [
      [1, '', '', '', ''],
      [2, '', '1', '', ''],
      [3, '', '', '', ''],
      [4, '', '', '', ''],
      [5, '', '', '', '2'],
    ],
  )
})

test('cells without references are numbered in order, and XML prefixes are ignored', async t => {
  const parts = {
    'xl/worksheets/sheet1.xml':
      '<x:worksheet xmlns:x="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><x:sheetData><x:row><x:c t="str"><x:v>a</x:v></x:c><x:c t="str"><x:v>b</x:v></x:c></x:row><x:row><x:c><x:v>1</x:v></x:c><x:c r="B2"><x:v>2</x:v></x:c></x:row></x:sheetData></x:worksheet>',
  }
  const {columns, cells} = await readRows(t, [], {parts})
  t.deepEqual(
    [columns, ...cells],
    [
      ['a', 'b'],
      ['1', '2'],
    ],
  )
})

test('a row with cells past the header is ragged', async t => {
  const {all} = await readRows(t, [['a'], ['1', '2'], ['3']])
  t.deepEqual(
    all.map(({cells, ragged}) => [...cells, ragged]),
    [
      ['1', '2', true],
      ['3', false],
    ],
  )
})

test('a range limits what is read, and its first row with content is the header', async t => {
  const rows = [['Report'], [], ['x', 'id', 'name', 'note'], ['x', 1, 'Anna', 'y'], ['x', 2, 'Boris', 'y'], ['x', 3, 'Cem', 'y']]
  const of = async (range: string, headerRow = true) => {
    const {columns, cells} = await readRows(t, rows, {}, {range, headerRow})
    return [columns, ...cells]
  }
  t.deepEqual(await of('B3:C5'), [
    ['id', 'name'],
    ['1', 'Anna'],
    ['2', 'Boris'],
  ])
  t.deepEqual(await of('$b$2:c'), [
    ['id', 'name'],
    ['1', 'Anna'],
    ['2', 'Boris'],
    ['3', 'Cem'],
  ])
  t.deepEqual((await of('C3'))[0], ['name', 'note'])
  t.deepEqual(await of('B4:C5', false), [
    ['Column 1', 'Column 2'],
    ['1', 'Anna'],
    ['2', 'Boris'],
  ])
})

test('sheets are found by name and listed, also hidden ones', async t => {
  const sheets: SheetOf[] = [
    {name: 'Secret', state: 'veryHidden', rows: [['s'], [1]]},
    {name: 'Old', state: 'hidden', rows: [['o'], [1]]},
    {name: 'People & Co', rows: [['p'], [1]], after: '<mergeCells count="2"><mergeCell ref="A1:B1"/><mergeCell ref="A4:A9"/></mergeCells>'},
  ]
  const workbook = await writeWorkbook({sheets})
  const first = await read(t, workbook)
  t.deepEqual(first.columns, ['p'])
  t.is(first.evidence.merged, 2)
  t.deepEqual(first.sheets, [
    {name: 'Secret', state: 'very hidden'},
    {name: 'Old', state: 'hidden'},
    {name: 'People & Co', state: 'visible'},
  ])
  t.deepEqual((await read(t, workbook, {sheet: 'old'})).columns, ['o'])
  const error = await refused(t, workbook, 'SHEET_NOT_FOUND', {sheet: 'New'})
  t.is((error.extra.sheets as unknown[]).length, 3)
})

test('an empty sheet and a header alone are refused with the list of sheets', async t => {
  t.like((await refused(t, await writeWorkbook({sheets: [{name: 'One', rows: [[], []]}]}), 'FILE_EMPTY')).extra, {sheets: [{name: 'One'}]})
  await refused(t, await writeWorkbook({sheets: [{name: 'One', rows: [['a', 'b'], [], [{v: ''}]]}]}), 'FILE_NO_ROWS')
})

test('shared strings over the limit are spooled to a file and read the same', async t => {
  const rows = [['a', 'b'], ...Array.from({length: 3000}, (_, n) => [`value ${(n * 7919) % 3000} ${'ä'.repeat(40)}`, `same ${n % 5}`])]
  const workbook = await writeWorkbook({sheets: [{name: 'One', rows}], shared: true})
  t.deepEqual([await spills(t, workbook, 10_000_000), await spills(t, workbook, 10_000)], [false, true])
  const [held, spilled] = [await read(t, workbook), await read(t, workbook, {limits: {strings: 10_000}})]
  t.deepEqual(held.cells, rows.slice(1))
  t.deepEqual(spilled.cells, rows.slice(1))
})

test('a written workbook is read back unchanged, with gaps', async t => {
  const text = fc.string({unit: 'grapheme', maxLength: 10}).map(value => value.replace(/[\p{Cc}\ufffe\uffff]/gu, '').replaceAll('_x', ''))
  const cell = fc.oneof(text, fc.constantFrom('', ' ', '&amp;', '<', ']]>', '"', '\n', '=1+1'), fc.constant(null))
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(cell, {minLength: 3, maxLength: 3}), {minLength: 1, maxLength: 8}),
      fc.boolean(),
      async (rows, shared) => {
        const last = ['x', 'y', 'z']
        const {cells} = await readRows(t, [['a', 'b', 'c'], ...rows, last], {shared})
        t.deepEqual(cells, [...rows.map(row => row.map(value => value ?? '')), last])
      },
    ),
    {numRuns: 60},
  )
})
