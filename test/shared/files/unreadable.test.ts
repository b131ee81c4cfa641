import test, {type ExecutionContext} from 'ava'
import {type Code, Refusal} from '../../../shared/errors.ts'
import {openCsv} from '../../../shared/files/csv/csv-file.ts'
import type {CsvOptions} from '../../../shared/files/reader.ts'
import {csvReader, inPieces, readAll} from './chunks.ts'

/** Returns the bytes of memory of this thread alone, because the process runs other test files too. */
const ownMemory = () => process.memoryUsage().heapUsed + process.memoryUsage().arrayBuffers

const refused = async (
  t: ExecutionContext,
  content: string | Uint8Array,
  options: CsvOptions,
  code: Code,
  extra?: Record<string, unknown>,
) => {
  for (const size of [1, 7, 65_536]) {
    const error = await t.throwsAsync(readAll(inPieces(content, size), options), {instanceOf: Refusal}, `${size}`)
    t.is(error?.code, code, `${size}: ${error?.message}`)
    if (extra) t.like(error?.extra, extra, `${size}: ${error?.message}`)
    t.regex(error?.message ?? '', /\b(send|set|state|add|close|look|double|save|export|check)\b/i, 'says what to do next')
  }
}

test('an empty file is refused', async t => {
  for (const content of ['', '\ufeff', '\n\r\n\n']) await refused(t, content, {}, 'FILE_EMPTY')
  await refused(t, '', {encoding: 'utf-16le'}, 'FILE_EMPTY')
  await refused(t, '', {headerRow: false}, 'FILE_EMPTY')
})

test('a file with only a header is refused', async t => {
  for (const content of ['id,name', 'id,name\r\n', 'id,name\n\n\n']) await refused(t, content, {}, 'FILE_NO_ROWS')
})

test('an empty or missing header is refused', async t => {
  await refused(t, ' ,,\n1,2,3\n', {}, 'FILE_HEADER')
  await refused(t, ',,\n,,\n', {}, 'FILE_HEADER')
  await refused(t, 'id\n1\n', {skipRows: 5}, 'FILE_HEADER')
})

test('bytes invalid in UTF-8 are refused with row, line and byte', async t => {
  const content = Buffer.concat([Buffer.from('name\n"Ånna\nx"\nBo'), Buffer.from([0xe9]), Buffer.from('ris\nC\n')])
  await refused(t, content, {}, 'FILE_ENCODING', {row: 2, line: 4, byte: 17})
  await refused(t, Buffer.concat([Buffer.from('né,b'), Buffer.from([0xff, 0x0a])]), {}, 'FILE_ENCODING', {row: 0, line: 1, byte: 5})
})

test('a file that ends inside a character is refused as cut off', async t => {
  await refused(t, Buffer.from('name\nAnna\n😀').subarray(0, -1), {}, 'FILE_ENCODING', {row: 2, line: 3, byte: 10})
  await refused(t, Buffer.from('name\nAnna\n', 'utf16le').subarray(0, -1), {encoding: 'utf-16le'}, 'FILE_ENCODING')
})

test('half a surrogate pair in UTF-16 is refused', async t => {
  const content = Buffer.concat([Buffer.from('name\nA', 'utf16le'), Buffer.from([0x00, 0xd8]), Buffer.from('B\n', 'utf16le')])
  await refused(t, content, {encoding: 'utf-16le'}, 'FILE_ENCODING')
})

test('a NUL character is refused with its row', async t => {
  await refused(t, 'name,age\nAnna,1\n"B\nB",2\nC\0,3\n', {}, 'FILE_NUL', {row: 3, line: 5, byte: 25})
  await refused(t, Buffer.from('name\nAnna\n\0\n', 'utf16le'), {encoding: 'utf-16le'}, 'FILE_NUL', {row: 2, line: 3})
  await refused(t, Buffer.from('name\n\n\0'), {encoding: 'windows-1252'}, 'FILE_NUL', {row: 1, line: 3})
})

test('an unclosed quote is refused with its row', async t => {
  await refused(t, 'a,b\n1,"x\r\ny"\r\n\r\n2,"open\n3,4\n5,6\n', {}, 'FILE_QUOTE', {row: 2, line: 5})
  await refused(t, ',\n,\na,b\n1,x\n2,"open\n3,4\n', {}, 'FILE_QUOTE', {row: 2, line: 5})
})

test('strict quotes refuse text after a closing quote and quotes inside a cell', async t => {
  await refused(t, 'a,b\n1,2\n"Joe" Smith,3\n', {strictQuotes: true}, 'FILE_QUOTE', {row: 2, line: 3})
  await refused(t, 'a,b\n5" pipe,2\n', {strictQuotes: true}, 'FILE_QUOTE', {row: 1, line: 2})
})

test('a row may have at most 1,048,576 characters', async t => {
  const [full, over] = ['€'.repeat(1_048_575), '€'.repeat(1_048_576)]
  const {cells} = await readAll(inPieces(`a,b\n1,2\n3,${full}\n`))
  t.is(cells[1]?.[1]?.length, 1_048_575)
  const error = await t.throwsAsync(readAll(inPieces(`a,b\n1,2\n3,${over}\n4,5\n`)), {instanceOf: Refusal})
  t.is(error?.code, 'UNREADABLE')
  t.like(error?.extra, {row: 2, line: 3, limit: 1_048_576})
})

test('a row may have at most 16,384 cells', async t => {
  const {columns} = await readAll(inPieces(`${'a,'.repeat(16_383)}b\n1\n`))
  t.is(columns.length, 16_384)
  for (const size of [1000, 65_536]) {
    const error = await t.throwsAsync(readAll(inPieces(`a\n1\n${','.repeat(16_384)}\n2\n`, size)), {instanceOf: Refusal})
    t.like(error, {code: 'UNREADABLE', extra: {row: 2, line: 3, limit: 16_384}})
  }
})

for (const [what, filler] of Object.entries({'a quoted cell': '"endless ', 'a row of empty cells': ',', 'a line without an end': 'x'})) {
  test.serial(`${what} of 50 MB is refused long before it is in memory`, async t => {
    let given = 0
    async function* source() {
      yield Buffer.from(`a,b\n1,2\n3,${filler[0]}`)
      const piece = Buffer.from(filler.slice(1).repeat(8192) || filler.repeat(65_536))
      for (; given < 50_000_000; given += piece.length) yield piece
    }
    const before = ownMemory()
    const error = await t.throwsAsync(readAll(source()), {instanceOf: Refusal})
    t.like(error, {code: 'UNREADABLE', extra: {row: 2, line: 3}})
    t.true(given < 4_000_000, `${given} bytes were read`)
    t.true(ownMemory() - before < 100_000_000, `${(ownMemory() - before) / 1e6} MB`)
  })
}

test.serial('many rows take no more memory than few', async t => {
  const line = `${'x'.repeat(99)},1\n`
  let given = 0
  async function* source() {
    yield Buffer.from('a,b\n')
    const piece = Buffer.from(line.repeat(600))
    for (; given < 60_000_000; given += piece.length) yield piece
  }
  let rows = 0
  const most = {early: 0, late: 0}
  for await (const chunk of (await openCsv(source(), csvReader())).rows) {
    rows += chunk.length
    const when = rows < 120_000 ? 'early' : 'late'
    if (rows % 10_000 < 500) most[when] = Math.max(most[when], ownMemory())
  }
  t.is(rows, given / line.length)
  t.true(most.late - most.early < 50_000_000, `${(most.late - most.early) / 1e6} MB`)
})
