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
  /** Its run is done with it. */
  ended: z.boolean(),
  /** Creates of the row in its chain that were never answered. */
  creates: z.number(),
})
export type Question = z.infer<typeof Question>

const columns = sql.fragment`run_no as run, row_number as number, kind, target, witness, digest, last_attempt as attempt, ended, creates`

/**
 * The open questions of one flow of a chain, in the order of its rows: those whose last send was not answered, or whose refusal asks
 * for another step. `run`: the one that left it. At most `limit`, of the rows after `after`.
 */
export const listUnsettled = (db: Db, {chain, flow, after, limit}: {chain: number; flow: number; after: number; limit: number}) =>
  db.any(sql.type(Question)`
    select ${columns} from unsettled
    where chain_no = ${chain} and flow_no = ${flow} and row_number > ${after} order by row_number limit ${limit}`)

const Lost = z.object({
  key: z.string(),
  digest: z.instanceof(Buffer),
  sentAt: z.number(),
  sentAgoMs: z.number(),
  dueInMs: z.number(),
  creates: z.number(),
})
export type Lost = z.infer<typeof Lost>

/**
 * Lists the chain's unanswered creates without a unique value that sent one of these payloads, in the
 * order of their rows. `sentAt`: equal for the rows of one batch. `dueInMs`: ms during which the CRM may still execute the create; 0 or less after.
 * `creates`: how many creates of the row were never answered.
 */
export const listLost = (db: Db, {chain, module, digests}: {chain: number; module: number; digests: readonly Buffer[]}) =>
  db.any(sql.type(Lost)`
    select row_key as key, digest, creates, extract(epoch from sent_at)::float8 as "sentAt", (extract(epoch from lading_now() - sent_at) * 1000)::float8 as "sentAgoMs",
      (extract(epoch from deadline_at - lading_now()) * 1000)::float8 as "dueInMs"
    from unsettled
    where chain_no = ${chain} and module_no = ${module} and digest = any(${sql.array([...digests], 'bytea')}) and kind = 0 and not witness
    order by row_number, row_key`)

/** Those of these rows. */
export const findUnsettled = (db: Db, {chain, flow, numbers}: {chain: number; flow: number; numbers: number[]}) =>
  db.any(sql.type(Question)`
    select ${columns} from unsettled
    where chain_no = ${chain} and flow_no = ${flow} and row_number = any(${sql.array(numbers, 'int8')})`)

type Rows = {run: number; chain: number; module: number; keys: readonly string[]}

/** Which of these rows have an open question in the run, and of what kind. */
export const listOpenKinds = (db: Db, {run, chain, module, keys}: Rows) =>
  db.any(sql.type(z.object({key: z.string(), kind: z.number()}))`
    select row_key as key, kind from unsettled
    where chain_no = ${chain} and module_no = ${module} and row_key = any(${sql.array([...keys], 'text')}) and run_no = ${run}`)
