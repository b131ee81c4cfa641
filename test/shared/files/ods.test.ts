import test from 'ava'
import {zip} from '../../support/workbook.ts'
import {read, refused} from './workbooks.ts'

const mimetype = 'application/vnd.oasis.opendocument.spreadsheet'
const contentOf = (tables: string) => `<?xml version="1.0" encoding="UTF-8"?>
<office:document-content><office:automatic-styles><style:style style:name="ta2"><style:table-properties table:display="false"/></style:style></office:automatic-styles>
<office:body><office:spreadsheet><table:tracked-changes/>${tables}</office:spreadsheet></office:body></office:document-content>`
const ods = (tables: string, parts: Record<string, string> = {}) => zip({mimetype, 'content.xml': contentOf(tables), ...parts})
const table = (rows: string, more = 'table:name="One"') => `<table:table ${more}><table:table-column/>${rows}</table:table>`
const row = (cells: string, more = '') => `<table:table-row ${more}>${cells}</table:table-row>`
const text = (...words: string[]) =>
  words.map(word => `<table:table-cell office:value-type="string"><text:p>${word}</text:p></table:table-cell>`).join('')
const typed = (type: string, attributes: string, shown = 'shown') =>
  `<table:table-cell office:value-type="${type}" ${attributes}><text:p>${shown}</text:p></table:table-cell>`
const tail = `<table:table-cell table:number-columns-repeated="16370"/>`
const emptyTail = row(`<table:table-cell table:number-columns-repeated="16384"/>`, 'table:number-rows-repeated="1048570"')

test('the values of an OpenDocument sheet are read as those of a workbook', async t => {
  const values = [
    typed('float', 'office:value="1234567890123456789"'),
    typed('currency', 'office:value="12.5" office:currency="EUR"', '12,50 €'),
    typed('percentage', 'office:value="0.155"', '16 %'),
    typed('date', 'office:date-value="2026-02-28"', '28.02.26'),
    typed('date', 'office:date-value="2026-02-28T09:30:00.000000000"'),
    typed('time', 'office:time-value="PT10H30M00S"'),
    typed('boolean', 'office:boolean-value="true"', 'WAHR'),
    typed('float', 'office:value="3" table:formula="of:=[.A1]+2"'),
    typed('string', 'office:value="0" calcext:value-type="error" table:formula="of:=1/0"', '#DIV/0!'),
    `<table:table-cell table:formula="of:=X()"/>`,
    text('a<text:s text:c="3"/>b<text:tab/>c</text:p><text:p>sec<text:span>ond</text:span>   line'),
    `<table:table-cell office:value-type="string"><office:annotation><text:p>a comment</text:p></office:annotation><text:p>J&amp;J</text:p></table:table-cell>`,
  ]
  const {columns, cells, stored, all} = await read(
    t,
    await ods(table(row(text(...'abcdefghijkl') + tail) + row(values.join('') + tail) + emptyTail)),
  )
  t.deepEqual(columns, [...'abcdefghijkl'])
  t.deepEqual(cells, [
    [
      '1234567890123456789',
      '12.5',
      '15.5',
      '2026-02-28',
      '2026-02-28T09:30:00',
      '10:30:00',
      'TRUE',
      '3',
      '#DIV/0!',
      '',
      'a   b\tc\nsecond line',
      'J&J',
    ],
  ])
  t.deepEqual([stored[8], stored[9], stored[3]], [{error: 1}, {uncalculated: 1}, {date: 1}])
  t.deepEqual(Object.keys(all[0]?.faults ?? {}), ['8'])
})

test('the text of a shape in a cell is not part of its value', async t => {
  const shapes = ['caption', 'connector', 'measure', 'polyline', 'polygon', 'regular-polygon', 'path', 'circle']
  const cellOf = (shape: string) =>
    `<table:table-cell office:value-type="string"><draw:${shape}><text:p>check</text:p></draw:${shape}><text:p>Ana</text:p></table:table-cell>`
  const {cells} = await read(t, await ods(table(row(text(...shapes)) + row(shapes.map(cellOf).join('')))))
  t.deepEqual(cells, [shapes.map(() => 'Ana')])
})

test('repeated cells and rows have their places, and repeated empty ones cost nothing', async t => {
  const rows = [
    row(text('a', 'b', 'c', 'd')),
    row(
      `<table:table-cell table:number-columns-repeated="2" office:value-type="string"><text:p>x</text:p></table:table-cell><table:table-cell/>${text('y')}`,
    ),
    row('<table:table-cell table:number-columns-repeated="1024"/>', 'table:number-rows-repeated="2"'),
    row(text('z'), 'table:number-rows-repeated="1200"'),
    emptyTail,
  ]
  const {all, cells, evidence} = await read(t, await ods(table(rows.join(''))))
  t.is(all.length, 1203)
  t.deepEqual(cells.slice(0, 4), [
    ['x', 'x', '', 'y'],
    ['', '', '', ''],
    ['', '', '', ''],
    ['z', '', '', ''],
  ])
  t.is(all.at(-1)!.rowNumber, 1203)
  t.is(evidence.merged, 0)
})

