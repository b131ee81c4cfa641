import test, {type ExecutionContext} from 'ava'
import {Refusal} from '../../shared/errors.ts'
import {openXlsx} from '../../shared/files/xlsx/xlsx-file.ts'
import {read, refused, stored, usual} from '../shared/files/workbooks.ts'
import {partsOf, writeWorkbook, zip} from '../support/workbook.ts'

/** The parts of a small valid workbook. `test/shared/files/xlsx-refused.test.ts` tests workbooks that declare a large or a false size. */
const parts = partsOf({sheets: [{name: 'One', rows: [['a'], [1], [2]]}]})
const sheet = 'xl/worksheets/sheet1.xml'

/** Returns the memory growth of the process during `run`, in MB. */
const heldBy = async (run: () => Promise<unknown>) => {
  const before = process.memoryUsage().rss
  await run()
  return (process.memoryUsage().rss - before) / 1024 ** 2
}

const u16 = (value: number) => [value & 255, value >> 8]
const u32 = (value: number) => [...u16(value & 0xffff), ...u16(value >>> 16)]

/** Returns an archive of central directory entries without contents: 46 bytes and a name each. */
const manyEntries = (count: number) => {
  const entries = Array.from({length: count}, (_, at) => {
    const name = Buffer.from(`e${at}`)
    return Buffer.concat([Buffer.from([...u32(0x02014b50), ...Array(24).fill(0), ...u16(name.length), ...Array(16).fill(0)]), name])
  })
  const directory = Buffer.concat(entries)
  const start = directory.length
  const zip64 = [...u32(0x06064b50), ...u32(44), ...u32(0), ...u16(45), ...u16(45), ...u32(0), ...u32(0)]
  const counts = [...u32(count), ...u32(0), ...u32(count), ...u32(0), ...u32(directory.length), ...u32(0), ...u32(0), ...u32(0)]
  const locator = [...u32(0x07064b50), ...u32(0), ...u32(start), ...u32(0), ...u32(1)]
  const end = [
    ...u32(0x06054b50),
    ...u16(0),
    ...u16(0),
    ...u16(0xffff),
    ...u16(0xffff),
    ...u32(directory.length),
    ...u32(0xffffffff),
    ...u16(0),
  ]
  return Buffer.concat([directory, Buffer.from([...zip64, ...counts, ...locator, ...end])])
}

test.serial('a workbook with a hundred thousand entries is refused for their number', async t => {
  t.regex((await refused(t, manyEntries(100_000), 'FILE_CORRUPT')).message, /100000 parts/)
})

/** Returns a workbook with `count` entries that share the compressed bytes of one entry. Each entry unpacks these bytes again. */
const overlapping = async (count: number) => {
  const names = Array.from({length: count}, (_, at) => `xl/media/${at}.bin`)
  const whole = await zip({...parts, ...Object.fromEntries(names.map(name => [name, Buffer.alloc(at(name) === 0 ? 1_000_000 : 10)]))})
  const headers = centralOf(whole)
  const first = headers.find(({name}) => name === names[0])!
  for (const {name, start} of headers) if (names.includes(name)) whole.copy(whole, start + 16, first.start + 16, first.start + 28)
  for (const {name, start} of headers) if (names.includes(name)) whole.writeUInt32LE(whole.readUInt32LE(first.start + 42), start + 42)
  return whole
}
const at = (name: string) => Number(/(\d+)\.bin$/.exec(name)?.[1] ?? 0)

const centralOf = (file: Buffer) => {
  const found: {name: string; start: number}[] = []
  for (let start = file.indexOf('PK\u0001\u0002'); start >= 0; start = file.indexOf('PK\u0001\u0002', start + 4))
    found.push({name: file.toString('latin1', start + 46, start + 46 + file.readUInt16LE(start + 28)), start})
  return found
}

test.serial('overlapping entries each count with their full unpacked size', async t => {
  const workbook = await overlapping(40)
  t.true(workbook.length < 100_000)
  t.like((await refused(t, workbook, 'WORKBOOK_TOO_LARGE', {limits: {unpacked: 20_000_000}})).extra, {limit: 20_000_000})
})

test.serial('archives inside a workbook are not unpacked', async t => {
  const inner = await zip({'bomb.bin': Buffer.alloc(50_000_000)})
  const {all} = await read(t, await zip({...parts, 'xl/media/inner.zip': inner, 'xl/embeddings/book.xlsx': await zip(parts)}))
  t.is(all.length, 2)
})

