import {z} from 'zod'
import {type Db, sql} from './database.ts'

const Question = z.object({
  number: z.number(),
  kind: z.number(),
  target: z.string().nullable(),
  witness: z.boolean(),
  attempt: z.number(),
})
export type Question = z.infer<typeof Question>

/** The open questions of one flow of a run: rows whose last send was not answered, or whose refusal asks for another step. */
export const listUnsettled = (db: Db, {run, flow}: {run: number; flow: number}) =>
  db.any(sql.type(Question)`
    select row_number as number, kind, target, witness, last_attempt as attempt from unsettled where run_no = ${run} and flow_no = ${flow}`)

const Key = z.object({module: z.number(), key: z.string(), kind: z.number()})

export const listUnsettledKeys = (db: Db, {run}: {run: number}) =>
  db.any(sql.type(Key)`select module_no as module, row_key as key, kind from unsettled where run_no = ${run}`)
