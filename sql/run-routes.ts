import {z} from 'zod'
import {type Db, sql} from './database.ts'

type RunRoute = {run: number; flow: number; match: 'query' | 'snapshot'; why: string}

/** Stores how a flow matches rows. A later owner of the run may choose another route and overwrite it. */
export const keepRoute = (db: Db, {run, flow, match, why}: RunRoute) =>
  db.query(sql.type(z.object({}))`
    insert into run_routes (run_no, flow_no, match, why) values (${run}, ${flow}, ${match}, ${why})
    on conflict (run_no, flow_no) do update set match = excluded.match, why = excluded.why`)

/** Whether an owner of the run chose record calls for the flow. */
export const usesRecordCalls = (db: Db, {run, flow}: Pick<RunRoute, 'run' | 'flow'>) =>
  db.exists(sql.type(z.object({}))`select from run_routes where run_no = ${run} and flow_no = ${flow} and write = 'records'`)

type WriteRoute = {run: number; flow: number; write: 'records' | 'bulk'; why: string}

/** Stores how a flow writes records. A flow without matching has no route yet, so its match route becomes `query`. */
export const keepWriteRoute = (db: Db, {run, flow, write, why}: WriteRoute) =>
  db.query(sql.type(z.object({}))`
    insert into run_routes (run_no, flow_no, match, why, write, write_why) values (${run}, ${flow}, 'query', 'The flow looks for no records', ${write}, ${why})
    on conflict (run_no, flow_no) do update set write = excluded.write, write_why = excluded.write_why`)