test('a sheet is found by its name, hidden and empty sheets are passed over, and merged cells keep their first value', async t => {
  const merged = `<table:table-cell office:value-type="string" table:number-columns-spanned="2"><text:p>m</text:p></table:table-cell><table:covered-table-cell/>`
  const book = await ods(
    table(row(text('h')) + row(text('1')), 'table:name="Hidden" table:style-name="ta2"') +
      table(emptyTail, 'table:name="Empty"') +
      table(`<table:table-header-rows>${row(text('p', 'q'))}</table:table-header-rows>${row(merged)}`, 'table:name="Data"'),
  )
  const found = await read(t, book)
  t.like(found, {sheet: {name: 'Data', state: 'visible'}, passed: 'Empty', columns: ['p', 'q'], cells: [['m', '']], evidence: {merged: 1}})
  t.deepEqual(
    found.sheets.map(({name, state}) => [name, state]),
    [
      ['Hidden', 'hidden'],
      ['Empty', 'visible'],
      ['Data', 'visible'],
    ],
  )
  t.like(await read(t, book, {sheet: 'Hidden'}), {columns: ['h'], cells: [['1']]})
  await refused(t, book, 'SHEET_NOT_FOUND', {sheet: 'Other'})
})

test('a file that only looks small, is protected, or is no spreadsheet is refused', async t => {
  const repeated = (columns: number, rows: number) =>
    row(
      `<table:table-cell table:number-columns-repeated="${columns}" office:value-type="string"><text:p>x</text:p></table:table-cell>`,
      `table:number-rows-repeated="${rows}"`,
    )
  await refused(t, await ods(table(repeated(16_385, 1))), 'UNREADABLE')
  await refused(t, await ods(table(repeated(16_000, 1).repeat(100))), 'FILE_CORRUPT')
  await refused(t, await ods(table(repeated(100, 1_048_576))), 'WORKBOOK_TOO_LARGE', {limits: {unpacked: 1_000_000}})
  await refused(t, await ods(table(row(text('a')) + row(text('b'), 'table:number-rows-repeated="-1"'))), 'FILE_CORRUPT')
  const manifest = '<manifest:manifest><manifest:file-entry><manifest:encryption-data/></manifest:file-entry></manifest:manifest>'
  await refused(t, await ods('', {'META-INF/manifest.xml': manifest}), 'FILE_ENCRYPTED')
  const letter = `<office:document-content><office:body><office:text>${table(row(text('a')))}</office:text></office:body></office:document-content>`
  await refused(t, await zip({mimetype: 'application/vnd.oasis.opendocument.text', 'content.xml': letter}), 'FILE_FORMAT')
})

test('leading zeros that a number format shows are kept, as in a workbook', async t => {
  const values = [
    typed('float', 'office:value="501"', '00501'),
    typed('float', 'office:value="501"', '501'),
    typed('float', 'office:value="7.4"', '007'),
    typed('float', 'office:value="0"', '0'),
  ]
  const {cells, stored} = await read(t, await ods(table(row(text(...'abcd')) + row(values.join('')))))
  t.deepEqual(cells, [['00501', '501', '7.4', '0']])
  t.deepEqual([stored[0], stored[1], stored[2]], [{padded: 1}, {number: 1}, {number: 1}])
})

test('the zeros and separators that a number format shows are kept, except those that group digits', async t => {
  const shown: [value: string, shown: string, cell: string][] = [
    ['612345678', '06 12 34 56 78', '06 12 34 56 78'],
    ['612345678', '06.12.34.56.78', '06.12.34.56.78'],
    ['5011234', '00501-1234', '00501-1234'],
    ['12345678', '12-34-5678', '12-34-5678'],
    ['-501', '-00501', '-00501'],
    ['42', 'ID-00042', 'ID-00042'],
    ['1234567', '1.234.567', '1234567'],
    ['1234567', '1 234 567', '1234567'],
    ['1234567', '12,34,567', '1234567'],
    ['12', '0.012', '12'],
    ['1234', '-1.234 €', '1234'],
    ['5', '5 kg', '5'],
    ['1234', '1,2E3', '1234'],
    ['12.5', '12-5', '12.5'],
    ['0', '0,00 €', '0'],
    ['0', '0.00', '0'],
  ]
  const {cells, stored, all} = await read(
    t,
    await ods(
      table(
        row(text(...shown.map((_, at) => `c${at}`))) +
          row(shown.map(([value, text]) => typed('float', `office:value="${value}"`, text)).join('')),
      ),
    ),
  )
  t.deepEqual(
    cells[0],
    shown.map(([, , cell]) => cell),
  )
  t.deepEqual(
    all[0]?.stored,
    shown.map(([value]) => value),
  )
  t.deepEqual(
    stored.map(({padded = 0}) => padded),
    shown.map(([value, , cell]) => (value === cell ? 0 : 1)),
  )
})

test('the XML of the sheets counts once towards the limit of an unpacked workbook', async t => {
  const tables = table(row(text('a')) + row(text('b')).repeat(5_000))
  const book = await ods(tables)
  const limits = {unpacked: Math.floor(contentOf(tables).length * 1.2)}
  t.is((await read(t, book, {limits})).all.length, 5_000)
  await refused(t, book, 'WORKBOOK_TOO_LARGE', {limits: {unpacked: tables.length}})
})
