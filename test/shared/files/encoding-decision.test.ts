import {mkdtemp, rm} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import test, {type ExecutionContext} from 'ava'
import {openCsv} from '../../../shared/files/csv/csv-file.ts'
import {type IncomingUpload, ingest} from '../../../shared/files/ingest.ts'
import {type FileFindings, readNewFile} from '../../../shared/files/new-file.ts'
import {problemsOf} from '../../../shared/files/problems.ts'
import type {CsvReader} from '../../../shared/files/reader.ts'
import {openBadBytes} from '../../../shared/files/text/bad-bytes.ts'
import {openStorage} from '../../../shared/storage/storage.ts'
import {inPieces} from './chunks.ts'
import {encoded, marked, markedText} from './encoded-files.ts'

const key = 'imports/imp_1/src_1'

/** Returns functions that ingest a file as an upload does, and that read its rows back from storage. */
const open = async (t: ExecutionContext) => {
  const directory = await mkdtemp(join(tmpdir(), 'lading-encoding-'))
  t.teardown(() => rm(directory, {recursive: true, force: true}))
  const storage = openStorage({directory})
  const limits = {unpacked: 100_000_000, strings: 1_000_000}
  const take = async (bytes: Uint8Array, {size = 65_536, ...options}: Partial<IncomingUpload> & {size?: number} = {}) => {
    const upload = {body: inPieces(bytes, size), storage, key, maxBytes: 10_000_000, ...options}
    return (await ingest(upload, file => readNewFile({storage, limits}, file))).found
  }
  const read = async (reader: object) => {
    const table = await openCsv(await storage.read(key), reader as CsvReader, openBadBytes())
    const rows: string[][] = [table.columns]
    for await (const chunk of table.rows) for (const {cells} of chunk) rows.push(cells)
    return rows
  }
  return {take, read}
}

const cellsOf = (text: string) =>
  text
    .trimEnd()
    .split('\n')
    .map(line => line.split(','))

const kindsOf = (found: FileFindings) => problemsOf(found, {}).map(({kind}) => kind)

for (const {encoding, text, bytes} of encoded) {
  test(`a file in ${encoding} asks for its encoding, with the right one among the candidates`, async t => {
    const {take, read} = await open(t)
    for (const size of [1, 7, 65_536]) {
      const found = await take(bytes, {size})
      t.like(found.sniffed, {how: 'fallback'})
      t.true(kindsOf(found).includes('encoding'))
      const {candidates = []} = found.text!
      t.is(candidates[0]?.encoding, (found.reader as CsvReader).encoding, 'the likeliest is proposed')
      const own = candidates.find(candidate => candidate.encoding === encoding)
      t.truthy(own, candidates.map(candidate => candidate.encoding).join())
      t.true(own!.samples.length >= 3)
      for (const sample of own!.samples) t.true(text.includes(sample), sample)
      t.deepEqual(await read({...found.reader, encoding}), cellsOf(text))
    }
  })

  test(`a file in ${encoding} raises no question if its encoding is set or sent as charset`, async t => {
    const {take, read} = await open(t)
    const stated = await take(bytes, {reader: {encoding}})
    t.like(stated.sniffed, {encoding, how: 'stated'})
    const sent = await take(bytes, {named: {charset: encoding.toUpperCase()}})
    t.like(sent.sniffed, {encoding, how: 'content type'})
    for (const found of [stated, sent]) {
      t.deepEqual(kindsOf(found), [])
      t.deepEqual(await read(found.reader), cellsOf(text))
    }
  })
}

test('the proposed encoding is right for most of these files', async t => {
  const {take} = await open(t)
  const wrong: string[] = []
  for (const {encoding, bytes} of encoded) {
    const {reader} = await take(bytes)
    if ((reader as CsvReader).encoding !== encoding) wrong.push(`${encoding} as ${(reader as CsvReader).encoding}`)
  }
  t.true(wrong.length <= 5, wrong.join(', '))
})

for (const [encoding, bytes] of marked) {
  test(`the byte order mark of ${encoding} takes precedence over any charset`, async t => {
    const {take, read} = await open(t)
    for (const size of [1, 3, 65_536]) {
      const found = await take(bytes, {size, named: {charset: 'windows-1252'}})
      t.like(found.sniffed, {encoding, how: 'byte order mark'})
      t.deepEqual(kindsOf(found), [])
      t.deepEqual(await read(found.reader), cellsOf(markedText))
    }
  })
}

