import {z} from 'zod'
import {type Db, sql, type Tx} from './database.ts'

/** The passes of a flow: write its rows, patch them after all flows, index the keys of its parent rows, tag its records. */
export const PASS = {write: 0, patch: 1, index: 2, tag: 3} as const

type Pass = {run: number; flow: number; pass: number}

export const isPassDone = (db: Db, {run, flow, pass}: Pass) =>
  db.exists(sql.type(z.object({}))`
    select from run_cursors where run_no = ${run} and flow_no = ${flow} and pass = ${pass} and done`)

export const finishPass = (db: Db, {run, flow, pass}: Pass) =>
  db.query(sql.type(z.object({}))`
    insert into run_cursors (run_no, flow_no, pass, done) values (${run}, ${flow}, ${pass}, true)
    on conflict (run_no, flow_no, pass) do update set done = true`)

/** Returns the cursor of a pass. Creates the cursor if there is none, because not every flow has every pass. */
export const openPass = async (db: Db, {run, flow, pass}: Pass) => {
  await db.query(sql.type(z.object({}))`
    insert into run_cursors (run_no, flow_no, pass) values (${run}, ${flow}, ${pass}) on conflict do nothing`)
  return db.one(sql.type(z.object({lowWater: z.number(), done: z.boolean()}))`
    select low_water as "lowWater", done from run_cursors where run_no = ${run} and flow_no = ${flow} and pass = ${pass}`)
}

export const insertCursors = (tx: Tx, {run, flows}: {run: number; flows: number[]}) =>
  tx.query(sql.type(z.object({}))`
    insert into run_cursors (run_no, flow_no) select ${run}, flow from unnest(${sql.array(flows, 'int2')}) as flow`)

/** Lists the cursors of the run's write pass. `lowWater`: every row up to this number has its final entry, or needs none. */
export const listCursors = (db: Db, run: number) =>
  db.any(sql.type(z.object({flow: z.number(), lowWater: z.number(), done: z.boolean()}))`
    select flow_no as flow, low_water as "lowWater", done from run_cursors where run_no = ${run} and pass = 0 order by flow_no`)

export const finishFlow = (db: Db, {run, flow}: {run: number; flow: number}) =>
  db.query(sql.type(z.object({}))`update run_cursors set done = true where run_no = ${run} and flow_no = ${flow} and pass = 0`)

export const deleteCursors = (db: Db, run: number) => db.query(sql.type(z.object({}))`delete from run_cursors where run_no = ${run}`)
