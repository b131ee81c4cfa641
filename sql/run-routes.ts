import {z} from 'zod'
import {type Db, sql} from './database.ts'

type RunRoute = {run: number; flow: number; match: 'query' | 'snapshot'; why: string}

/** Stores the route of a flow. A later owner of the run may take another one. */
export const keepRoute = (db: Db, {run, flow, match, why}: RunRoute) =>
  db.query(sql.type(z.object({}))`
    insert into run_routes (run_no, flow_no, match, why) values (${run}, ${flow}, ${match}, ${why})
    on conflict (run_no, flow_no) do update set match = excluded.match, why = excluded.why`)
