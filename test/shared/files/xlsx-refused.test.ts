import test, {type ExecutionContext} from 'ava'
import {Refusal} from '../../../shared/errors.ts'
import {openXlsx} from '../../../shared/files/xlsx/xlsx-file.ts'
import {partsOf, writeWorkbook, zip} from '../../support/workbook.ts'
import {read, readRows, refused, stored, usual} from './workbooks.ts'

const two = partsOf({sheets: [{name: 'One', rows: [['a'], [1], [2]]}]})

test('a workbook that declares too large a size is refused before it is unpacked', async t => {
  const workbook = await zip({...two, 'xl/media/big.bin': Buffer.alloc(3_000_000)})
  const {status, extra} = await refused(t, workbook, 'WORKBOOK_TOO_LARGE', {limits: {unpacked: 2_000_000}})
  t.is(status, 413)
  t.is(extra.limit, 2_000_000)
  t.true((extra.unpacked as number) > 3_000_000)
})

/** Returns a copy of a workbook with another size for one part in the central directory. */
const lie = (workbook: Buffer, part: string, size: number) => {
  const changed = Buffer.from(workbook)
  for (let at = changed.indexOf('PK\u0001\u0002'); at >= 0; at = changed.indexOf('PK\u0001\u0002', at + 4))
    if (changed.toString('latin1', at + 46, at + 46 + changed.readUInt16LE(at + 28)) === part) changed.writeUInt32LE(size, at + 24)
  return changed
}

test('a workbook with a false size is measured while it is unpacked', async t => {
  const sheet = 'xl/worksheets/sheet1.xml'
  const bomb = await zip({...two, [sheet]: `${two[sheet]!}${' '.repeat(8_000_000)}`})
  const {extra} = await refused(t, lie(bomb, sheet, 400), 'WORKBOOK_TOO_LARGE', {limits: {unpacked: 5_000_000}})
  t.true((extra.unpacked as number) > 5_000_000 && (extra.unpacked as number) < 6_000_000)
  await refused(t, lie(bomb, sheet, 400), 'FILE_CORRUPT')
})

test.serial('endless text is refused long before it is in memory', async t => {
  for (const filling of ['x', '<a>', '<!-- ', '<c r="A1" ']) {
    const data = `<row r="1"><c r="A1" t="str"><v>${filling.repeat(Math.ceil(12_000_000 / filling.length))}`
    const workbook = await writeWorkbook({sheets: [{name: 'One', data}]})
    const before = process.memoryUsage().heapUsed
    const error = await t.throwsAsync(read(t, workbook), {instanceOf: Refusal})
    t.true(['UNREADABLE', 'FILE_CORRUPT'].includes(error!.code), error?.message)
    t.true(process.memoryUsage().heapUsed - before < 60_000_000, filling)
  }
})

test('a row of too many characters or cells is refused with its position', async t => {
  const half = 'x'.repeat(524_288)
  t.is(
    (
      await readRows(t, [
        ['a', 'b'],
        [half, half],
      ])
    ).cells.length,
    1,
  )
  for (const shared of [true, false]) {
    const rows = [['a', 'b', 'c'], [1], [half, half, 'y']]
    const error = await refused(t, await writeWorkbook({sheets: [{name: 'One', rows}], shared}), 'UNREADABLE')
    t.like(error.extra, {sheetRow: 3, limit: 1_048_576})
    t.is(error.status, 422)
  }
  const wide = (cell: string) =>
    writeWorkbook({
      sheets: [
        {name: 'One', data: `<row r="1"><c r="A1"><v>1</v></c><c r="${cell}1"><v>1</v></c></row><row r="2"><c r="A2"><v>1</v></c></row>`},
      ],
    })
  t.is((await read(t, await wide('XFD'))).columns.length, 16_384)
  t.like((await refused(t, await wide('XFE'), 'UNREADABLE')).extra, {limit: 16_384})
})

test('a few bytes that expand to more cells than any file may have are refused', async t => {
  const row = (number: number, cell: string) => `<row r="${number}"><c r="${cell}${number}"><v>1</v></c></row>`
  const data = row(1, 'XFD') + row(2, 'A') + row(1_048_576, 'A')
  const object = await stored(t, await writeWorkbook({sheets: [{name: 'One', data}]}))
  const {rows} = await openXlsx(object, {headerRow: true, range: null}, usual)
  const error = await t.throwsAsync(
    async () => {
      for await (const _ of rows);
    },
    {instanceOf: Refusal},
  )
  t.like(error, {code: 'UNREADABLE', extra: {limit: 200_000_000}})
})

