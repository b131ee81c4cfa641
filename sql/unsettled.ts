import {z} from 'zod'
import {type Db, sql} from './database.ts'

const Question = z.object({
  run: z.number(),
  number: z.number(),
  kind: z.number(),
  target: z.string().nullable(),
  witness: z.boolean(),
  digest: z.instanceof(Buffer).nullable(),
  attempt: z.number(),
})
export type Question = z.infer<typeof Question>

/**
 * The open questions of one flow of a chain, in the order of its rows: those whose last send was not answered, or whose refusal asks
 * for another step. `run`: the one that left it. At most `limit`, of the rows after `after`.
 */
export const listUnsettled = (db: Db, {chain, flow, after, limit}: {chain: number; flow: number; after: number; limit: number}) =>
  db.any(sql.type(Question)`
    select run_no as run, row_number as number, kind, target, witness, digest, last_attempt as attempt from unsettled
    where chain_no = ${chain} and flow_no = ${flow} and row_number > ${after} order by row_number limit ${limit}`)

type Rows = {run: number; chain: number; module: number; keys: readonly string[]}

/** Which of these rows have an open question in the run, and of what kind. */
export const listOpenKinds = (db: Db, {run, chain, module, keys}: Rows) =>
  db.any(sql.type(z.object({key: z.string(), kind: z.number()}))`
    select row_key as key, kind from unsettled
    where chain_no = ${chain} and module_no = ${module} and row_key = any(${sql.array([...keys], 'text')}) and run_no = ${run}`)
