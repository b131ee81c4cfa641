import {createHash, randomBytes} from 'node:crypto'
import {readdirSync, readFileSync} from 'node:fs'
import {fileURLToPath} from 'node:url'
import pg from 'pg'
import {databaseUrlOf, readConfig} from '../../shared/config.ts'
import {jobs} from '../../shared/jobs.ts'
import {openQueue} from '../../shared/queue.ts'
import {openLog} from '../../shared/telemetry/log.ts'
import {migrate} from '../../sql/migrate.ts'

export type Database = {url: string; drop(): Promise<void>}

const root = fileURLToPath(new URL('../..', import.meta.url))
/** The advisory lock under which one test process of a cluster at a time creates the template. */
const LOCK = 7_216_205

/** Creates a separate database with every table and queue: a copy of a template that exists once per cluster and schema. */
export const createDatabase = async (label = 'test', cluster = databaseUrlOf(readConfig())): Promise<Database> => {
  const admin = await connect(cluster)
  const name = `${label
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .slice(0, 40)}_${randomBytes(6).toString('hex')}`
  const template = await makeTemplate(admin, cluster)
  await admin.query(`create database ${name} template ${template}`)
  const drop = async () => {
    await admin.query(`drop database ${name} with (force)`)
    await admin.end()
  }
  return {url: inCluster(cluster, name), drop}
}

const makeTemplate = async (admin: pg.Client, cluster: string) => {
  const name = `lading_template_${versionOf()}`
  await admin.query('select pg_advisory_lock($1)', [LOCK])
  try {
    const {rowCount} = await admin.query('select from pg_database where datname = $1', [name])
    if (rowCount) return name
    // The database gets its final name only when it is complete.
    await admin.query(`drop database if exists ${name}_draft with (force)`)
    await admin.query(`create database ${name}_draft`)
    await fill(inCluster(cluster, `${name}_draft`))
    await admin.query(`alter database ${name}_draft rename to ${name}`)
    return name
  } finally {
    await admin.query('select pg_advisory_unlock($1)', [LOCK])
  }
}

const fill = async (url: string) => {
  await migrate(url)
  const queue = await openQueue(url, jobs, {log: openLog('template', 'silent'), upkeep: false})
  await queue.stop({graceful: false})
}

/**
 * Returns the version of the template: a digest of the migrations, of the job catalogue and queue, and of `package.json`, which names the
 * queue's version.
 */
const versionOf = () => {
  const hash = createHash('sha256')
  const migrations = readdirSync(`${root}/sql/migrations`).filter(name => name.endsWith('.sql'))
  const files = ['shared/jobs.ts', 'shared/queue.ts', 'package.json', ...migrations.sort().map(name => `sql/migrations/${name}`)]
  for (const file of files) hash.update(file).update(readFileSync(`${root}/${file}`))
  return hash.digest('hex').slice(0, 16)
}

const connect = async (url: string) => {
  const client = new pg.Client(url)
  client.on('error', () => {})
  await client.connect()
  return client
}

const inCluster = (url: string, name: string) => {
  const other = new URL(url)
  other.pathname = `/${name}`
  return other.href
}
