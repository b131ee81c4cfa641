import {readdirSync, readFileSync} from 'node:fs'
import {Readable} from 'node:stream'
import test from 'ava'
import {parse} from 'csv-parse/sync'
import fc from 'fast-check'
import {Refusal} from '../../../../shared/errors.ts'
import {openCsv} from '../../../../shared/files/csv/csv-file.ts'
import {columnsOf, type FileRow} from '../../../../shared/files/row.ts'
import {csvReader, inPieces, readAll} from '../chunks.ts'

const spectrum = new URL('../../../../node_modules/csv-spectrum/', import.meta.url)

for (const file of readdirSync(new URL('csvs/', spectrum))) {
  const name = file.replace('.csv', '')
  test(`${name} of csv-spectrum reads the same in pieces of 1, 3, 7 and 65,536 bytes`, async t => {
    const expected: Record<string, string>[] = [JSON.parse(readFileSync(new URL(`json/${name}.json`, spectrum), 'utf8'))].flat()
    // The two files of this case disagree about the telephone number.
    if (name === 'location_coordinates') expected[0]!['Contact Phone Number'] = '2095257564'
    const content = readFileSync(new URL(`csvs/${file}`, spectrum))
    for (const size of [1, 3, 7, 65_536]) {
      const {columns, cells} = await readAll(inPieces(content, size))
      t.deepEqual(
        cells.map(row => Object.fromEntries(row.map((cell, index) => [columns[index], cell]))),
        expected,
        `${size}`,
      )
    }
  })
}

const spreadsheet = 'name,note\r\nAnna,"5 €, ""gross"""\r\nБорис,😀\r\n'
const expected = [
  ['Anna', '5 €, "gross"'],
  ['Борис', '😀'],
]

for (const [encoding, content] of Object.entries({
  'utf-8': Buffer.from(spreadsheet),
  'utf-16le': Buffer.from(spreadsheet, 'utf16le'),
  'utf-16be': Buffer.from(spreadsheet, 'utf16le').swap16(),
})) {
  test(`${encoding} reads the same at any piece size, with and without a byte order mark`, async t => {
    const mark = encoding === 'utf-8' ? Buffer.from([0xef, 0xbb, 0xbf]) : Buffer.from(encoding === 'utf-16le' ? [0xff, 0xfe] : [0xfe, 0xff])
    for (const bytes of [content, Buffer.concat([mark, content])]) {
      for (const size of [1, 2, 3, 7, 65_536]) {
        const {columns, cells} = await readAll(inPieces(bytes, size), {encoding})
        t.deepEqual([columns, ...cells], [['name', 'note'], ...expected], `${size}`)
      }
    }
  })
}

test('windows-1252 keeps its euro sign and curly quotes', async t => {
  const {cells} = await readAll(inPieces(Buffer.from('61 0a 80 35 2c 0a 93 e9 94'.replaceAll(' ', ''), 'hex'), 2), {
    encoding: 'windows-1252',
  })
  t.deepEqual(cells, [['€5'], ['“é”']])
})

test('a byte order mark inside the file is kept as a character', async t => {
  const {cells} = await readAll(inPieces('a\nx\ufeffy\n', 1))
  t.deepEqual(cells, [['x\ufeffy']])
})

test('one file may have mixed line ends', async t => {
  for (const size of [1, 2, 5, 64]) {
    const {rows} = await readAll(inPieces('a,b\r\n1,2\n3,4\r5,6\r\n\r\n7,"8\r\n9"', size))
    t.deepEqual(rows, [
      {rowNumber: 1, cells: ['1', '2'], ragged: false},
      {rowNumber: 2, cells: ['3', '4'], ragged: false},
      {rowNumber: 3, cells: ['5', '6'], ragged: false},
      {rowNumber: 4, cells: ['7', '8\r\n9'], ragged: false},
    ])
  }
})

test('blank lines and comment lines are not counted as rows', async t => {
  const {rows} = await readAll(inPieces('# made by hand\n\nid\n\n# more\n1\n   \n""\n2#\n'), {comment: '#'})
  t.deepEqual(
    rows.map(({rowNumber, cells}) => [rowNumber, ...cells]),
    [
      [1, '1'],
      [2, '   '],
      [3, ''],
      [4, '2#'],
    ],
  )
})

test('a quote inside an unquoted cell is kept', async t => {
  const {cells} = await readAll(inPieces('size,name\n5" pipe,"Joe" Smith\n6"",x"y"z\n', 1))
  t.deepEqual(cells, [
    ['5" pipe', '"Joe" Smith'],
    ['6""', 'x"y"z'],
  ])
})

