import {setTimeout as sleep} from 'node:timers/promises'
import pg from 'pg'
import {z} from 'zod'
import {type Db, sql} from './database.ts'
import {type LockRetryOptions, limitLockWait, retryOnLock} from './lock-retry.ts'
import {listMigrations, type Migration, readMigrations} from './migration-files.ts'

/** The advisory lock of all releases, so that releases that start together take turns. */
const LOCK = 7_216_204
/** The lock timeout of a concurrent index build, which waits until all older transactions have ended. This wait blocks no other statement. */
const concurrentLock = '30min'
const longestTurn: LockRetryOptions = {seconds: 3_600}
/** The limit on pieces of one migration. A statement that needs more evidently does not reduce the remaining rows. */
const mostPieces = 1_000_000

export type AppliedMigration = {name: string; tries: number; ms: number}
type Options = {folder?: string; patience?: LockRetryOptions; turn?: LockRetryOptions}

/**
 * Applies `migrations/*.sql` in the order of their names while the service runs. Returns the migrations that this call applied. Throws if
 * an applied file has changed, because applied migrations must not be edited. After a failure, another call continues.
 */
export const migrate = async (
  url: string,
  {folder, patience = {seconds: 120}, turn = longestTurn}: Options = {},
): Promise<AppliedMigration[]> => {
  const client = await openReleaser(url)
  try {
    await takeTurn(client, turn)
    return await applyAll(client, await readMigrations(folder), patience)
  } finally {
    await client.end()
  }
}

/** Opens a connection for the changes of a release, named in `pg_stat_activity`. */
export const openReleaser = async (url: string): Promise<pg.Client> => {
  const client = new pg.Client({connectionString: url, application_name: 'lading-release', keepAlive: true})
  client.on('error', () => {})
  await client.connect()
  // A role behind a pooler has timeouts, which an index build exceeds.
  await client.query('set statement_timeout = 0')
  await limitLockWait(client)
  return client
}

/** Whether a newer build has migrated the database. There may then be tables that this build does not know. */
export const isMigratedFurther = async (db: Db): Promise<boolean> => {
  const known = await listMigrations()
  return db.exists(sql.type(z.object({}))`select from migrations where name <> all(${sql.array(known, 'text')})`)
}

/** Polls for the lock that only one release process holds at a time. A statement that waited for this lock would stall CREATE INDEX CONCURRENTLY. */
const takeTurn = async (client: pg.Client, {seconds}: LockRetryOptions) => {
  for (const end = Date.now() + seconds * 1_000; ; await sleep(250)) {
    const {rows} = await client.query<{had: boolean}>('select pg_try_advisory_lock($1) as had', [LOCK])
    if (rows[0]!.had) return
    if (Date.now() > end)
      throw new Error(`Another release has held the migration lock for ${seconds} s. Wait for it to end, then try again`)
  }
}

const applyAll = async (client: pg.Client, migrations: Migration[], patience: LockRetryOptions) => {
  await client.query(
    'create table if not exists migrations (name text primary key, sha256 text not null, applied_at timestamptz not null default now())',
  )
  const {rows} = await client.query<{name: string; sha256: string}>('select name, sha256 from migrations')
  const before = new Map(rows.map(({name, sha256}) => [name, sha256]))
  const applied: AppliedMigration[] = []
  for (const migration of migrations) {
    const {name, sha256, earlierSha256} = migration
    const appliedSha256 = before.get(name)
    if (appliedSha256 && [sha256, earlierSha256].includes(appliedSha256)) continue
    if (appliedSha256) throw new Error(`Migration ${name} was changed after it was applied. Restore it and write a new file instead`)
    const began = performance.now()
    const tries = await apply(client, migration, patience).catch(error => {
      throw new Error(`Migration ${name} failed`, {cause: error})
    })
    applied.push({name, tries, ms: Math.round(performance.now() - began)})
  }
  return applied
}

const apply = async (client: pg.Client, migration: Migration, patience: LockRetryOptions): Promise<number> => {
  if (migration.how === 'concurrently') return applyConcurrently(client, migration)
  if (migration.how === 'in pieces') return applyInPieces(client, migration, patience)
  const {tries} = await retryOnLock(client, patience, async lockMs => {
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

/**
 * Builds an index concurrently. First drops the invalid index that a failed build leaves. That index would block the next try, and also writers
 * if it is unique.
 */
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

/** Repeats the statement, one transaction per piece. The pauses leave half of the time to other statements. */
const applyInPieces = async (client: pg.Client, migration: Migration, patience: LockRetryOptions): Promise<number> => {
  for (let pieces = 0, all = 0; pieces < mostPieces; pieces++) {
    const began = performance.now()
    const {value: rows, tries} = await retryOnLock(client, patience, async lockMs => {
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
  throw new Error(`The migration changed rows ${mostPieces} times without end. Its statement must skip rows that it has changed`)
}