test.serial('entry names that are paths write no file, and their entries are ignored', async t => {
  const hostile = ['../../../tmp/x', '/etc/passwd', 'C:\\x', 'xl/../../x', 'xl/worksheets/../../../x']
  for (const name of hostile) {
    // The zip library refuses such names. So the test writes the archive with other names of the same length, and overwrites these.
    const written = name.replaceAll(/[^\w]/g, '_')
    const whole = await zip({...parts, [written]: 'x'})
    patch(whole, written, name)
    const outcome = await read(t, whole).then(
      ({all}) => all.length,
      error => (error as Refusal).code,
    )
    t.true(outcome === 2 || outcome === 'FILE_CORRUPT', `${name}: ${outcome}`)
  }
})

const patch = (file: Buffer, from: string, to: string) => {
  for (let start = file.indexOf(from); start >= 0; start = file.indexOf(from, start + 1)) file.write(to, start)
}

const withEntities = (dtd: string, use: string) =>
  zip({
    ...parts,
    [sheet]: `<?xml version="1.0"?>${dtd}${parts[sheet]!.replace(/^<\?xml.*?\?>\s*/, '').replace('<v>1</v>', `<v>${use}</v>`)}`,
  })

/** Declarations of the billion laughs: nine levels of entities, each with ten references to the level before. */
const laughs = Array.from({length: 9}, (_, n) => `<!ENTITY l${n + 1} "${`&l${n};`.repeat(10)}">`).join('')
const entities: [string, string, string][] = [
  ['a billion laughs', `<!DOCTYPE x [<!ENTITY l0 "lol">${laughs}]>`, '&l9;'],
  ['one long text used often', `<!DOCTYPE x [<!ENTITY a "${'a'.repeat(100_000)}">]>`, '&a;'.repeat(10_000)],
  ['read from a file', '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>', '&a;'],
  ['read from a URL', '<!DOCTYPE x [<!ENTITY a SYSTEM "http://127.0.0.1:9/">]>', '&a;'],
  ['parameters', '<!DOCTYPE x [<!ENTITY % a SYSTEM "http://127.0.0.1:9/"> %a;]>', '1'],
]

for (const [what, dtd, use] of entities)
  test.serial(`entities that are ${what} are not expanded`, async t => {
    let seen = ''
    const held = await heldBy(async () => {
      seen = await read(t, await withEntities(dtd, use)).then(
        ({cells}) => JSON.stringify(cells),
        error => (error instanceof Refusal ? error.code : String(error)),
      )
    })
    t.true(seen === 'FILE_CORRUPT' || seen === '[["1"],["2"]]', seen.slice(0, 200))
    t.true(held < 500, `${held.toFixed(0)} MB`)
  })

const bombOf = async (t: ExecutionContext, items: string[], cells: number) => {
  const data = Array.from({length: cells}, (_, n) => `<row r="${n + 1}"><c t="s"><v>0</v></c></row>`).join('')
  return read(t, await writeWorkbook({sheets: [{name: 'One', data}], items}), {limits: {strings: 1_000_000}})
}

test.serial('a long shared string in many cells is read in chunks of a few rows', async t => {
  const long = 300_000
  const data = Array.from({length: 300}, (_, n) => `<row r="${n + 1}"><c t="${n ? 's' : 'str'}"><v>${n ? 0 : 'head'}</v></c></row>`).join(
    '',
  )
  const object = await stored(t, await writeWorkbook({sheets: [{name: 'One', data}], items: [`<t>${'x'.repeat(long)}</t>`]}))
  const {rows} = await openXlsx(object, {headerRow: true, range: null}, usual)
  let [count, most] = [0, 0]
  for await (const chunk of rows) {
    count += chunk.length
    most = Math.max(
      most,
      chunk.reduce((sum, {cells}) => sum + cells[0]!.length, 0),
    )
  }
  t.is(count, 299)
  t.true(most <= 5 * 1024 ** 2, `${most} characters at once`)
})

test.serial('shared strings are refused beyond a number of characters, and many small ones are kept on disk', async t => {
  const long = await t.throwsAsync(bombOf(t, [`<t>${'x'.repeat(6_000_000)}</t>`], 3), {instanceOf: Refusal})
  t.is(long!.code, 'UNREADABLE')
  const held = await heldBy(async () => t.is((await bombOf(t, Array(200_000).fill('<t>some words of a table</t>'), 2)).all.length, 1))
  t.true(held < 500, `${held.toFixed(0)} MB`)
})
