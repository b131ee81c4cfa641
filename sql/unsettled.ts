import {z} from 'zod'
import {type Db, sql} from './database.ts'

const UnsettledRow = z.object({
  run: z.number(),
  number: z.number(),
  kind: z.number(),
  target: z.string().nullable(),
  hasUniqueKey: z.boolean(),
  digest: z.instanceof(Buffer).nullable(),
  attempt: z.number(),
  /** Whether the run makes no further attempt. */
  ended: z.boolean(),
  /** The number of unanswered creates of the row in its chain. */
  creates: z.number(),
})
export type UnsettledRow = z.infer<typeof UnsettledRow>

const columns = sql.fragment`run_no as run, row_number as number, kind, target, witness as "hasUniqueKey", digest, last_attempt as attempt, ended, creates`

type OfFlow = {chain: number; flow: number; module: number}

/**
 * Lists the unsettled entries of one flow of a chain, in row order. These are rows whose last send was not answered, or whose refusal requires
 * another step. `module`: a retry may give the flow another module. `after`: a row number. `run` in the result: the run that stored the entry.
 */
export const listUnsettled = (db: Db, {chain, flow, module, after, limit}: OfFlow & {after: number; limit: number}) =>
  db.any(sql.type(UnsettledRow)`
    select ${columns} from unsettled
    where chain_no = ${chain} and flow_no = ${flow} and module_no = ${module} and row_number > ${after} order by row_number limit ${limit}`)

const LostCreate = z.object({
  key: z.string(),
  digest: z.instanceof(Buffer),
  sentAt: z.number(),
  sentAgoMs: z.number(),
  dueInMs: z.number(),
  creates: z.number(),
})
export type LostCreate = z.infer<typeof LostCreate>

/**
 * Lists the chain's unanswered creates without a unique key that sent one of these payloads, in row order. `sentAt`: equal for the rows of
 * one batch. `dueInMs`: for how many ms the CRM may still execute the create; 0 or less afterwards. `creates`: the number of the row's
 * unanswered creates.
 */
export const listLostCreates = (db: Db, {chain, module, digests}: {chain: number; module: number; digests: readonly Buffer[]}) =>
  db.any(sql.type(LostCreate)`
    select row_key as key, digest, creates, extract(epoch from sent_at)::float8 as "sentAt", (extract(epoch from lading_now() - sent_at) * 1000)::float8 as "sentAgoMs",
      (extract(epoch from deadline_at - lading_now()) * 1000)::float8 as "dueInMs"
    from unsettled
    where chain_no = ${chain} and module_no = ${module} and digest = any(${sql.array([...digests], 'bytea')}) and kind = 0 and not witness
    order by row_number, row_key`)

export const findUnsettled = (db: Db, {chain, flow, module, numbers}: OfFlow & {numbers: number[]}) =>
  db.any(sql.type(UnsettledRow)`
    select ${columns} from unsettled
    where chain_no = ${chain} and flow_no = ${flow} and module_no = ${module} and row_number = any(${sql.array(numbers, 'int8')})`)

type Rows = {run: number; chain: number; module: number; keys: readonly string[]}

export const listOpenKinds = (db: Db, {run, chain, module, keys}: Rows) =>
  db.any(sql.type(z.object({key: z.string(), kind: z.number()}))`
    select row_key as key, kind from unsettled
    where chain_no = ${chain} and module_no = ${module} and row_key = any(${sql.array([...keys], 'text')}) and run_no = ${run}`)