test('UTF-32 without a mark is read if set, and invalid code points are reported', async t => {
  const {take, read} = await open(t)
  const [, bytes] = marked.find(([encoding]) => encoding === 'utf-32be')!
  const unmarked = Buffer.from(bytes.subarray(4))
  const found = await take(unmarked, {reader: {encoding: 'UTF-32BE'}})
  t.deepEqual(await read(found.reader), cellsOf(markedText))
  unmarked.writeUInt32BE(0xd800, unmarked.length - 8)
  const broken = await take(Buffer.concat([unmarked, Buffer.from([0, 0])]), {reader: {encoding: 'utf-32be'}})
  t.like(broken.text, {bad: {places: 2, rows: 2, firstRows: [2, 3]}})
})

const rows = Array.from({length: 200}, (_, n) => `${n + 1},Müller ${n},東京`)
const utf8 = (count = 200) => `id,name,city\n${rows.slice(0, count).join('\n')}\n`

const withBadByte = (text: string, row: number) => {
  const at = Buffer.from(text).indexOf(`\n${row},`) + `\n${row},`.length
  return Buffer.concat([Buffer.from(text).subarray(0, at), Buffer.from([0xe9]), Buffer.from(text).subarray(at)])
}

const long = `id,name,city\n${Array.from({length: 9_000}, (_, n) => `${n + 1},Müller ${n},東京`).join('\n')}\n`
const asciiFirst = `id,name,city\n${Array.from({length: 9_000}, (_, n) => `${n + 1},Smith ${n},Rome`).join('\n')}\n${utf8().slice(13)}`

for (const [where, text, row] of [
  ['in the first row', utf8(), 1],
  ['in the middle', utf8(), 100],
  ['in the last row', utf8(), 200],
  ['past 64 KiB', long, 8_999],
  ['past 64 KiB of ASCII', asciiFirst, 8_999],
  ['in a file of two rows', utf8(2), 2],
] as const) {
  test(`one invalid byte ${where} leaves the file UTF-8 and is reported with its row`, async t => {
    const {take, read} = await open(t)
    const found = await take(withBadByte(text, row), {size: 1000})
    t.like(found.sniffed, {encoding: 'utf-8', how: 'utf-8'})
    t.deepEqual(found.text?.bad, {places: 1, rows: 1, firstRows: [row], header: false})
    const problem = problemsOf(found, {}).find(({kind}) => kind === 'undecodable')
    t.regex(problem!.message, new RegExp(`row ${row.toLocaleString('en')}$`))
    const cells = await read(found.reader)
    const expected = cellsOf(text)
    expected[row]![1] = `\ufffd${expected[row]![1]}`
    t.deepEqual(cells, expected)
    const candidates = found.text?.candidates ?? []
    t.true(
      candidates.some(({samples}) => samples.some(sample => sample.includes('é'))),
      'what the byte may be is shown',
    )
    t.deepEqual(kindsOf({...found, reader: {...found.reader, badBytes: 'replace'} as CsvReader}), ['lost'])
  })
}

test('an invalid byte in the header is reported for the header', async t => {
  const {take} = await open(t)
  const found = await take(Buffer.concat([Buffer.from('id,na'), Buffer.from([0xff]), Buffer.from(utf8().slice(5))]))
  t.deepEqual(found.text?.bad, {places: 1, rows: 0, firstRows: [], header: true})
  t.regex(problemsOf(found, {})[0]!.message, /in the header$/)
})

test('a U+FFFD in the file itself is no invalid byte', async t => {
  const {take} = await open(t)
  const found = await take(withBadByte(`${utf8()}201,A\ufffdB,東京\n`, 3))
  t.deepEqual(found.text?.bad, {places: 1, rows: 1, firstRows: [3], header: false})
})

