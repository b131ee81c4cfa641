import anyTest, {type ExecutionContext, type TestFn} from 'ava'
import {FileSource, fetchSource, type SourceFailure} from '../../../../shared/schedules/fetch/main.ts'
import {makeCertificate} from '../../../simulators/certificate.ts'
import {type MysqlAnswer, type MysqlColumn, startMysql} from '../../../simulators/mysql.ts'
import {until} from '../../../support/until.ts'
import {openDoor} from './fetch-fixture.ts'

const test = anyTest as TestFn
const password = "a'b: c%40"
const given = {kind: 'mysql', host: 'db.example', database: 'shop', user: 'reader', password, tls: false}
const [utf8, binary] = [45, 63]

const open = async (t: ExecutionContext, answer: (sql: string) => MysqlAnswer | Promise<MysqlAnswer>, options: object = {}) => {
  const server = await startMysql({user: 'reader', password, database: 'shop', answer, ...options})
  t.teardown(server.stop)
  const {port} = server
  const door = openDoor(t, {privateHosts: `db.example:${port},other.example:${port}`})
  return {server, ...door, source: (query: string, more: object = {}) => FileSource.parse({...given, port, query, ...more})}
}

/** Columns as MariaDB 10.11 described them, through mysql2 without conversion. `row` is the row that it returned. */
const columns: MysqlColumn[] = [
  ['b', 3, binary],
  ['n', 6, binary],
  ['d', 10, binary],
  ['ts', 12, binary],
  ['at', 7, binary],
  ['zero', 12, binary],
  ['t', 11, binary],
  ['f', 5, binary],
  ['de', 246, binary],
  ['big', 8, binary],
  ['bin', 253, binary],
  ['note', 252, binary],
  ['j', 253, utf8],
  ['json', 245, binary],
  ['u', 253, utf8],
  ['p', 255, binary],
  ['bit', 16, binary],
]
const row = [
  '1',
  null,
  '2026-02-28',
  '2026-02-28 09:00:00.25',
  '2026-11-28 16:05:00',
  '0000-00-00 00:00:00',
  '10:30:00',
  '0.30000000000000004',
  '1.5000',
  '18446744073709551615',
  Buffer.from([1, 255]),
  '',
  '{"a": 1, "b": null}',
  '{"ü": 2.50}',
  'Ada "the first", Ltd →😀',
  Buffer.from([0, 1]),
  Buffer.from([5]),
]

test('a query becomes a CSV file whose values are exact', async t => {
  const {server, fetch, source} = await open(t, () => ({columns, rows: [row, columns.map(() => null)]}))
  const {name, content} = await fetch(source('/*My orders*/ -- every type\nselect * from orders'), {timeoutSeconds: 90})
  t.is(name, 'shop.csv')
  const [head, first, second, end] = String(content).split('\n')
  t.is(head, columns.map(([name]) => `"${name}"`).join())
  t.is(
    first,
    `"1",,"2026-02-28","2026-02-28T09:00:00.25","2026-11-28T16:05:00Z","0000-00-00 00:00:00","10:30:00","0.30000000000000004","1.5000",` +
      `"18446744073709551615","0x01ff","0x","{""a"": 1, ""b"": null}","{""ü"": 2.50}","Ada ""the first"", Ltd →😀","0x0001","5"`,
  )
  t.deepEqual([second, end], [','.repeat(16), ''])
  t.deepEqual(server.statements, [
    'set names utf8mb4',
    `set time_zone = '+00:00'`,
    'set net_write_timeout = 600',
    'select version()',
    'set max_execution_time = 90000',
    'set session transaction read only',
    'start transaction read only',
    '/*My orders*/ -- every type\nselect * from orders',
  ])
  await until(server.connections, open => open === 0)
})

test('a comment without text does not hide the line after it', async t => {
  const {fetch, failure, source} = await open(t, () => ({columns: [['a', 8, binary]], rows: []}))
  for (const query of ['--\nselect a\nfrom t', '-- \r\n--\r\nselect a', '--\tnote\n#\nselect a'])
    t.is(String((await fetch(source(query))).content), '"a"\n', query)
  t.like(await failure(source('--\ncall p((\nselect 1))')), {code: 'QUERY_FAILED'})
})

test('MariaDB limits the time by its own setting', async t => {
  const {server, fetch, source} = await open(t, () => ({columns: [['id', 8, binary]], rows: []}), {version: '10.11.19-MariaDB'})
  t.is(String((await fetch(source('select id from orders'), {timeoutSeconds: 90})).content), '"id"\n')
  t.true(server.statements.includes('set max_statement_time = 90'))
})