test('broken and foreign workbooks are refused with the reason', async t => {
  const whole = await zip(two)
  await refused(t, whole.subarray(0, whole.length - 30), 'FILE_CORRUPT')
  await refused(t, Buffer.concat([whole.subarray(0, 200), Buffer.alloc(50), whole.subarray(250)]), 'FILE_CORRUPT')
  await refused(t, await zip({'content.xml': '<a/>', mimetype: 'application/vnd.oasis.opendocument.spreadsheet'}), 'FILE_FORMAT')
  await refused(t, await zip({...two, 'xl/worksheets/sheet1.xml': '<worksheet><sheetData><row r="1">'}), 'FILE_CORRUPT')
  await refused(t, await zip({...two, 'xl/worksheets/sheet1.xml': '<worksheet><row></c></worksheet>'}), 'FILE_CORRUPT')
  for (const part of ['xl/workbook.xml', 'xl/worksheets/sheet1.xml', 'xl/styles.xml'])
    for (const text of ['', '<?xml version="1.0"?>']) await refused(t, await zip({...two, [part]: text}), 'FILE_CORRUPT')
  const encrypted = Buffer.from(whole)
  encrypted.writeUInt16LE(encrypted.readUInt16LE(encrypted.indexOf('PK\u0001\u0002') + 8) | 1, encrypted.indexOf('PK\u0001\u0002') + 8)
  await refused(t, encrypted, 'FILE_ENCRYPTED')
  const bad = (cell: string) =>
    writeWorkbook({sheets: [{name: 'One', data: `<row r="1"><c t="str"><v>a</v></c></row><row r="2">${cell}</row>`}]})
  await refused(t, await bad('<c t="s"><v>5</v></c>'), 'FILE_CORRUPT')
  await refused(t, await bad('<c t="q"><v>5</v></c>'), 'FILE_CORRUPT')
  await refused(
    t,
    await writeWorkbook({sheets: [{name: 'One', data: '<row r="2"><c><v>1</v></c></row><row r="1"><c><v>1</v></c></row>'}]}),
    'FILE_CORRUPT',
  )
})

test('a changed byte in the packed data is detected', async t => {
  const rows = [['a', 'b'], ...Array.from({length: 2000}, (_, n) => [`x${(n * 7919) % 1009}`, n])]
  const whole = await writeWorkbook({sheets: [{name: 'One', rows}]})
  const at = whole.indexOf('xl/worksheets/sheet1.xml')
  for (const offset of [2_000, 6_000, 9_000]) {
    const changed = Buffer.from(whole)
    changed[at + offset]! ^= 0x10
    await refused(t, changed, 'FILE_CORRUPT')
  }
})

/** Writes a workbook whose cells all refer to one shared string. */
const sharedOften = (text: string, cells: number) =>
  writeWorkbook({sheets: [{name: 'One', rows: [['a'], ...Array.from({length: cells}, () => [text])]}], shared: true})

test('a shared string counts towards the unpack limit for every cell that names it', async t => {
  const workbook = await sharedOften('x'.repeat(400_000), 12_000)
  t.true(workbook.length < 100_000, `${workbook.length} bytes`)
  const error = await refused(t, workbook, 'WORKBOOK_TOO_LARGE')
  t.like(error.extra, {limit: usual.unpacked})
  t.true((error.extra.unpacked as number) < usual.unpacked + 2_000_000)
  t.is((await read(t, await sharedOften('x'.repeat(400_000), 200))).all.length, 200)
})

test('shared strings are counted in bytes, not in characters', async t => {
  const workbook = await sharedOften('é'.repeat(100_000), 100)
  await refused(t, workbook, 'WORKBOOK_TOO_LARGE', {limits: {unpacked: 15_000_000}})
  t.is((await read(t, workbook, {limits: {unpacked: 30_000_000}})).all.length, 100)
})

/** Returns the longest time in ms for which reading the workbook delayed a timer of 1 ms. */
const longestBlock = async (t: ExecutionContext, workbook: Buffer, cells: number) => {
  let [longest, last] = [0, performance.now()]
  const timer = setInterval(() => {
    longest = Math.max(longest, performance.now() - last)
    last = performance.now()
  }, 1)
  try {
    const file = await openXlsx(await stored(t, workbook), {headerRow: true, range: null}, {...usual, unpacked: 2_000_000_000})
    last = performance.now()
    longest = 0
    let rows = 0
    for await (const chunk of file.rows) rows += chunk.length
    t.is(rows, cells)
  } finally {
    clearInterval(timer)
  }
  return longest
}

test('cells that name a long shared string do not block the event loop', async t => {
  const workbook = await sharedOften('x'.repeat(400_000), 2_000)
  // Other processes may delay a reading, but not the best of three.
  const blocks = []
  for (let reading = 0; reading < 3; reading++) blocks.push(await longestBlock(t, workbook, 2_000))
  t.true(Math.min(...blocks) < 250, `${blocks.map(ms => ms.toFixed(0))} ms`)
})
