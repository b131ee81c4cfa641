import {z} from 'zod'
import {type Db, sql} from './database.ts'

/** The CRM's clock minus the service's clock, in ms: the lowest and the highest observed difference. */
export type ClockRange = {lowMs: number; highMs: number}

export const widenClockRange = (db: Db, {run, lowMs, highMs}: ClockRange & {run: number}) =>
  db.query(sql.type(z.object({}))`
    update run_heads set clock_low_ms = least(clock_low_ms, ${Math.round(lowMs)}::bigint),
      clock_high_ms = greatest(clock_high_ms, ${Math.round(highMs)}::bigint)
    where run_no = ${run}`)

/** Returns the clock range that covers all runs of the chain. Returns null if no run has observed the CRM's clock yet. */
export const findClockRange = async (db: Db, {run, chain}: {run: number; chain: number}): Promise<ClockRange | null> => {
  const {lowMs, highMs} = await db.one(sql.type(z.object({lowMs: z.number().nullable(), highMs: z.number().nullable()}))`
    select min(clock_low_ms)::float8 as "lowMs", max(clock_high_ms)::float8 as "highMs"
    from run_heads join runs using (run_no) where run_no = ${run} or run_no = ${chain} or chain_no = ${chain}`)
  return lowMs === null || highMs === null ? null : {lowMs, highMs}
}

export const keepNewestId = (db: Db, {run, module, id}: {run: number; module: number; id: string}) =>
  db.query(sql.type(z.object({}))`
    update run_heads set newest_ids = jsonb_build_object(${module}::text, ${id}::text) || coalesce(newest_ids, '{}') where run_no = ${run}`)

/**
 * Returns the highest record id of the module from before the chain's first create in this module. Returns null if no run of the chain stored such
 * an id.
 */
export const findNewestId = (db: Db, {run, chain, module}: {run: number; chain: number; module: number}) =>
  db.maybeOneFirst(sql.type(z.object({id: z.string()}))`
    select newest_ids ->> ${module}::text as id from run_heads join runs using (run_no)
    where (run_no = ${run} or run_no = ${chain} or chain_no = ${chain}) and newest_ids ? ${module}::text order by run_no limit 1`)
