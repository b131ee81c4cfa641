import {execFile} from 'node:child_process'
import {randomBytes} from 'node:crypto'
import {type AddressInfo, createServer} from 'node:net'
import {promisify} from 'node:util'
import anyTest, {type TestFn} from 'ava'
import pg from 'pg'
import {databaseUrlOf, readConfig} from '../../../../shared/config.ts'
import {FileSource, fetchSource, type SourceFailure} from '../../../../shared/schedules/fetch/main.ts'
import {makeCertificate} from '../../../simulators/certificate.ts'
import {startPostgresTls} from '../../../simulators/postgres-tls.ts'
import {until} from '../../../support/until.ts'
import {openDoor} from './fetch-fixture.ts'

const test = anyTest as TestFn
const cluster = new URL(databaseUrlOf(readConfig()))
const port = Number(cluster.port)
const name = `shop_${randomBytes(6).toString('hex')}`
const password = "a'b: c%40"
const place = `db.example:${port}`
let shop: pg.Client

test.before(async () => {
  const admin = new pg.Client(cluster.href)
  await admin.connect()
  await admin.query(`create database ${name}`)
  await admin.query(`create role ${name} login password '${password.replaceAll("'", "''")}'`)
  await admin.end()
  shop = new pg.Client(Object.assign(new URL(cluster), {pathname: `/${name}`}).href)
  await shop.connect()
  await shop.query(`create table orders (id bigint, customer text, total numeric, at timestamptz);
    insert into orders values (9007199254740993, 'Ada "the first", Ltd', 0.10, '2026-11-28 17:05:00.25+01'), (2, null, 1e20, null), (3, '', -1.50, 'infinity');
    grant select on orders to ${name}; create table secrets (word text)`)
})

test.after.always(async () => {
  await shop.query(`drop table orders; drop table secrets`)
  await shop.end()
  const admin = new pg.Client(cluster.href)
  await admin.connect()
  await admin.query(`drop database ${name} with (force)`)
  await admin.query(`drop role ${name}`)
  await admin.end()
})

const given = {kind: 'postgres', host: 'db.example', port, database: name, user: name, password, tls: false}
const source = (query: string, more: object = {}) => FileSource.parse({...given, query, ...more})

test('a query becomes a CSV file whose values are exact', async t => {
  const {fetch} = openDoor(t, {privateHosts: place})
  const orders = await fetch(source('select * from orders order by id desc; -- newest first'))
  t.is(orders.name, `${name}.csv`)
  t.is(
    String(orders.content),
    `"id","customer","total","at"\n"9007199254740993","Ada ""the first"", Ltd","0.10","2026-11-28T16:05:00.25Z"\n` +
      `"3","","-1.50","infinity"\n"2",,"100000000000000000000",\n`,
  )
  const values = `select true as b, null::text as n, date '2026-02-28' as d, timestamp '2026-02-28 09:00:00' as ts, time '10:30' as t,
    interval '1 day 2 hours' as i, 0.1::float8 + 0.2::float8 as f, 'NaN'::numeric as nan, '{"a": [1, 2.50]}'::json as j,
    '{"b": null}'::jsonb as jb, array[[1, 2], [3, null]] as ints, array['a,b', 'c"d', null, 'null'] as texts,
    array[true, false] as bools, array['{"k": 1}'::json] as jsons, array[timestamptz '2026-01-01 00:00+00'] as times,
    array['NaN'::float8, 1.5] as floats, '\\x01ff'::bytea as bytes, array[box '(1,1),(0,0)'] as boxes, '{}'::text[] as empty, 'ü→😀' as u`
  t.is(
    String((await fetch(source(values))).content).split('\n')[1],
    `"true",,"2026-02-28","2026-02-28T09:00:00","10:30:00","P1DT2H","0.30000000000000004","NaN","{""a"": [1, 2.50]}","{""b"": null}",` +
      `"[[1,2],[3,null]]","[""a,b"",""c\\""d"",null,""null""]","[true,false]","[{""k"": 1}]","[""2026-01-01T00:00:00Z""]",` +
      `"[""NaN"",1.5]","\\x01ff","{(1,1),(0,0)}","[]","ü→😀"`,
  )
})

test('a result without rows has a header, and a row of one NULL stays a row', async t => {
  const {fetch} = openDoor(t, {privateHosts: place})
  t.is(String((await fetch(source('select id from orders where false'))).content), '"id"\n')
  t.is(String((await fetch(source('values (null), (1)'))).content), '"column1"\n""\n"1"\n')
})