test('many rows with invalid bytes are counted, and the first twenty are named', async t => {
  const {take} = await open(t)
  const latin = Buffer.from(utf8()).toString('latin1')
  const lines = latin.split('\n').map((line, at) => (at >= 1 && at <= 30 ? line.replace(',M', ',\u00e9M') : line))
  const found = await take(Buffer.from(lines.join('\n'), 'latin1'))
  t.like(found.text, {bad: {places: 30, rows: 30, firstRows: Array.from({length: 20}, (_, n) => n + 1)}})
})

test('a file cut inside its last character is UTF-8 with one invalid place', async t => {
  const {take} = await open(t)
  for (const character of ['é', '東', '😀'])
    for (let keep = 1; keep < Buffer.byteLength(character); keep++) {
      const whole = Buffer.from(`name\nMüller\nAnna${character}`)
      for (const size of [1, 65_536]) {
        const found = await take(whole.subarray(0, whole.length - Buffer.byteLength(character) + keep), {size})
        t.like(found, {sniffed: {how: 'utf-8'}, text: {bad: {places: 1, rows: 1, firstRows: [2]}}}, `${character} ${keep}`)
      }
    }
  const only = await take(Buffer.from('name\nAnna 😀').subarray(0, -1))
  t.like(only, {sniffed: {how: 'utf-8'}, text: {bad: {places: 1}}})
})

test('ASCII raises no encoding question', async t => {
  const {take} = await open(t)
  for (const named of [{}, {charset: 'utf-8'}, {charset: 'shift_jis'}, {kept: 'windows-1250'}]) {
    const found = await take(Buffer.from('name,city\nAnna,Rome\n'), {named})
    t.deepEqual(kindsOf(found), [])
    t.is(found.text?.bad, null)
  }
})

test('a single byte beyond ASCII raises an encoding question, wherever it is', async t => {
  const {take} = await open(t)
  const filler = 'Anna\n'.repeat(30_000)
  for (const text of ['name\nM\u00fcller\n', `name\n${filler}M\u00fcller\n`, 'name\nJos\u00e9']) {
    const found = await take(Buffer.from(text, 'latin1'), {size: 999})
    t.like(found, {sniffed: {encoding: 'windows-1252', how: 'fallback'}}, text.slice(-8))
    t.true(found.text!.candidates!.length >= 3)
  }
})

test('a Shift-JIS file with one damaged byte still has Shift-JIS among its candidates', async t => {
  const {take} = await open(t)
  const {bytes} = encoded.find(({encoding}) => encoding === 'shift_jis')!
  const found = await take(Buffer.concat([bytes, bytes.subarray(-40, -1), Buffer.from([0x93])]))
  t.like(found.sniffed, {how: 'fallback'})
  t.true(found.text!.candidates!.some(({encoding}) => encoding === 'shift_jis'))
})

test('a charset or template encoding is not trusted for a file that is valid UTF-8', async t => {
  const {take} = await open(t)
  for (const named of [{charset: 'iso-8859-1'}, {kept: 'windows-1252'}, {kept: 'shift_jis'}]) {
    const found = await take(Buffer.from(utf8()), {named})
    t.like(found.sniffed, {encoding: 'utf-8', how: 'fallback'})
    t.deepEqual(kindsOf(found), ['encoding'])
    t.true(found.text!.candidates!.length >= 2)
  }
  const stated = await take(Buffer.from(utf8()), {reader: {encoding: 'windows-1252'}})
  t.like(stated.sniffed, {encoding: 'windows-1252', how: 'stated'})
})

test('a charset of utf-8 is not trusted for a file that is mostly something else', async t => {
  const {take} = await open(t)
  for (const named of [{charset: 'utf-8'}, {kept: 'utf-8'}]) {
    const found = await take(encoded[0]!.bytes, {named})
    t.like(found.sniffed, {encoding: 'windows-1252', how: 'fallback'})
  }
})

test('bytes invalid in the set encoding are reported with candidates', async t => {
  const {take} = await open(t)
  const {bytes} = encoded.find(({encoding}) => encoding === 'gb18030')!
  const found = await take(bytes, {reader: {encoding: 'shift_jis'}})
  t.like(found.sniffed, {encoding: 'shift_jis', how: 'stated'})
  t.true(kindsOf(found).includes('undecodable'))
  t.true(found.text!.candidates!.some(({encoding}) => encoding === 'gb18030'))
})
