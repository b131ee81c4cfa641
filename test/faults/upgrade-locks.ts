import {setTimeout as sleep} from 'node:timers/promises'
import pg from 'pg'
import type {StartedParts} from '../support/deployment.ts'

export const everyMs = 10

/** Lists locks of a release that keep writers away from committed tables, and the sessions that wait for the release. */
const LOOK = `
  with releasers as materialized (select pid from pg_stat_activity where application_name = 'lading-release' and datname = current_database())
  select 'held' as kind, l.pid, c.relname || ' ' || l.mode as what, 0::float8 as ms
  from releasers join pg_locks l using (pid) join pg_class c on c.oid = l.relation
  where l.granted and l.database = (select oid from pg_database where datname = current_database()) and c.relkind in ('r', 'p')
    and l.mode in ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
  union all
  select 'waits', l.pid, coalesce(l.relation::regclass::text, l.locktype), extract(epoch from clock_timestamp() - l.waitstart)::float8 * 1000
  from pg_locks l where not l.granted and l.waitstart is not null and l.pid not in (select pid from releasers)
    and exists (select from releasers r where r.pid = any(pg_blocking_pids(l.pid)))`

type SeenLocks = {kind: 'held' | 'waits'; pid: number; what: string; ms: number}

export type Watch = {
  /** The longest time in ms that each lock was held, by table and lock mode. `lookMs`: the 99th percentile of the time between looks, in ms. */
  held: Map<string, number>
  waited: {longestMs: number; what: string}
  looks: number
  lookMs(): number
  stop(): Promise<void>
}

/** Watches on a separate connection how long releases hold locks and block other sessions. */
export const watchLocks = async (url: string, begun: StartedParts): Promise<Watch> => {
  const client = new pg.Client({connectionString: url, application_name: 'the watch'})
  client.on('error', () => {})
  await client.connect()
  const over = new AbortController()
  const gaps: number[] = []
  const watch: Watch = {
    held: new Map(),
    waited: {longestMs: 0, what: 'nothing'},
    looks: 0,
    lookMs: () => gaps.toSorted((one, other) => one - other)[Math.floor(gaps.length * 0.99)] ?? 0,
    stop: async () => {
      over.abort()
      await looking
      await client.end()
    },
  }
  const looking = look(client, watch, gaps, over.signal)
  begun(watch.stop)
  return watch
}

const look = async (client: pg.Client, watch: Watch, gaps: number[], over: AbortSignal) => {
  let since = new Map<string, number>()
  for (let last = performance.now(); !over.aborted; await sleep(everyMs)) {
    const {rows} = await client.query<SeenLocks>({name: 'look', text: LOOK})
    const now = performance.now()
    gaps.push(now - last)
    last = now
    watch.looks++
    const held = new Map<string, number>()
    for (const {kind, pid, what, ms} of rows) {
      if (kind === 'waits') {
        if (ms > watch.waited.longestMs) watch.waited = {longestMs: ms, what}
        continue
      }
      const began = since.get(`${pid} ${what}`) ?? now
      held.set(`${pid} ${what}`, began)
      watch.held.set(what, Math.max(watch.held.get(what) ?? 0, now - began))
    }
    since = held
  }
}