const swallowing = 'id,name,city\n1,"Big" Joe,A\n2,"Sam,B\n3,Ann,C\n4,Lee,D\n5,"Eve",E\n6,Zoe,F\n'
const refuse = {openQuotes: 'refuse'} as const
const openRows = (rows: FileRow[]) => rows.filter(({openQuote}) => openQuote).map(({rowNumber, ragged}) => [rowNumber, ragged])

test('a row whose open quote swallowed other rows is marked as ragged with an open quote', async t => {
  for (const size of [1, 7, 65_536]) {
    const {rows} = await readAll(inPieces(swallowing, size), refuse)
    t.deepEqual([rows.length, openRows(rows)], [3, [[2, true]]])
    t.deepEqual(openRows((await readAll(inPieces(swallowing, size), {...refuse, headerRow: false})).rows), [[3, true]])
  }
})

test('a row with an open quote is an ordinary row if a person keeps it or an earlier build read the file, and so are cells quoted correctly', async t => {
  for (const options of [{openQuotes: 'keep'} as const, {}]) {
    const {rows} = await readAll(inPieces(swallowing), options)
    t.deepEqual(rows[1], {rowNumber: 2, cells: ['2', '"Sam,B\n3,Ann,C\n4,Lee,D\n5,"Eve"', 'E'], ragged: false})
  }
  for (const cell of ['"""Hi""\nthere"', '"a\r\n""b"""', '"Joe" Smith', '5" x']) {
    const {rows} = await readAll(inPieces(`id,name\n1,${cell}\n2,"Eve"\n`), refuse)
    t.deepEqual([rows.length, openRows(rows)], [2, []])
  }
})

test('a header whose open quote swallowed rows is refused', async t => {
  const {code, extra, message} = (await t.throwsAsync(readAll(inPieces('id,"name\n1,Ann\n2,"Eve"\n3,Zoe\n'), refuse), {
    instanceOf: Refusal,
  })) as Refusal
  t.deepEqual([code, extra, /openQuotes to keep/.test(message)], ['FILE_QUOTE', {row: 0}, true])
})

test('with quote null, quotes have no meaning', async t => {
  const {cells} = await readAll(inPieces('a,b\n"1,2"\n'), {quote: null})
  t.deepEqual(cells, [['"1', '2"']])
})

test('another delimiter and another quote can be set', async t => {
  const {cells} = await readAll(inPieces("a§b\n'x§''y'§2\n", 1), {delimiter: '§', quote: "'"})
  t.deepEqual(cells, [["x§'y", '2']])
})

test('lines above the header are skipped by physical line', async t => {
  for (const size of [1, 3, 64]) {
    const {columns, rows} = await readAll(inPieces('Report "for\r\nMay\n\rid;name\n1;Anna\n', size), {skipRows: 3, delimiter: ';'})
    t.deepEqual(columns, ['id', 'name'])
    t.deepEqual(rows, [{rowNumber: 1, cells: ['1', 'Anna'], ragged: false}])
  }
})

test('without a header the columns are numbered, and the first line is row 1', async t => {
  const {columns, rows} = await readAll(inPieces('1,Anna\n2,Boris\n'), {headerRow: false})
  t.deepEqual(columns, ['Column 1', 'Column 2'])
  t.deepEqual(rows[0], {rowNumber: 1, cells: ['1', 'Anna'], ragged: false})
})

test('repeated, empty and padded column names are made distinct', t => {
  t.deepEqual(columnsOf(['name', ' name ', '', 'name (2)', 'name', '  ']), [
    'name',
    'name (3)',
    'Column 3',
    'name (2)',
    'name (4)',
    'Column 6',
  ])
  t.deepEqual(columnsOf(['Column 2', '', 'x', 'x']), ['Column 2', 'Column 2 (2)', 'x', 'x (2)'])
})

test('a row of another width than the header is marked ragged and keeps its cells', async t => {
  const {rows} = await readAll(inPieces('a,b,c\n1,2\n1,2,3,4\n1,2,3\n'))
  t.deepEqual(rows, [
    {rowNumber: 1, cells: ['1', '2'], ragged: true},
    {rowNumber: 2, cells: ['1', '2', '3', '4'], ragged: true},
    {rowNumber: 3, cells: ['1', '2', '3'], ragged: false},
  ])
})

