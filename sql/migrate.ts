import {setTimeout as sleep} from 'node:timers/promises'
import pg from 'pg'
import {z} from 'zod'
import {type Db, sql} from './database.ts'
import {listMigrations, type Migration, readMigrations} from './migration-files.ts'
import {hurry, type Patience, patiently} from './patience.ts'

/** One number for the whole product: releases that start together take turns. */
const LOCK = 7_216_204
/** Waits here stand in nobody's way: an index built beside traffic waits until every older transaction is over. */
const concurrentLock = '30min'
const longestTurn: Patience = {seconds: 3_600}
/** Then a piece does not lessen what is left. */
const mostPieces = 1_000_000

export type Applied = {name: string; tries: number; ms: number}
type Options = {folder?: string; patience?: Patience; turn?: Patience}

/**
 * Applies `migrations/*.sql` in the order of their names, while the service is in use, and answers those applied now. Refuses to go on
 * when an applied file has changed since: history is never edited. What fails can be called again, and goes on where it stood.
 */
export const migrate = async (url: string, {folder, patience = {seconds: 120}, turn = longestTurn}: Options = {}): Promise<Applied[]> => {
  const client = await openReleaser(url)
  try {
    await takeTurn(client, turn)
    return await applyAll(client, await readMigrations(folder), patience)
  } finally {
    await client.end()
  }
}

/** A connection for what a release changes, known by its name in `pg_stat_activity`. */
export const openReleaser = async (url: string): Promise<pg.Client> => {
  const client = new pg.Client({connectionString: url, application_name: 'lading-release', keepAlive: true})
  client.on('error', () => {})
  await client.connect()
  await hurry(client)
  return client
}

/** Whether a build that knows more has been at the database: there may be tables of which this one knows nothing. */
export const isMigratedFurther = async (db: Db): Promise<boolean> => {
  const known = await listMigrations()
  return db.exists(sql.type(z.object({}))`select from migrations where name <> all(${sql.array(known, 'text')})`)
}

/** Asked for again and again, never waited for: whoever waits inside a statement is waited for by an index that is built beside traffic. */
const takeTurn = async (client: pg.Client, {seconds}: Patience) => {
  for (const end = Date.now() + seconds * 1_000; ; await sleep(250)) {
    const {rows} = await client.query<{had: boolean}>('select pg_try_advisory_lock($1) as had', [LOCK])
    if (rows[0]!.had) return
    if (Date.now() > end) throw new Error(`Another release has been at this database for ${seconds} s`)
  }
}

const applyAll = async (client: pg.Client, migrations: Migration[], patience: Patience) => {
  await client.query(
    'create table if not exists migrations (name text primary key, sha256 text not null, applied_at timestamptz not null default now())',
  )
  const {rows} = await client.query<{name: string; sha256: string}>('select name, sha256 from migrations')
  const before = new Map(rows.map(({name, sha256}) => [name, sha256]))
  const applied: Applied[] = []
  for (const migration of migrations) {
    const {name, sha256} = migration
    if (before.get(name) === sha256) continue
    if (before.has(name)) throw new Error(`Migration ${name} was applied as another text: write a new file instead of changing it`)
    const began = performance.now()
    const tries = await apply(client, migration, patience).catch(error => {
      throw new Error(`Migration ${name} failed`, {cause: error})
    })
    applied.push({name, tries, ms: Math.round(performance.now() - began)})
  }
  return applied
}

const apply = async (client: pg.Client, migration: Migration, patience: Patience): Promise<number> => {
  if (migration.how === 'concurrently') return applyConcurrently(client, migration)
  if (migration.how === 'in pieces') return applyInPieces(client, migration, patience)
  const {tries} = await patiently(client, patience, async lockMs => {
    await begin(client, lockMs)
    await client.query(migration.text)
    await note(client, migration)
    await client.query('commit')
  })
  return tries
}

const begin = (client: pg.Client, lockMs: number) => client.query(`begin; set local lock_timeout = ${lockMs}`)

const note = (client: pg.Client, {name, sha256}: Migration) =>
  client.query('insert into migrations (name, sha256) values ($1, $2)', [name, sha256])

/** What an index leaves behind whose building broke off is in the way of the next try, and of writers where it is unique. */
const applyConcurrently = async (client: pg.Client, migration: Migration): Promise<number> => {
  const [, index] = /\bcreate\s+(?:unique\s+)?index\s+concurrently\s+(?:if\s+not\s+exists\s+)?(\w+)\s+on\b/i.exec(migration.text) ?? []
  await client.query(`set lock_timeout = '${concurrentLock}'`)
  try {
    await dropBroken(client, index)
    await client.query(migration.text)
    await note(client, migration)
  } catch (error) {
    await dropBroken(client, index).catch(() => {})
    throw error
  } finally {
    await client.query('reset lock_timeout').catch(() => {})
  }
  return 1
}

const dropBroken = async (client: pg.Client, index: string | undefined) => {
  if (!index) return
  const {rowCount} = await client.query('select from pg_index where indexrelid = to_regclass($1) and not indisvalid', [index])
  if (rowCount) await client.query(`drop index concurrently ${index}`)
}

/** The pauses leave half of the time to everybody else. */
const applyInPieces = async (client: pg.Client, migration: Migration, patience: Patience): Promise<number> => {
  for (let pieces = 0, all = 0; pieces < mostPieces; pieces++) {
    const began = performance.now()
    const {value: rows, tries} = await patiently(client, patience, async lockMs => {
      await begin(client, lockMs)
      const {rowCount} = await client.query(migration.text)
      if (!rowCount) await note(client, migration)
      await client.query('commit')
      return rowCount
    })
    all += tries
    if (!rows) return all
    await sleep(performance.now() - began)
  }
  throw new Error(`It changed rows ${mostPieces} times and was not done: it must leave out those it has changed`)
}