test('a large result arrives whole, in pieces, and within the limits on rows and bytes', async t => {
  const {fetch, failure, outbound} = openDoor(t, {privateHosts: place})
  const numbers = source(`select n, repeat('x', 200) as filler from generate_series(1, 100000) n`)
  const {stream} = await fetchSource(outbound, numbers, {limitBytes: 100_000_000})
  let [pieces, largest, rows] = [0, 0, 0]
  for await (const piece of stream) {
    pieces++
    largest = Math.max(largest, piece.length)
    rows += String(piece).split('\n').length - 1
  }
  t.is(rows, 100_001)
  t.true(pieces > 100 && largest < 1_000_000, `${pieces} pieces, the largest with ${largest} bytes`)
  t.like(await failure(numbers, {limitBytes: 1_000_000}), {code: 'TOO_LARGE'})
  t.like(await failure(numbers, {mostRows: 99_999}), {code: 'TOO_MANY_ROWS', message: 'The query returns more than 99999 rows. Narrow it'})
  t.is((await fetch(numbers, {mostRows: 100_000})).content.length > 20_000_000, true)
  t.like(await failure(source(`select repeat('x', 70000000) as a`)), {code: 'TOO_LARGE'})
})

test('only one statement runs, and it can only read', async t => {
  const {failure} = openDoor(t, {privateHosts: place})
  const refused: [query: string, code: SourceFailure['code'], says: RegExp][] = [
    ['select 1; select 2', 'QUERY_FAILED', /multiple commands/],
    ['select 1; drop table orders', 'QUERY_FAILED', /multiple commands/],
    ['delete from orders', 'QUERY_FAILED', /syntax error at or near "delete"/],
    ['with gone as (delete from orders returning *) select * from gone', 'QUERY_FAILED', /changes data|data-modifying/],
    [`select set_config('transaction_read_only', 'off', true)`, 'QUERY_FAILED', /25001/],
    ['select id from orders for update', 'QUERY_FAILED', /changes data/],
    ['selec 1', 'QUERY_FAILED', /syntax error at or near "selec"/],
    ['select nothing from orders', 'QUERY_FAILED', /column "nothing" does not exist/],
    ['select $1', 'QUERY_FAILED', /./],
    ['select * from secrets', 'SIGN_IN_REFUSED', /permission denied for table secrets/],
    ['select 1 / 0', 'QUERY_FAILED', /22012/],
  ]
  for (const [query, code, says] of refused) {
    const failed = await failure(source(query))
    t.is(failed?.code, code, `${query}: ${failed?.message}`)
    t.regex(failed!.message, says)
  }
  await shop.query(`create or replace function add_order() returns int language sql as $$ insert into orders values (99); select 1 $$`)
  await shop.query(`grant all on orders to ${name}`)
  t.deepEqual(await failure(source('select add_order()')), {
    code: 'QUERY_FAILED',
    message: 'The query changes data. Enter a query that only reads',
  })
  t.is((await shop.query('select from orders')).rowCount, 3)
})

const queryProgram = `
  import {once} from 'node:events'
  import {connect} from 'node:net'
  import {openQuery} from '${new URL('../../../../sql/query-cursor.ts', import.meta.url)}'
  const {port, ...input} = JSON.parse(process.argv[1])
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  const {batches, end} = await openQuery({...input, socket, tls: null, statementSeconds: 10})
  for await (const batch of batches) console.log(...batch.flat())
  await end()`

test('the PostgreSQL variables of the process have no effect on the connection', async t => {
  const query = `select current_setting('search_path'), current_setting('application_name')`
  const input = JSON.stringify({...given, query})
  const ours = {
    PGOPTIONS: '-c search_path=pg_catalog',
    PGREPLICATION: 'database',
    PGAPPNAME: 'other',
    PGSSLMODE: 'require',
    PGUSER: 'other',
  }
  const {stdout} = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', queryProgram, input], {
    env: {...process.env, ...ours},
  })
  t.is(stdout, '"$user", public lading\n')
})

test('an error of the database never shows a value of a row or the password', async t => {
  const {failure} = openDoor(t, {privateHosts: place})
  const cast = await failure(source('select customer::int from orders'))
  t.deepEqual(cast, {code: 'QUERY_FAILED', message: 'The database refused the query (22P02)'})
  const wrong = await failure(source('select 1', {password: 'the-wrong-one'}))
  t.is(wrong?.code, 'SIGN_IN_REFUSED')
  t.notRegex(wrong!.message, /the-wrong-one/)
  t.like(await failure(source('select 1', {database: 'no_such_shop'})), {code: 'NOT_FOUND'})
})