test('only a statement that returns rows is sent, and the server refuses changes', async t => {
  const answers: Record<string, MysqlAnswer> = {
    'select add_order()': {error: [1792, '25006', 'Cannot execute statement in a READ ONLY transaction']},
    'select 1; select 2': {error: [1064, '42000', `You have an error in your SQL syntax near 'select 2' at line 1`]},
    'select nothing from orders': {error: [1054, '42S22', `Unknown column 'nothing' in 'SELECT'`]},
    'select * from secrets': {error: [1142, '42000', `SELECT command denied to user 'reader'@'localhost' for table \`secrets\``]},
    'select cast(customer as date) from orders': {error: [1292, '22007', `Incorrect datetime value: 'Ada Lovelace'`]},
    'select slow()': {error: [3024, 'HY000', 'Query execution was interrupted, maximum statement execution time exceeded']},
    'select many()': {error: [1040, '08004', 'Too many connections']},
    'select 1 into @a': 'ok',
  }
  const {server, failure, source} = await open(t, sql => answers[sql]!)
  const refused: [query: string, code: SourceFailure['code'], says: RegExp][] = [
    ['select add_order()', 'QUERY_FAILED', /^The query changes data/],
    ['select 1; select 2', 'QUERY_FAILED', /near 'select 2'/],
    ['select nothing from orders', 'QUERY_FAILED', /Unknown column 'nothing'/],
    ['select * from secrets', 'SIGN_IN_REFUSED', /command denied/],
    ['select cast(customer as date) from orders', 'QUERY_FAILED', /^The database refused the query \(1292\)$/],
    ['select slow()', 'TIMED_OUT', /Narrow the query/],
    ['select many()', 'UNREACHABLE', /at the moment \(1040\)/],
    ['select 1 into @a', 'QUERY_FAILED', /not a statement that returns rows/],
  ]
  for (const [query, code, says] of refused) {
    const failed = await failure(source(query))
    t.is(failed?.code, code, `${query}: ${failed?.message}`)
    t.regex(failed!.message, says)
  }
  for (const query of [
    'delete from orders',
    'call drop_it()',
    'drop table orders',
    '/*!50000 delete */ from orders',
    '/*M! delete */ from a',
    'commit',
  ])
    t.deepEqual(await failure(source(query)), {
      code: 'QUERY_FAILED',
      message: 'The query is not a statement that returns rows. Enter one SELECT statement',
    })
  t.deepEqual(
    server.statements.filter(sql => !/^(set|start)|version/.test(sql)),
    refused.map(([query]) => query),
  )
})

test('a wrong password and an unknown database have their own codes', async t => {
  const {failure, source} = await open(t, () => 'ok')
  const wrong = await failure(source('select 1', {password: 'the-wrong-one'}))
  t.deepEqual(wrong, {code: 'SIGN_IN_REFUSED', message: 'db.example refused the user, the password or this connection (1045)'})
  t.deepEqual(await failure(source('select 1', {database: 'nope'})), {code: 'NOT_FOUND', message: 'db.example has no database nope'})
})

test('a large result arrives whole, in pieces, and within the limits on rows and bytes', async t => {
  const rows = Array.from({length: 20_000}, (_, n) => [`${n}`, 'x'.repeat(1_000)])
  const {failure, outbound, source} = await open(t, () => ({
    columns: [
      ['n', 8, binary],
      ['filler', 253, utf8],
    ],
    rows,
  }))
  const {stream} = await fetchSource(outbound, source('select * from numbers'), {limitBytes: 100_000_000})
  let [text, largest] = ['', 0]
  for await (const piece of stream) {
    largest = Math.max(largest, piece.length)
    text += String(piece)
  }
  t.deepEqual(
    text.match(/^"\d+"/gm),
    rows.map(([n]) => `"${n}"`),
  )
  t.true(largest < 2_000_000, `${largest} bytes at once`)
  t.like(await failure(source('select * from numbers'), {limitBytes: 1_000_000}), {code: 'TOO_LARGE'})
  t.like(await failure(source('select * from numbers'), {mostRows: 19_999}), {code: 'TOO_MANY_ROWS'})
})

