import test from 'ava'
import {z} from 'zod'
import {openDatabase, type Pool, sql} from '../../sql/database.ts'
import {createDatabase} from '../support/database.ts'

let database: Awaited<ReturnType<typeof createDatabase>>
const opened: Pool[] = []
const open = async (url = database.url) => {
  const db = await openDatabase(url, {connections: 1})
  opened.push(db)
  return db
}

test.before(async () => {
  database = await createDatabase('driver')
})
test.after.always(async () => {
  for (const db of opened) await db.end()
  await database?.drop()
})

const Numbers = z.object({n: z.number()})
const padding = sql.fragment`/* ${sql.literalValue('x'.repeat(400))} */`
const countPrepared = (db: Pool) => db.oneFirst(sql.type(Numbers)`select count(*) as n from pg_prepared_statements`)

test('a long statement is prepared once it is repeated, a short one never', async t => {
  const db = await open()
  const long = (n: number) => db.oneFirst(sql.type(Numbers)`select ${n}::int8 as n ${padding}`)
  t.deepEqual([await long(1), await countPrepared(db)], [1, 0])
  t.deepEqual([await long(2), await countPrepared(db)], [2, 1])
  t.deepEqual([await long(3), await countPrepared(db)], [3, 1])
})

test('a connection prepares at most 60 statements', async t => {
  const db = await open()
  for (let n = 0; n < 150; n++)
    for (let again = 0; again < 2; again++)
      t.is(await db.oneFirst(sql.type(Numbers)`select ${sql.literalValue(`${n}`)}::int8 as n ${padding}`), n)
  t.is(await countPrepared(db), 60)
})

test('statements that are used once leave room for statements that are repeated', async t => {
  const db = await open()
  const select = (text: string) => db.oneFirst(sql.type(Numbers)`select ${sql.literalValue(text)}::int8 as n ${padding}`)
  for (let n = 0; n < 100; n++) await select(`${n}`)
  for (let again = 0; again < 2; again++) await select('1000')
  t.is(await countPrepared(db), 1)
})

test('nothing is prepared behind a pooler', async t => {
  const db = await open(`${database.url}?pooler=transaction`)
  for (const n of [1, 2, 3]) t.is(await db.oneFirst(sql.type(Numbers)`select ${n}::int8 as n ${padding}`), n)
  t.is(await countPrepared(db), 0)
})

test('a prepared statement whose columns a migration changes fails once and then succeeds', async t => {
  const db = await open()
  await db.query(sql.unsafe`create table changing (n int8)`)
  await db.query(sql.unsafe`insert into changing values (7)`)
  const read = () => db.one(sql.type(Numbers)`select * from changing ${padding}`)
  for (let n = 0; n < 3; n++) t.deepEqual(await read(), {n: 7})
  await db.query(sql.unsafe`alter table changing alter n type int4`)
  await t.throwsAsync(read(), {message: /cached plan/})
  t.deepEqual(await read(), {n: 7})
})
