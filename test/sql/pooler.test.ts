import test from 'ava'
import {z} from 'zod'
import {directUrlOf, readConfig} from '../../shared/config.ts'
import {openDatabase, openHot, prepare, sql} from '../../sql/database.ts'
import {checkDatabase, readTimeouts} from '../../sql/health.ts'
import {openReleaser} from '../../sql/migrate.ts'
import {createDatabase, type Database} from '../support/database.ts'

let database: Database
let pooled: string

test.before(async () => {
  database = await createDatabase('pooler')
  pooled = `${database.url}?pooler=transaction`
})

test.after.always(() => database?.drop())

const countPrepared = prepare<{count: number}>(
  'count-prepared',
  "select count(*)::int as count from pg_prepared_statements where name <> ''",
)

const readPrepared = async (url: string) => {
  const hot = openHot(url, {connections: 1})
  try {
    await checkDatabase(hot, [])
    const [{count} = {count: -1}] = await countPrepared(hot, [])
    const [timeouts] = await readTimeouts(hot, [])
    return {count, timeouts}
  } finally {
    await hot.end()
  }
}

test('behind a pooler no statement is prepared under a name, and a connection sends no settings', async t => {
  t.deepEqual(await readPrepared(database.url), {count: 2, timeouts: {statement: '10s', transaction: '0'}})
  t.deepEqual(await readPrepared(pooled), {count: 0, timeouts: {statement: '0', transaction: '0'}})
  for (const [url, statement] of [
    [database.url, '30s'],
    [pooled, '0'],
  ] as const) {
    const db = await openDatabase(url, {connections: 1})
    t.is(await db.oneFirst(sql.type(z.object({at: z.string()}))`select current_setting('statement_timeout') as at`), statement)
    await db.end()
  }
})

test('a release uses the direct address, without the timeouts of the role, and is refused without that address', async t => {
  t.is(directUrlOf({DATABASE_URL: pooled, DATABASE_DIRECT_URL: database.url}), database.url)
  t.is(directUrlOf({DATABASE_URL: database.url}), database.url)
  t.throws(() => directUrlOf({DATABASE_URL: pooled}), {message: /Set DATABASE_DIRECT_URL/})
  t.throws(() => directUrlOf({DATABASE_URL: database.url, DATABASE_DIRECT_URL: pooled}), {message: /Set DATABASE_DIRECT_URL/})
  const limited = new URL(database.url)
  limited.searchParams.set('options', '-c statement_timeout=5s')
  const client = await openReleaser(limited.href)
  t.teardown(() => client.end())
  t.like((await client.query('show statement_timeout')).rows[0], {statement_timeout: '0'})
})

test('an unknown kind of pooler is refused at start', t => {
  const environment = {NODE_ENV: 'test', DATABASE_URL: `${database.url}?pooler=session`}
  t.throws(() => readConfig(environment), {message: /pooler=session\. Write pooler=transaction/})
})
