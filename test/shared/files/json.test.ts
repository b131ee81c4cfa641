import test from 'ava'
import {isJsonRecords} from '../../../shared/files/assert-table.ts'
import {flattenRecord} from '../../../shared/files/json/flatten.ts'
import {readJsonRecords} from '../../../shared/files/json/json-records.ts'
import {maxRowCharacters} from '../../../shared/files/row.ts'
import {sampleBytes} from '../../../shared/files/text/sniff.ts'

async function* inPieces(text: string, size: number) {
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}
const recordsOf = async (text: string, size = 7) => (await Array.fromAsync(readJsonRecords(inPieces(text, size)))).map(one => one.text)
const cellsOf = (text: string) => Object.fromEntries(flattenRecord({number: 1, text}))

const records = ['{"a":"x, {y} \\" ]","b":[1,{"c":2}]}', '{"ä":"€"}', '{}']

test('an array and lines of objects are cut into the same records, wherever the bytes are cut', async t => {
  for (let size = 1; size < 20; size++) {
    t.deepEqual(await recordsOf(`\ufeff[ ${records.join(' ,\n')} ]\n`, size), records)
    t.deepEqual(await recordsOf(`${records.join('\n')}\n`, size), records)
    t.deepEqual(await recordsOf(records.join('\r\n'), size), records)
  }
})

const refused: [string, string, RegExp][] = [
  ['an array that is cut off', '[{"a":1},{"b"', /ends within record 2/],
  ['an array without an end', '[{"a":1}', /ends within record 1/],
  ['a line that is cut off', '{"a":1}\n{"b":', /ends within record 2/],
  ['an element that is no object', '[{"a":1},2]', /something else than an object after record 1/],
  ['a missing comma', '[{"a":1}{"b":2}]', /after record 1/],
  ['a comma without an element', '[{"a":1},]', /after record 1/],
  ['text after the array', '[{"a":1}] x', /after record 1/],
  ['a record that is too long', `[{"a":"${'x'.repeat(maxRowCharacters)}"}]`, /Record 1 .* more than 1,048,576 characters/],
]
for (const [name, text, message] of refused)
  test(`refused: ${name}`, async t => void (await t.throwsAsync(recordsOf(text, 100_000), {message, code: 'UNREADABLE'})))

test('a file that is not UTF-8 is refused', async t => {
  const bytes = async function* () {
    yield Buffer.from('[{"a":"\u00e4"}]', 'latin1')
  }
  await t.throwsAsync(Array.fromAsync(readJsonRecords(bytes())), {message: /not UTF-8/, code: 'UNREADABLE'})
})

test('objects become dotted columns, lists their JSON text, and numbers keep every character', t => {
  t.deepEqual(cellsOf('{"id":12345678901234567890,"price":1.10,"who":{"name":"Ann","tags":["a","b"],"x":{"y":true}},"none":null}'), {
    id: '12345678901234567890',
    price: '1.10',
    none: '',
    'who.name': 'Ann',
    'who.tags': '["a","b"]',
    'who.x.y': 'true',
  })
})

test('numbers get a decimal comma in a column whose strings have one', t => {
  const record = '{"price":1.234,"big":1.5e3,"text":"1.234","who":{"price":2.5},"list":[1.5]}'
  const flat = (...names: string[]) => Object.fromEntries(flattenRecord({number: 1, text: record}, new Set(names)))
  const usual = {price: '1.234', big: '1.5e3', text: '1.234', 'who.price': '2.5', list: '["1.5"]'}
  t.deepEqual(flat(), usual)
  t.deepEqual(flat('price', 'big', 'text', 'list'), {...usual, price: '1,234'})
  t.deepEqual(flat('who.price'), {...usual, 'who.price': '2,5'})
})

test('two values for one column, invalid JSON and deep nesting are refused with the number of the record', t => {
  t.throws(() => cellsOf('{"a.b":1,"a":{"b":2}}'), {message: /Record 1 .* two values for the column "a.b"/})
  t.throws(() => cellsOf('{"a":nope}'), {message: /Record 1 .* not valid JSON/})
  t.throws(() => cellsOf(`${'{"a":'.repeat(21)}1${'}'.repeat(21)}`), {message: /more than 20 levels/})
})

test('JSON with records is told from other JSON and from tables by its content', t => {
  for (const text of ['[{"id":1}]', ' [ {"a": 1},\n{"a":2}]', '{"id":1}\n{"id":2}\n', '[{"a":1},{"b'])
    t.true(isJsonRecords(Buffer.from(text)), text)
  for (const text of [
    '{"error":"no"}',
    '[1,2]',
    '[]',
    '{"a":1};x\n{"a":2};y\n',
    '[{"a":1}];x\n',
    'id,name\n1,x\n',
    '{\n "rows": [{"a":1}]\n}',
  ])
    t.false(isJsonRecords(Buffer.from(text)), text)
})

test('a first line longer than the sample may be a record, unless it is the beginning of an object of several lines', t => {
  const long = `"a":"${'x'.repeat(sampleBytes)}"}`
  const isRecords = (text: string) => isJsonRecords(Buffer.from(text).subarray(0, sampleBytes))
  t.deepEqual([isRecords(`{${long}`), isRecords(`{\n${long}`), isRecords(`[${long}`)], [true, false, false])
})
