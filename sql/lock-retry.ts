import {setTimeout as sleep} from 'node:timers/promises'
import type pg from 'pg'
import {sqlStateOf} from './database.ts'

/**
 * The longest wait for the lock of a table, in ms, except in the tries of `vacuumEvery`. A statement that waits for this lock blocks all later
 * statements on the table.
 */
const LOCK_MS = 100
const longestPauseMs = 2_000
/**
 * The value of `deadlock_timeout`, in ms. It is shorter than the lock wait, because autovacuum cancels itself only for a statement that has
 * waited this long.
 */
const DEADLOCK_MS = LOCK_MS / 2
/**
 * Autovacuum cancels itself only for a statement that waits longer than `deadlock_timeout`, which some roles cannot shorten. So while a vacuum or
 * ANALYZE runs, every eighth try waits longer than the server's `deadlock_timeout`.
 */
const vacuumEvery = 8

export type LockRetryOptions = {seconds: number}

/** Sets a short `deadlock_timeout` on the connection, if the connection's role is allowed to. */
export const limitLockWait = (client: pg.Client) =>
  client.query(`select set_config('deadlock_timeout', $1, false) where has_parameter_privilege('deadlock_timeout', 'set')`, [
    String(DEADLOCK_MS),
  ])

/**
 * Calls `attempt` until it acquires its locks, with pauses in which other statements proceed. `attempt` is one transaction that waits `lockMs`
 * for each lock. After `seconds`, throws an error that names the transactions that are open longest.
 */
export const retryOnLock = async <T>(
  client: pg.Client,
  {seconds}: LockRetryOptions,
  attempt: (lockMs: number) => Promise<T>,
): Promise<{value: T; tries: number}> => {
  for (let tries = 1, end = Date.now() + seconds * 1_000; ; tries++) {
    const lockMs = await lockMsOf(client, tries)
    try {
      return {value: await attempt(lockMs), tries}
    } catch (error) {
      // A lost connection has no transaction to roll back.
      await client.query('rollback').catch(() => {})
      if (!isLockError(error)) throw error
      if (Date.now() > end)
        throw new Error(`No lock within ${seconds} s, in ${tries} tries. ${await logOldestTransaction(client)}`, {cause: error})
    }
    await sleep(Math.random() * Math.min(longestPauseMs, LOCK_MS * 2 ** tries))
  }
}

const isLockError = (error: unknown) => ['55P03', '40P01'].includes(sqlStateOf(error) ?? '')

const lockMsOf = async (client: pg.Client, tries: number) => {
  if (tries % vacuumEvery) return LOCK_MS
  const {rows} = await client.query<{ms: number}>(
    `select setting::int as ms from pg_settings where name = 'deadlock_timeout' and (
       exists (select from pg_stat_progress_vacuum where datname = current_database())
       or exists (select from pg_stat_progress_analyze where datname = current_database()))`,
  )
  return Math.max(LOCK_MS, ...rows.map(({ms}) => ms + LOCK_MS))
}

const logOldestTransaction = async (client: pg.Client) => {
  const {rows} = await client.query<{description: string}>(
    `select format('%s (pid %s, %s, for %s s)', coalesce(nullif(application_name, ''), 'unnamed'), pid, coalesce(state, backend_type),
       round(extract(epoch from clock_timestamp() - xact_start))) as description
     from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and xact_start is not null
     order by xact_start limit 3`,
  )
  return `Open longest: ${rows.map(({description}) => description).join(', ') || 'none that is open still'}`
}
