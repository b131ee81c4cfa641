import {spawnSync} from 'node:child_process'
import {closeSync, mkdtempSync, openSync, rmSync, writeSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {setTimeout as sleep} from 'node:timers/promises'
import {z} from 'zod'
import {openDatabase, type Pool, sql} from '../../sql/database.ts'
import {until} from '../support/until.ts'
import {carryCase, environment, openGround, prepareCase} from './carried.ts'
import {writeCase} from './cases.ts'
import {standWorker} from './fleet.ts'
import {openOwnPostgres} from './own-postgres.ts'
import {openProbe} from './probe.ts'
import type {Scenario, Stage} from './scenario.ts'

const diskMb = 400
const slowSyncMs = 100

/**
 * Fills the disk of Postgres, first while it writes tables and then while it writes its write-ahead log. Without root no small disk can be
 * mounted, and only the syncs are slow. `commit_delay` delays every commit as a slow disk would, because a disk cannot be slowed down.
 */
export const fullDisk: Scenario = {
  row: 'R18',
  fault: "the disk of Postgres is full, for its tables and for its log; each commit's sync takes 100 ms",
  goal: 'writes are refused with 503, nothing is corrupt or lost, and service resumes when there is room',
  async play(stage) {
    const directory = mountDisk(stage)
    const flags = ['max_wal_size=64MB', 'min_wal_size=32MB', 'restart_after_crash=on']
    const own = await openOwnPostgres(stage, {...(directory && {directory}), flags})
    const here = await stage.open({workers: ['discovery'], environment: {...environment, DATABASE_URL: own.url}})
    const ground = await openGround(here)
    here.crm.setSwitches({latencyMs: 40})
    await standWorker(here, stage)
    const probe = openProbe(ground.org)
    const carry = async (seed: number, breaking: () => Promise<unknown>) => {
      const prepared = await prepareCase(ground, writeCase(seed, stage.dice, 300))
      const carried = await carryCase(ground, prepared, breaking)
      stage.judged(await carried.judge())
    }
    await carry(stage.asked.seed, async () => {
      await setSyncs(here.db, slowSyncMs)
      stage.did('slow syncs')
      await sleep(2_000)
      await setSyncs(here.db, 0)
    })
    if (directory) {
      await carry(stage.asked.seed + 1, async () => {
        const empty = fill(directory)
        stage.did('full disks')
        const asked = probe.answers.length
        await until(() => probe.answers.slice(asked).some(({status}) => status === 503), Boolean)
        stage.figure('MB of log until it was full too', await fillLog(here.db))
        await sleep(1_000)
        empty()
        await own.start()
        stage.figure('ms until it was well again', Math.round(await probe.recovers()), {most: 10_000})
      })
    } else stage.figure('without a small disk', 1)
    // Postgres recovers from a crash before it accepts connections, so a write may wait for 10 s.
    await probe.end(here, stage, {longestMs: 10_000})
    await expectSound(own.direct(), stage)
  },
}

/** Mounts a disk of `diskMb` and returns its directory, or null if this user may not mount one. */
const mountDisk = (stage: Stage): string | null => {
  const directory = mkdtempSync(join(tmpdir(), 'lading-disk-'))
  const {status} = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${diskMb}m,mode=755`, 'tmpfs', directory], {encoding: 'utf8'})
  stage.begun(async () => {
    if (status === 0) spawnSync('umount', ['-l', directory])
    rmSync(directory, {recursive: true, force: true})
  })
  return status === 0 ? directory : null
}

/** Fills the remaining space of a disk. Returns a function that frees the space. */
const fill = (directory: string) => {
  const ballast = join(directory, 'ballast')
  const file = openSync(ballast, 'w')
  for (let size = 1024 ** 2; size >= 512; ) {
    try {
      if (writeSync(file, Buffer.alloc(size)) < size) size /= 2
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
      size /= 2
    }
  }
  closeSync(file)
  return () => rmSync(ballast)
}

/** Writes only to the write-ahead log until Postgres fails. Returns the MB written. */
const fillLog = async (db: Pool): Promise<number> => {
  for (let written = 0; written < 2 * diskMb; written++) {
    const failed = await db.query(sql.unsafe`select pg_logical_emit_message(false, 'faults', repeat('x', 1048576))`).then(
      () => null,
      error => error,
    )
    if (failed) return written
  }
  throw new Error('The log of Postgres is not full')
}

/** Delays each commit by 100 ms, or ends the delay if `ms` is 0. The setting belongs to the server, so it applies to every connection. */
const setSyncs = async (db: Pool, ms: number) => {
  await db.query(sql.unsafe`alter system set commit_siblings = 0`)
  await db.query(ms ? sql.unsafe`alter system set commit_delay = 100000` : sql.unsafe`alter system reset commit_delay`)
  await db.query(sql.unsafe`select pg_reload_conf()`)
}

const Count = z.object({count: z.number()})

/** Checks every B-tree index against its table, if amcheck exists, and reads every table. Postgres refuses a page with a wrong checksum. */
const expectSound = async (url: string, stage: Stage) => {
  const db = await openDatabase(url, {connections: 1})
  stage.begun(db.end)
  const hasCheck = await db.exists(sql.type(z.object({}))`select from pg_available_extensions where name = 'amcheck'`)
  if (!hasCheck) stage.figure('without amcheck', 1)
  else {
    await db.query(sql.unsafe`create extension if not exists amcheck`)
    const indexes = await db.oneFirst(sql.type(Count)`
      select count(bt_index_check(i.indexrelid, true)) from pg_index i join pg_class c on c.oid = i.indexrelid join pg_am a on a.oid = c.relam
      where a.amname = 'btree' and c.relpersistence = 'p' and c.relkind = 'i' and i.indisvalid`)
    stage.figure('indexes sound', indexes, {least: 1})
  }
  const tables = await db.any(sql.type(z.object({schema: z.string(), name: z.string()}))`
    select schemaname as schema, tablename as name from pg_tables where schemaname not in ('pg_catalog', 'information_schema')`)
  for (const {schema, name} of tables) await db.query(sql.unsafe`select count(t.*) from ${sql.identifier([schema, name])} t`)
  stage.figure('tables read', tables.length, {least: 1})
}