test('an answer that does not fit in memory is refused', async t => {
  const piece = Buffer.alloc(16_777_215, 120)
  const endless = Buffer.concat(Array.from({length: 5}, (_, no) => Buffer.concat([Buffer.from([255, 255, 255, no + 1]), piece])))
  const {failure, source} = await open(t, () => ({raw: endless}))
  t.like(await failure(source('select huge from orders')), {code: 'TOO_LARGE'})
})

test('a connection that is lost before or within the rows fails, also while the reader is slow', async t => {
  const {server, failure, source} = await open(t, () => ({raw: Buffer.alloc(0)}))
  const waiting = failure(source('select 1'))
  await until(() => server.statements.includes('select 1'), Boolean)
  await server.stop()
  t.deepEqual(await waiting, {code: 'UNREACHABLE', message: 'The connection to db.example was lost. Check the server, then test again'})
  const half = await open(t, () => ({columns: [['n', 8, binary]], rows: numbersUpTo(Number.POSITIVE_INFINITY)}))
  const {stream} = await fetchSource(half.outbound, half.source('select n'), {limitBytes: 100_000_000})
  const pieces = stream[Symbol.asyncIterator]()
  await pieces.next()
  await half.server.stop()
  const error = await t.throwsAsync(async () => {
    while (!(await pieces.next()).done);
  })
  t.like(error, {name: 'SourceFailure', code: 'UNREACHABLE'})
})

test('a reader that stops early, and a caller that stops, end the connection', async t => {
  const {server, failure, outbound, source} = await open(t, sql =>
    sql === 'select never' ? {raw: Buffer.alloc(0)} : {columns: [['n', 8, binary]], rows: numbersUpTo(Number.POSITIVE_INFINITY)},
  )
  const {stream} = await fetchSource(outbound, source('select n'), {limitBytes: 100_000_000})
  for await (const piece of stream) {
    t.true(piece.length > 0)
    break
  }
  await until(server.connections, open => open === 0)
  const stop = new AbortController()
  const stopped = failure(source('select never'), {signal: stop.signal})
  await until(() => server.statements.includes('select never'), Boolean)
  stop.abort(new Error('the worker stops'))
  await t.throwsAsync(stopped, {message: 'the worker stops'})
  await until(server.connections, open => open === 0)
  t.like(await failure(source('select never'), {timeoutSeconds: 1}), {code: 'TIMED_OUT'})
})

function* numbersUpTo(end: number) {
  for (let n = 1; n <= end; n++) yield [`${n}`]
}

test('the connection is encrypted, and the certificate is verified', async t => {
  const certificate = makeCertificate(['db.example'])
  const one = {columns: [['one', 8, binary]] as MysqlColumn[], rows: [['1']]}
  const {fetch, failure, source} = await open(t, () => one, {tls: certificate})
  const secured = {tls: true, ca: certificate.cert}
  t.is(String((await fetch(source('select 1 as one', secured))).content), '"one"\n"1"\n')
  for (const change of [{ca: undefined}, {host: 'other.example'}]) {
    const failed = await failure(source('select 1', {...secured, ...change}))
    t.is(failed?.code, 'UNREACHABLE')
    t.regex(failed!.message, /could not be verified/)
  }
  const plain = await open(t, () => one)
  t.like(await plain.failure(plain.source('select 1', {tls: true})), {code: 'BAD_ANSWER'})
  const strangers = openDoor(t, {})
  t.like(await strangers.failure(source('select 1')), {code: 'HOST_REFUSED'})
  t.like(await strangers.failure(source('select 1', {tls: true})), {code: 'ADDRESS_REFUSED'})
})

test('a malformed answer fails, and does not end the process', async t => {
  const resultOf = (...packets: number[][]) =>
    Buffer.concat(packets.map((bytes, at) => Buffer.from([bytes.length, 0, 0, at + 1, ...bytes])))
  const malformed = [
    resultOf([1], [3, 100, 101]),
    resultOf([1], [255, 255, 255, 255]),
    resultOf([0xff]),
    resultOf([0xfe, 1]),
    resultOf([250], [0xfe, 255, 255, 255, 255, 255, 255, 255, 255]),
  ]
  const {failure, source} = await open(t, sql => ({raw: malformed[Number(sql.slice(7))]!}))
  const codes = []
  for (const no of malformed.keys()) codes.push((await failure(source(`select ${no}`), {timeoutSeconds: 60}))?.code)
  t.deepEqual(codes, ['UNREACHABLE', 'QUERY_FAILED', 'UNREACHABLE', 'UNREACHABLE', 'UNREACHABLE'])
})
