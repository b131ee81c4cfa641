import test from 'ava'
import {openCsv} from '../../../../shared/files/csv/csv-file.ts'
import {proposeHeader} from '../../../../shared/files/csv/header-row.ts'
import {Reader} from '../../../../shared/files/reader.ts'
import {inPieces, readAll} from '../chunks.ts'

const read = async (content: string | Buffer, options: object = {}, pieceBytes = 65_536) => {
  const reader = Reader.parse({format: 'csv', ...options})
  if (reader.format !== 'csv') throw new Error('A reader of CSV')
  const {columns, rows, proposeHeader} = await openCsv(inPieces(Buffer.from(content), pieceBytes), reader)
  const cells: string[][] = []
  for await (const chunk of rows) cells.push(...chunk.map(row => row.cells))
  return {columns, cells, proposed: proposeHeader!()}
}

const table = 'Name,City,Amount\nAnna,Bonn,5\nBoris,Bern,6\n'
const found: [what: string, content: string, options: object, skipRows: number][] = [
  ['a title and a blank line', `Sales report 2026\n\n${table}`, {}, 1],
  ['a title with delimiters, as spreadsheet programs save it', `Sales report 2026,,\r\n,,\r\n${table}`, {}, 2],
  ['a title of two lines in quotes', `"Sales\nreport"\n\n${table}`, {}, 2],
  ['a title of two lines in quotes, with the line ends of Windows', `"Sales\r\nreport"\r\n\r\n${table}`, {}, 2],
  ['several lines, one of two cells', `Sales report\nFrom:,Anna\n\nName,City,Amount,Date\nAnna,Bonn,5,2026-01-01\n`, {}, 2],
  ['two titles, the second of two cells', `Sales report\nFrom:,Anna\n${table}`, {}, 2],
  ['two titles, the second of text in two cells', `Sales report\nRegion,North\n\n${table}`, {}, 2],
  ['lines that are skipped already', `x\ny\nTitle\n${table}`, {skipRows: 2}, 3],
  ['comments', `# made by a program\nTitle\n${table}`, {comment: '#'}, 2],
]

for (const [what, content, options, skipRows] of found)
  test(`a header is found below ${what}`, async t => {
    for (const pieceBytes of [7, 65_536]) {
      const {proposed} = await read(content, options, pieceBytes)
      t.deepEqual(proposed?.reader, {skipRows})
      const again = await read(content, {...options, ...proposed?.reader}, pieceBytes)
      t.deepEqual(
        [again.columns.slice(0, 3), again.cells[0]?.slice(0, 2)],
        [
          ['Name', 'City', 'Amount'],
          ['Anna', 'Bonn'],
        ],
      )
      t.is(again.proposed, null)
    }
  })

const none: [what: string, content: string, options?: object][] = [
  ['a header in the first row', table],
  ['a file of one column', 'name\nAnna\nBoris\n'],
  ['ragged rows of numbers', 'id\n1,2,3\n4,5,6\n'],
  ['a header with nothing under it', `Title\n\nName,City,Amount\n`],
  ['rows that all fill less than the header', 'Name,City,Amount,Note\nAnna,,,\nBoris,,,\n'],
  ['a reader without a header', `Title\n\n${table}`, {headerRow: false}],
]

for (const [what, content, options] of none)
  test(`no other header is proposed for ${what}`, async t => {
    const {columns} = await read(content, options)
    t.true(columns.length > 0)
    t.is((await read(content, options)).proposed, null)
  })

test('a row that repeats a name is no header', t => {
  t.is(proposeHeader([['Title'], ['a', 'a', 'a'], ['1', '2', '3']]), null)
  t.is(proposeHeader([['Title'], ['a', 'b', 'c'], ['1', '2', '3']])?.at, 1)
})

test('a title and names that are cut have no half character, which Postgres rejects', t => {
  const long = `${'x'.repeat(99)}😀`
  const found = proposeHeader([[long], [long, 'b', 'c', 'd'], ['1', '2', '3', '4']])
  const cut = `${'x'.repeat(99)}\ufffd`
  t.deepEqual([found?.title, found?.columns[0]], [cut, cut])
})

test('undecodable bytes of a title are shown as U+FFFD', async t => {
  const {proposed} = await read(Buffer.from(`Verk\u00e4ufe\n${table}`, 'latin1'), {badBytes: 'replace'})
  t.is(proposed?.title, 'Verk\ufffdufe')
})

test('lines of delimiters above the header are passed over and are no rows', async t => {
  const content = ';;\n;;\n\nid;name;city\n1;Anna;Bonn\n;;\n2;"Bo\n3";Bern\n'
  for (const size of [1, 3, 64]) {
    const {columns, rows} = await readAll(inPieces(content, size), {delimiter: ';'})
    t.deepEqual(columns, ['id', 'name', 'city'])
    t.deepEqual(
      rows.map(({rowNumber, cells}) => [rowNumber, cells[0]]),
      [
        [1, '1'],
        [2, ''],
        [3, '2'],
      ],
    )
    const open = await readAll(inPieces(`${content}4;"Jo\n5;"Eva";Ulm\n`, size), {delimiter: ';', openQuotes: 'refuse'})
    t.like(open.rows.at(-1), {rowNumber: 4, openQuote: true})
  }
})