test('a delimiter at the end of a line is ignored', async t => {
  const inRows = await readAll(inPieces('a,b\n1,2,\n1,2,,,\n'))
  t.deepEqual(
    inRows.rows.map(({cells, ragged}) => [...cells, ragged]),
    [
      ['1', '2', false],
      ['1', '2', false],
    ],
  )
  const inHeader = await readAll(inPieces('a,b,\n1,2\n1,2,\n1,2,3\n'))
  t.deepEqual(inHeader.columns, ['a', 'b', 'Column 3'])
  t.deepEqual(
    inHeader.rows.map(({cells, ragged}) => [...cells, ragged]),
    [
      ['1', '2', '', false],
      ['1', '2', '', false],
      ['1', '2', '3', false],
    ],
  )
})

test('rows come in chunks of at most 500', async t => {
  const sizes: number[] = []
  for await (const chunk of (await openCsv(inPieces(`id\n${'1\n'.repeat(1200)}`), csvReader())).rows) sizes.push(chunk.length)
  t.is(
    sizes.reduce((a, b) => a + b),
    1200,
  )
  t.true(sizes.every(size => size <= 500))
})

test('leaving the loop early closes the source stream', async t => {
  const body = Readable.from(inPieces(`id\n${'1\n'.repeat(100_000)}`, 1000))
  for await (const chunk of (await openCsv(body, csvReader())).rows) {
    t.is(chunk[0]?.rowNumber, 1)
    break
  }
  t.true(body.destroyed)
})

test('the reader reads no further than requested', async t => {
  let given = 0
  async function* source() {
    yield Buffer.from('id\n')
    for (; given < 1000; given++) yield Buffer.from('1\n'.repeat(32_768))
  }
  const {rows} = await openCsv(source(), csvReader())
  for (let chunk = 0; chunk < 10; chunk++) await rows.next()
  t.true(given <= 2, `${given}`)
  await rows.return()
})

test('the error of a failing stream is passed on', async t => {
  async function* source() {
    yield Buffer.from('id\n1\n')
    throw new Error('disk on fire')
  }
  await t.throwsAsync(readAll(source()), {message: 'disk on fire'})
})

test('text written by RFC 4180 is read back unchanged, for any chunks', async t => {
  const text = fc.string({unit: 'grapheme', maxLength: 12}).map(value => value.replaceAll('\0', ''))
  const cell = fc.oneof(text, fc.constantFrom('', '"', '""', ',', '\r\n', '\n', '\r', 'a"b', ' x ', ';', '€', '😀'))
  const table = fc
    .integer({min: 1, max: 5})
    .chain(width => fc.array(fc.array(cell, {minLength: width, maxLength: width}), {minLength: 1, maxLength: 12}))
  await fc.assert(
    fc.asyncProperty(
      table,
      fc.constantFrom('\n', '\r\n', '\r'),
      fc.integer({min: 1, max: 40}),
      fc.boolean(),
      async (records, end, size, always) => {
        const quoted = (value: string) =>
          always || value === '' || /[",\r\n\ufeff]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value
        const content = records.map(record => record.map(quoted).join(',')).join(end)
        const {cells} = await readAll(inPieces(content, size), {headerRow: false})
        t.deepEqual(cells, records)
      },
    ),
    {numRuns: 300},
  )
})

test('short rows are filled if set so, and long rows are never cut', async t => {
  const {rows} = await readAll(inPieces('a,b,c\n1\n1,2\n1,2,3,4\n'), {shortRows: 'fill'})
  t.deepEqual(
    rows.map(({cells, ragged}) => [...cells, ragged]),
    [
      ['1', '', '', false],
      ['1', '2', '', false],
      ['1', '2', '3', '4', true],
    ],
  )
})

test('any text is read as csv-parse reads it, apart from row widths', async t => {
  const pieces = fc.array(fc.constantFrom('a', 'b ', '"', '""', ',', '\n', '\r\n', ';', "'", 'é', '😀', '1.5'), {
    minLength: 1,
    maxLength: 40,
  })
  await fc.assert(
    fc.asyncProperty(pieces, fc.integer({min: 1, max: 9}), async (parts, size) => {
      const content = `h1,h2\n${parts.join('')}\nend,1\n`
      let expected: string[][]
      try {
        expected = parse(content, {
          relax_column_count: true,
          relax_quotes: true,
          skip_empty_lines: true,
          record_delimiter: ['\r\n', '\n', '\r'],
        })
      } catch {
        await t.throwsAsync(readAll(inPieces(content, size)), {instanceOf: Refusal})
        return
      }
      const {rows} = await readAll(inPieces(content, size))
      const trimmed = (cells: string[]) => cells.slice(0, cells.findLastIndex(cell => cell !== '') + 1)
      t.deepEqual(
        rows.map(({cells}) => trimmed(cells)),
        expected.slice(1).map(trimmed),
      )
    }),
    {numRuns: 300},
  )
})
