import {setTimeout as sleep} from 'node:timers/promises'
import type pg from 'pg'
import {sqlStateOf} from './database.ts'

/** Whoever comes after one that waits for a table's lock waits behind it, so it is waited for no longer than this. */
const LOCK_MS = 100
const longestPauseMs = 2_000
/** Under the lock's own: autovacuum gives way to who has waited so long, and to nobody sooner. */
const DEADLOCK_MS = LOCK_MS / 2
/** Each so many tries one outlasts the server's `deadlock_timeout`, where it is not ours to set and something vacuums. */
const vacuumEvery = 8

export type Patience = {seconds: number}

/** A connection for statements that need locks of tables in use. */
export const hurry = (client: pg.Client) =>
  client.query(`select set_config('deadlock_timeout', $1, false) where has_parameter_privilege('deadlock_timeout', 'set')`, [
    String(DEADLOCK_MS),
  ])

/**
 * Tries again until the locks are had, with pauses in which everybody else goes on. `attempt` is one transaction, or a text that is one,
 * and waits `lockMs` for each lock. Throws after `seconds`, and says which transactions have been open longest.
 */
export const patiently = async <T>(
  client: pg.Client,
  {seconds}: Patience,
  attempt: (lockMs: number) => Promise<T>,
): Promise<{value: T; tries: number}> => {
  for (let tries = 1, end = Date.now() + seconds * 1_000; ; tries++) {
    const lockMs = await lockMsOf(client, tries)
    try {
      return {value: await attempt(lockMs), tries}
    } catch (error) {
      // A connection that is gone has no transaction either.
      await client.query('rollback').catch(() => {})
      if (!isInTheWay(error)) throw error
      if (Date.now() > end) throw new Error(`No lock within ${seconds} s, in ${tries} tries. ${await tellOldest(client)}`, {cause: error})
    }
    await sleep(Math.random() * Math.min(longestPauseMs, LOCK_MS * 2 ** tries))
  }
}

const isInTheWay = (error: unknown) => ['55P03', '40P01'].includes(sqlStateOf(error) ?? '')

const lockMsOf = async (client: pg.Client, tries: number) => {
  if (tries % vacuumEvery) return LOCK_MS
  const {rows} = await client.query<{ms: number}>(
    `select setting::int as ms from pg_settings where name = 'deadlock_timeout' and (
       exists (select from pg_stat_progress_vacuum where datname = current_database())
       or exists (select from pg_stat_progress_analyze where datname = current_database()))`,
  )
  return Math.max(LOCK_MS, ...rows.map(({ms}) => ms + LOCK_MS))
}

const tellOldest = async (client: pg.Client) => {
  const {rows} = await client.query<{told: string}>(
    `select format('%s (pid %s, %s, for %s s)', coalesce(nullif(application_name, ''), 'unnamed'), pid, coalesce(state, backend_type),
       round(extract(epoch from clock_timestamp() - xact_start))) as told
     from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and xact_start is not null
     order by xact_start limit 3`,
  )
  return `Open longest: ${rows.map(({told}) => told).join(', ') || 'none that is open still'}`
}
