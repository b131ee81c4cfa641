import {setTimeout as sleep} from 'node:timers/promises'
import type pg from 'pg'
import {sqlStateOf} from './database.ts'

/** The longest wait for a table's lock in ms. A statement that waits for such a lock blocks all later ones. */
const LOCK_MS = 100
const longestPauseMs = 2_000
/** The value of `deadlock_timeout`. It is shorter than the lock wait, because autovacuum gives way only to a statement that has waited this long. */
const DEADLOCK_MS = LOCK_MS / 2
/** Some roles cannot set `deadlock_timeout`. Then one of this many tries waits longer than the server's value, so that a running vacuum gives way. */
const vacuumEvery = 8

export type LockRetryOptions = {seconds: number}

/** Prepares a connection for statements that lock tables in use. */
export const limitLockWait = (client: pg.Client) =>
  client.query(`select set_config('deadlock_timeout', $1, false) where has_parameter_privilege('deadlock_timeout', 'set')`, [
    String(DEADLOCK_MS),
  ])

/**
 * Retries until the locks are acquired, and pauses between the tries so that other statements proceed. `attempt` is one transaction that
 * waits `lockMs` for each lock. Throws after `seconds` and names the transactions that are open longest.
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
  const {rows} = await client.query<{told: string}>(
    `select format('%s (pid %s, %s, for %s s)', coalesce(nullif(application_name, ''), 'unnamed'), pid, coalesce(state, backend_type),
       round(extract(epoch from clock_timestamp() - xact_start))) as told
     from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and xact_start is not null
     order by xact_start limit 3`,
  )
  return `Open longest: ${rows.map(({told}) => told).join(', ') || 'none that is open still'}`
}
