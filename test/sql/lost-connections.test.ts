import {once} from 'node:events'
import {type AddressInfo, connect, createServer} from 'node:net'
import test, {type ExecutionContext} from 'ava'
import {createPool} from 'slonik'
import {z} from 'zod'
import {jobs} from '../../shared/jobs.ts'
import {openQueue} from '../../shared/queue.ts'
import {openLog} from '../../shared/telemetry/log.ts'
import {openDatabase, openHot, type Pool, sql} from '../../sql/database.ts'
import {openDriver} from '../../sql/driver.ts'
import {isOutage} from '../../sql/outage.ts'
import {createDatabase} from '../support/database.ts'
import {openProxy} from '../support/tcp-proxy.ts'
import {until} from '../support/until.ts'

/** The database of all tests. AVA fails a file with an uncaught error, so each test also shows that its fault does not end the process. */
let database: Awaited<ReturnType<typeof createDatabase>>
let admin: Pool
test.before(async () => {
  database = await createDatabase('lost connections')
  admin = await openDatabase(database.url, {connections: 2})
})
test.after.always(async () => {
  // Connections that close after the database was dropped would get errors that are no longer handled.
  await until(countBackEnds, count => count <= 1)
  await admin.end()
  await database.drop()
})

const one = sql.type(z.object({one: z.number()}))`select 1 as one`

test.serial('a connection terminated as it is accepted fails only its own query', async t => {
  const glue = await openGlue(t, 3)
  const db = await openDatabase(glue.url, {connections: 1})
  t.teardown(db.end)
  t.is(glue.taken(), 0, 'opening asks Postgres nothing')
  const asked = await Promise.allSettled(Array.from({length: 4}, () => db.oneFirst(one)))
  for (const one of asked) if (one.status === 'rejected') t.true(isOutage(one.reason), String(one.reason?.stack))
  t.is(glue.glued(), 3)
  t.is(await db.oneFirst(one), 1)
})

test.serial(
  'a caller waiting for a connection gets an error or a result when the next connection is terminated as it is accepted',
  async t => {
    const glue = await openGlue(t, 0)
    const db = await openDatabase(glue.url, {connections: 1})
    t.teardown(db.end)
    const holding = Promise.withResolvers<void>()
    const held = db.transaction(async tx => {
      await tx.query(one)
      holding.resolve()
      await new Promise(() => {})
    })
    const ended = t.throwsAsync(held)
    await holding.promise
    const waiting = db.oneFirst(one)
    glue.more(1)
    await endOthers()
    t.true(isOutage(await ended))
    t.is(await waiting.catch(error => (isOutage(error) ? 1 : error)), 1)
    t.is(await db.oneFirst(one), 1)
  },
)

test.serial('connections terminated when idle, in a transaction, in a statement or while listening affect nothing else', async t => {
  const db = await openDatabase(database.url, {connections: 4})
  const hot = openHot(database.url)
  const queue = await openQueue(database.url, jobs.slice(0, 1), {log: openLog('test', 'silent'), upkeep: true})
  t.teardown(() => Promise.all([db.end(), hot.end(), queue.stop({graceful: false})]))
  const between = Promise.withResolvers<void>()
  const inTransaction = db.transaction(async tx => {
    await tx.query(one)
    await between.promise
    await tx.query(one)
  })
  const ends = [inTransaction, db.query(sql.unsafe`select pg_sleep(60)`)].map(one => t.throwsAsync(one))
  await Promise.all([hot.query('select 1'), hot.query('select 1')])
  await until(countBackEnds, count => count >= 5)
  // Started last, because this statement times out after ten seconds.
  ends.push(t.throwsAsync(hot.query('select pg_sleep(60)')))
  await until(countAsleep, count => count === 2)
  await endOthers()
  between.resolve()
  for (const error of await Promise.all(ends)) t.true(isOutage(error), String(error.stack))
  await until(
    () => db.oneFirst(one).catch(() => 0),
    seen => seen === 1,
  )
  t.is((await hot.query('select 1 as one')).rows[0].one, 1)
  t.deepEqual(await until(() => queue.findJobs(jobs[0]!.name, {key: 'nobody'}).catch(() => null), Boolean), [])
})

test.serial('a query without an answer times out, and late data on its connection does no harm', async t => {
  const wire = await openProxy(database.url)
  const db = await createPool(wire.url, {
    driverFactory: openDriver({connectionString: wire.url, connectionTimeoutMillis: 1_000, query_timeout: 500}, {prepares: true}),
    gracefulTerminationTimeout: 50,
    maxPoolSize: 2,
  })
  t.teardown(async () => {
    await wire.close()
    await db.end()
  })
  await Promise.all([db.query(one), db.transaction(tx => tx.query(one))])
  wire.silence()
  const inTransaction = db.transaction(async tx => tx.query(one))
  const errors = await Promise.all([inTransaction, db.query(one)].map(asked => t.throwsAsync(asked)))
  for (const error of errors) t.true(isOutage(error), String(error.stack))
  await endOthers()
  wire.restore()
  await until(
    () => wire.count(),
    count => count === 0,
  )
  t.deepEqual((await db.query(one)).rows, [{one: 1}])
})

test('a server without disk space, memory or free connections is worth retrying', t => {
  for (const code of ['53100', '53200', '53300'])
    t.true(isOutage(new Error('wrapped', {cause: Object.assign(new Error('full'), {code})})), code)
})

const endOthers = () =>
  admin.query(
    sql.unsafe`select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
  )

const countBackEnds = () =>
  admin.oneFirst(
    sql.type(
      z.object({count: z.number()}),
    )`select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
  )

const countAsleep = () =>
  admin.oneFirst(
    sql.type(
      z.object({count: z.number()}),
    )`select count(*) from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`,
  )

/**
 * Starts a proxy that terminates its next `count` connections when Postgres accepts them. The client gets the acceptance and the error in one
 * piece.
 */
const openGlue = async (t: ExecutionContext, count: number) => {
  const {hostname, port} = new URL(database.url)
  let left = count
  let [glued, taken] = [0, 0]
  const server = createServer(client => {
    taken++
    const behind = connect({host: hostname, port: Number(port)})
    client.pipe(behind)
    const isDoomed = left > 0
    if (isDoomed) left--
    let kept = Buffer.alloc(0)
    behind.on('data', async piece => {
      // Passes everything before the message AuthenticationOk unchanged.
      if (!isDoomed || (!kept.length && !piece.includes('R\0\0\0\x08\0\0\0\0'))) return void client.write(piece)
      kept = Buffer.concat([kept, piece])
      // `K` is the message BackendKeyData with the process id, and `Z` is ReadyForQuery.
      const at = kept.indexOf('K\0\0\0\x0c', 0, 'latin1')
      if (at >= 0 && piece.includes('Z\0\0\0\x05I')) await admin.query(sql.unsafe`select pg_terminate_backend(${kept.readInt32BE(at + 5)})`)
    })
    behind.once('end', () => {
      if (isDoomed && kept.includes('57P01')) glued++
      if (isDoomed) client.write(kept)
      client.end()
    })
    for (const [socket, other] of [
      [client, behind],
      [behind, client],
    ] as const)
      socket.on('error', () => {}).once('close', () => other.destroySoon())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const url = new URL(database.url)
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  return {url: url.href, glued: () => glued, taken: () => taken, more: (by: number) => void (left += by)}
}
