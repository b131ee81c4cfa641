import test from 'ava'
import {parse} from 'csv-parse/sync'
import {readBulkCsv} from '../../../shared/crm/bulk/bulk-csv.ts'

/** Reads a text that arrives in pieces of `size` bytes. */
const read = async (text: string | Buffer, size = 65_536, charactersAtOnce?: number) => {
  const bytes = Buffer.from(text)
  const pieces = async function* () {
    for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
  }
  return (await Array.fromAsync(readBulkCsv(pieces(), charactersAtOnce))).flat()
}

const texts = {
  plain: 'id,Name\n1,Ana\n2,Bea\n',
  'lines that end with CR and LF, and no end of the last line': 'id,Name\r\n1,Ana\r\n2,Bea',
  'empty cells, empty lines and a last empty cell': 'id,Name,City\n1,,\n\n\r\n,,Bern\r\n,"",\n',
  'quoted cells': '"id","Name"\r\n"1","Ono, ""Yoko"""\r\n"2",""\r\n"3",""""\r\n',
  'line feeds in quotes': 'id,Note,City\n1,"two\nlines",Bern\n2,"\r\n",""\n"3","a\n\n""b"" ,",x\n',
  'quotes inside a cell without quotes': 'id,Size\n1,5" nail\n2,a "b" c\n3,"ok"\n',
  'characters of several bytes': 'id,Name\n1,Zoë 🙂\n"2","„ä“, 漢字"\n',
  'a byte order mark': '\ufeffid,Name\n1,Ana\n',
  'a byte order mark before quotes': '\ufeff"id",Name\n1,Ana\n',
}

for (const [what, text] of Object.entries(texts))
  test(`records are read alike wherever the file is cut: ${what}`, async t => {
    const expected = parse(text, {bom: true, relax_quotes: true, skip_empty_lines: true, record_delimiter: ['\r\n', '\n']})
    t.true(expected.length > 1)
    for (let size = 1; size <= Buffer.byteLength(text); size++) t.deepEqual(await read(text, size, 1), expected, `pieces of ${size} bytes`)
  })

test('random records are read as they were written', async t => {
  const [signs, quoted] = [['a', 'ä', ',', '"', '\n', '\r\n', ' ', '1'], /[",\r\n]/]
  let seed = 1
  const random = (below: number) => (seed = (seed * 48_271) % 2_147_483_647) % below
  const records = Array.from({length: 3_000}, (_, n) => [`${n}`, ...Array.from({length: 3}, () => cellOf(random(6)))])
  function cellOf(length: number) {
    return Array.from({length}, () => signs[random(signs.length)]).join('')
  }
  const cells = records.map(record => record.map(cell => (quoted.test(cell) || random(3) === 0 ? `"${cell.replaceAll('"', '""')}"` : cell)))
  const text = cells.map(record => `${record.join(',')}\r\n`).join('')
  for (const size of [7, 100, 65_536]) for (const atOnce of [1, undefined]) t.deepEqual(await read(text, size, atOnce), records)
})

test('a file that ends inside quotes, has text behind a quoted cell, a NUL or too large a record is refused', async t => {
  for (const size of [1, 3, 100]) {
    await t.throwsAsync(read('id,Name\n1,"Ana\n2,Bea\n', size, 1), {code: 'FILE_QUOTE'})
    await t.throwsAsync(read('id,Name\n1,"Ana"x\n2,Bea\n', size, 1), {code: 'FILE_QUOTE'})
    await t.throwsAsync(read('id,Name\n1,\0\n', size, 1), {code: 'FILE_NUL'})
  }
  await t.throwsAsync(read(`id,Name\n1,"${'x\n'.repeat(600_000)}`), {code: 'UNREADABLE'})
  await t.throwsAsync(read(`id,Name\n1,${'x'.repeat(1_200_000)}`), {code: 'UNREADABLE'})
  t.deepEqual(await read(''), [])
})

test('bytes that are not UTF-8 cost their characters only', async t => {
  for (const size of [1, 3, 100])
    t.deepEqual(await read(Buffer.from('id,Name\n1,K\xe4se\n2,Bea\n', 'latin1'), size, 1), [
      ['id', 'Name'],
      ['1', 'K\ufffdse'],
      ['2', 'Bea'],
    ])
})
