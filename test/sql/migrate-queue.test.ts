import test from 'ava'
import pg from 'pg'
import {getRollbackPlans} from 'pg-boss'
import {jobs, runImport} from '../../shared/jobs.ts'
import {enqueue, openQueue, readJob} from '../../shared/queue.ts'
import {migrateQueue} from '../../shared/release.ts'
import {openLog} from '../../shared/telemetry/log.ts'
import {openDatabase} from '../../sql/database.ts'
import {createDatabase, type Database} from '../support/database.ts'
import {until} from '../support/until.ts'

const log = openLog('test', 'silent')
let database: Database
let db: pg.Client

test.before(async () => {
  database = await createDatabase('migrate_queue')
  db = await open()
})

test.after.always(async () => {
  await db?.end()
  await database?.drop()
})

const open = async () => {
  const client = new pg.Client({connectionString: database.url, lock_timeout: 20_000})
  await client.connect()
  return client
}

const one = async <T>(text: string): Promise<T> => Object.values((await db.query(text)).rows[0])[0] as T

test.serial("a release migrates the queue's schema without blocking others while it waits for a lock", async t => {
  const version = await one<number>('select version from pgboss.version')
  await db.query(getRollbackPlans('pgboss', version))
  t.is(await one('select version from pgboss.version'), version - 1)
  const reader = await open()
  await reader.query('begin; select * from pgboss.queue; select * from pgboss.schedule; select * from pgboss.job')
  const releasing = migrateQueue(database.url, log)
  for (let seen = 0; seen < 2; seen++) {
    await until(
      () =>
        one<boolean>(`select exists (select from pg_stat_activity where application_name = 'lading-release' and wait_event_type = 'Lock')`),
      waits => waits,
    )
    await db.query('update pgboss.queue set updated_on = updated_on')
  }
  await reader.query('commit')
  await reader.end()
  await releasing
  t.is(await one('select version from pgboss.version'), version)
})

test.serial('a release updates the policy of existing queues', async t => {
  await db.query(`update pgboss.queue set retry_limit = 77, expire_seconds = 1, notify = false where name = 'import.run'`)
  await migrateQueue(database.url, log)
  const {rows} = await db.query(`select retry_limit, expire_seconds, notify from pgboss.queue where name = 'import.run'`)
  t.deepEqual(rows, [{retry_limit: runImport.policy.retryLimit, expire_seconds: runImport.policy.expireInSeconds, notify: true}])
})

test.serial('old processes start on the queue of a newer build, send jobs, and leave unknown jobs alone', async t => {
  await db.query(`
    update pgboss.version set version = version + 7; alter table pgboss.job add column newer text;
    select pgboss.create_queue('newer.job', '{"policy": "standard"}'); insert into pgboss.job (name, data) values ('newer.job', '{}')`)
  const queue = await openQueue(database.url, jobs, {log, upkeep: true})
  const pool = await openDatabase(database.url)
  try {
    const id = await pool.transaction(tx => enqueue(queue, runImport, {org: 'org_1', run: 'run_1'}, {tx, track: false}))
    t.is((await readJob(queue, {name: 'import.run', id: id!}))!.state, 'queued')
    const taken = Promise.withResolvers<string>()
    await queue.work('import.run', async ([job]) => taken.resolve(job!.id))
    t.is(await taken.promise, id!)
    t.is(await one(`select state from pgboss.job where name = 'newer.job'`), 'created')
  } finally {
    await queue.stop({graceful: false})
    await pool.end()
  }
})
