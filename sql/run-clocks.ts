import {z} from 'zod'
import {type Db, sql} from './database.ts'

/** The CRM's clock minus ours, in ms: the lowest and the highest difference seen. */
export type ClockRange = {lowMs: number; highMs: number}

export const widenClockRange = (db: Db, {run, lowMs, highMs}: ClockRange & {run: number}) =>
  db.query(sql.type(z.object({}))`
    update run_heads set clock_low_ms = least(clock_low_ms, ${Math.round(lowMs)}::bigint),
      clock_high_ms = greatest(clock_high_ms, ${Math.round(highMs)}::bigint)
    where run_no = ${run}`)

/** Over all runs of the chain. Null before the first answer. */
export const findClockRange = async (db: Db, {run, chain}: {run: number; chain: number}): Promise<ClockRange | null> => {
  const {lowMs, highMs} = await db.one(sql.type(z.object({lowMs: z.number().nullable(), highMs: z.number().nullable()}))`
    select min(clock_low_ms)::float8 as "lowMs", max(clock_high_ms)::float8 as "highMs"
    from run_heads join runs using (run_no) where run_no = ${run} or run_no = ${chain} or chain_no = ${chain}`)
  return lowMs === null || highMs === null ? null : {lowMs, highMs}
}
