import test from 'ava'
import {arrayLiteral, columnLiteral, mappedLiteral} from '../../sql/array-literal.ts'
import {openLedger} from '../support/running.ts'

let here: Awaited<ReturnType<typeof openLedger>>
test.before(async t => void (here = await openLedger(t.title, {connections: 1})))
test.after.always(() => here?.close())

const texts = [
  '',
  ' ',
  'NULL',
  'a,b',
  '{}',
  '"',
  '\\',
  '\\"',
  'a"b\\c',
  "'",
  'Zoë',
  '🚢',
  'two\nlines',
  '\t',
  null,
  'null',
  '\\x00',
  'imp_1.2',
  'Null',
  'nulls',
  '+1',
  '-',
  '2026-11-29T14:30:00+01:00',
  '[1:1]={a}',
]

test('texts pass through an array literal unchanged, whatever characters they hold', async t => {
  const {rows} = await here.hot.query('select $1::text[] as given', [arrayLiteral(texts)])
  t.deepEqual(rows, [{given: texts}])
})

test('bytes, numbers, booleans and empty lists pass through an array literal unchanged', async t => {
  const bytes = [Buffer.from([0, 34, 92, 255]), null, Buffer.alloc(0)]
  const {rows} = await here.hot.query('select $1::bytea[] as bytes, $2::float8[] as numbers, $3::boolean[] as truth, $4::text[] as none', [
    arrayLiteral(bytes),
    arrayLiteral([0, -1, 2 ** 52, null]),
    arrayLiteral([true, false, null]),
    arrayLiteral([]),
  ])
  t.deepEqual(rows, [{bytes, numbers: [0, -1, 2 ** 52, null], truth: [true, false, null], none: []}])
})

test('a column literal has NULL for rows without the property', t => {
  const rows: {name?: string | null; size: number}[] = [{name: 'a', size: 1}, {size: 2}, {name: null, size: 3}]
  t.is(columnLiteral(rows, 'name'), '{a,NULL,NULL}')
  t.is(columnLiteral(rows, 'size'), '{1,2,3}')
  t.is(
    mappedLiteral(rows, ({name, size}) => (name ? size : null)),
    '{1,NULL,NULL}',
  )
})

test('an array of arrays of texts and bytes passes through unchanged', async t => {
  const bytes = [Buffer.from([0, 34, 92]), null]
  const given = [arrayLiteral(texts), arrayLiteral(bytes)]
  const {rows} = await here.hot.query(
    'select nested[1]::text[] as texts, nested[2]::bytea[] as bytes from (select $1::text[] as nested) g',
    [arrayLiteral(given)],
  )
  t.deepEqual(rows, [{texts, bytes}])
})
