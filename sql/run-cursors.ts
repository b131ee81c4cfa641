import {z} from 'zod'
import {type Db, sql, type Tx} from './database.ts'

export const insertCursors = (tx: Tx, {run, flows}: {run: number; flows: number[]}) =>
  tx.query(sql.type(z.object({}))`
    insert into run_cursors (run_no, flow_no) select ${run}, flow from unnest(${sql.array(flows, 'int2')}) as flow`)

/** `lowWater`: every row up to this one has its final entry, or needs none. */
export const listCursors = (db: Db, run: number) =>
  db.any(sql.type(z.object({flow: z.number(), lowWater: z.number(), done: z.boolean()}))`
    select flow_no as flow, low_water as "lowWater", done from run_cursors where run_no = ${run} and pass = 0 order by flow_no`)

export const finishFlow = (db: Db, {run, flow}: {run: number; flow: number}) =>
  db.query(sql.type(z.object({}))`update run_cursors set done = true where run_no = ${run} and flow_no = ${flow} and pass = 0`)

export const deleteCursors = (db: Db, run: number) => db.query(sql.type(z.object({}))`delete from run_cursors where run_no = ${run}`)
