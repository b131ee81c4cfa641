import {createHash} from 'node:crypto'
import {glob, readFile} from 'node:fs/promises'
import {basename} from 'node:path'
import pg from 'pg'
import {z} from 'zod'
import {type Db, sql} from './database.ts'

const FOLDER = new URL('migrations/', import.meta.url)
/** One number for the whole product: processes that start together take turns. */
const LOCK = 7_216_204

/**
 * Applies `migrations/*.sql` in the order of their names, each in a transaction of its own, and answers the names applied now.
 * Refuses to go on when an applied file has changed since: history is never edited.
 */
export const migrate = async (url: string): Promise<string[]> => {
  const client = new pg.Client({connectionString: url, lock_timeout: 60_000})
  client.on('error', () => {})
  await client.connect()
  try {
    await client.query('select pg_advisory_lock($1)', [LOCK])
    return await applyAll(client)
  } finally {
    await client.end()
  }
}

/** Whether a build that knows more has been at the database: there may be tables of which this one knows nothing. */
export const isMigratedFurther = async (db: Db): Promise<boolean> => {
  const known = await Array.fromAsync(glob('*.sql', {cwd: FOLDER}), path => basename(path, '.sql'))
  return db.exists(sql.type(z.object({}))`select from migrations where name <> all(${sql.array(known, 'text')})`)
}

const applyAll = async (client: pg.Client) => {
  await client.query(
    'create table if not exists migrations (name text primary key, sha256 text not null, applied_at timestamptz not null default now())',
  )
  const {rows} = await client.query<{name: string; sha256: string}>('select name, sha256 from migrations')
  const before = new Map(rows.map(({name, sha256}) => [name, sha256]))
  const applied: string[] = []
  for (const {name, text, sha256} of await readMigrations()) {
    if (before.get(name) === sha256) continue
    if (before.has(name)) throw new Error(`Migration ${name} was applied as another text: write a new file instead of changing it`)
    await apply(client, name, text, sha256)
    applied.push(name)
  }
  return applied
}

const readMigrations = async () => {
  const paths = await Array.fromAsync(glob('*.sql', {cwd: FOLDER}))
  return Promise.all(
    paths.sort().map(async path => {
      const text = await readFile(new URL(path, FOLDER), 'utf8')
      return {name: basename(path, '.sql'), text, sha256: createHash('sha256').update(text).digest('hex')}
    }),
  )
}

const apply = async (client: pg.Client, name: string, text: string, sha256: string) => {
  await client.query('begin')
  try {
    await client.query(text)
    await client.query('insert into migrations (name, sha256) values ($1, $2)', [name, sha256])
    await client.query('commit')
  } catch (error) {
    await client.query('rollback')
    throw new Error(`Migration ${name} failed`, {cause: error})
  }
}