test('a query that takes too long ends here and at the database, and so does one whose caller stops', async t => {
  const {failure} = openDoor(t, {privateHosts: place})
  const slow = await failure(source('select pg_sleep(60)'), {timeoutSeconds: 1})
  t.is(slow?.code, 'TIMED_OUT')
  const stop = new AbortController()
  const stopped = failure(source(`select pg_sleep(3), 'stopped'`), {signal: stop.signal})
  const running = () =>
    shop.query(`select from pg_stat_activity where datname = $1 and query like '%lading_rows%' and pid <> pg_backend_pid()`, [name])
  await until(running, ({rowCount}) => rowCount! > 0)
  stop.abort(new Error('the worker stops'))
  await t.throwsAsync(stopped, {message: 'the worker stops'})
  await until(running, ({rowCount}) => rowCount === 0)
})

test('a reader that stops early ends the transaction at the database', async t => {
  const {outbound} = openDoor(t, {privateHosts: place})
  const {stream} = await fetchSource(outbound, source('select * from generate_series(1, 1000000) as early'), {limitBytes: 100_000_000})
  for await (const piece of stream) {
    t.true(piece.length > 0)
    break
  }
  const open = () =>
    shop.query(`select from pg_stat_activity where datname = $1 and query like '%early%' and pid <> pg_backend_pid()`, [name])
  await until(open, ({rowCount}) => rowCount === 0)
})

test('the connection is encrypted, the certificate is verified, and only listed hosts may go without', async t => {
  const certificate = makeCertificate(['db.example'])
  const proxy = await startPostgresTls(port, certificate)
  t.teardown(proxy.stop)
  const secured = {port: proxy.port, tls: true, ca: certificate.cert}
  const {fetch, failure} = openDoor(t, {privateHosts: `db.example:${proxy.port},other.example:${proxy.port},${place}`})
  t.is(String((await fetch(source('select 1 as one', secured))).content), '"one"\n"1"\n')
  t.like(await failure(source('select 1', {...secured, ca: undefined})), {code: 'UNREACHABLE'})
  t.like(await failure(source('select 1', {...secured, host: 'other.example'})), {code: 'UNREACHABLE'})
  t.regex((await failure(source('select 1', {...secured, host: 'other.example'})))!.message, /could not be verified/)
  t.like(await failure(source('select 1', {tls: true})), {code: 'BAD_ANSWER'})
  const strangers = openDoor(t, {})
  t.like(await strangers.failure(source('select 1')), {code: 'HOST_REFUSED'})
  t.like(await strangers.failure(source('select 1', {tls: true})), {code: 'ADDRESS_REFUSED'})
  const others = openDoor(t, {privateHosts: place, sourceHosts: 'files.example'})
  t.like(await others.failure(source('select 1')), {code: 'HOST_REFUSED'})
})

test('a server that is no database, or is not there, fails with its own code', async t => {
  const server = createServer(socket =>
    socket
      .on('error', () => {})
      .resume()
      .end('HTTP/1.1 400 Bad Request\r\n\r\n'),
  )
  await new Promise<void>(done => void server.listen(0, '127.0.0.1', done))
  const {port: other} = server.address() as AddressInfo
  const {failure} = openDoor(t, {privateHosts: `db.example:${other}`})
  for (const tls of [true, false]) {
    const failed = await failure(source('select 1', {port: other, tls}))
    t.true(['BAD_ANSWER', 'UNREACHABLE', 'TIMED_OUT'].includes(failed!.code), JSON.stringify(failed))
  }
  await new Promise(done => server.close(done))
  t.like(await failure(source('select 1', {port: other})), {code: 'UNREACHABLE'})
})

test('a malformed answer fails, and does not end the process', async t => {
  // The answer announces 16,384 columns, but ends within the first name.
  const server = createServer(socket =>
    socket.on('error', () => {}).once('data', () => socket.write(Buffer.from([0x54, 0, 0, 0, 8, 0x40, 0, 0x41, 0]))),
  )
  await new Promise<void>(done => void server.listen(0, '127.0.0.1', done))
  t.teardown(() => server.close())
  const {port: other} = server.address() as AddressInfo
  const {failure} = openDoor(t, {privateHosts: `db.example:${other}`})
  t.deepEqual(await failure(source('select 1', {port: other})), {
    code: 'BAD_ANSWER',
    message: 'db.example does not answer as a PostgreSQL server does. Check host and port',
  })
})
