import {z} from 'zod'
import {type Db, type Hot, prepare, sql} from './database.ts'

/** Stored as small numbers: the position in these lists. Only ever add at the end. */
export const PHASES = ['write', 'patch', 'match', 'lookup'] as const
export const OUTCOMES = [
  'created',
  'updated',
  'refused',
  'unanswered',
  'inherited',
  'failed',
  'skipped',
  'planned',
  'made_after_no_answer',
  'would_ask',
  'lookup',
] as const
export type Outcome = (typeof OUTCOMES)[number]
export const outcomeNo = (outcome: Outcome) => OUTCOMES.indexOf(outcome)

/** Where a module's count of an outcome stands among the head's counts. */
export const countAt = (module: number, outcome: Outcome) => (module - 1) * 16 + outcomeNo(outcome)

const LogEntry = z.object({
  seq: z.number(),
  rowKey: z.string(),
  flow: z.number().nullable(),
  rowNumber: z.number().nullable(),
  module: z.number(),
  phase: z.number(),
  target: z.string().nullable(),
  attempt: z.number(),
  recordId: z.string().nullable(),
  outcome: z.number(),
  code: z.string().nullable(),
  message: z.string().nullable(),
  at: z.string(),
})
export type LogEntry = z.infer<typeof LogEntry>

/** In seq order, from the one after `after`. A sequence number is given under the head's lock: no reader misses one below it. */
export const listLog = (db: Db, {run, after, limit}: {run: number; after: number; limit: number}) =>
  db.any(sql.type(LogEntry)`
    select seq, row_key as "rowKey", flow_no as flow, row_number as "rowNumber", module_no as module, phase, target, attempt,
      record_id as "recordId", outcome, code, message, at
    from run_log where run_no = ${run} and seq > ${after} order by seq limit ${limit}`)

/** Rows past the cursor that the run has said something about. */
export const listLoggedRows = (db: Db, {run, flow, after}: {run: number; flow: number; after: number}) =>
  db.anyFirst(sql.type(z.object({number: z.number()}))`
    select distinct row_number as number from run_log where run_no = ${run} and flow_no = ${flow} and row_number > ${after} and phase = 0`)

export type FinalEntry = {
  number: number
  module: number
  flow: number
  outcome: number
  recordId: string | null
  code: string | null
  message: string | null
  disclosed: boolean
}

/**
 * The final entry of every (row, flow, module) among rows `from`..`to` of the named flows: the write phase's highest attempt; a real
 * answer over `unanswered` (3), whatever their order; of real answers the later. Never `made_after_no_answer`, `would_ask` or
 * `lookup` (8 to 10). `disclosed`: a create of the row was never answered and nothing later shows that it was not done, so the
 * record may exist twice. An update that nobody answered names its record and is not meant.
 */
export const listFinals = (hot: Hot, {run, flows, from, to}: {run: number; flows: number[]; from: number; to: number}) =>
  listFinalsStatement(hot, [run, flows, from, to])

const listFinalsStatement = prepare<FinalEntry>(
  'list-finals',
  `select number, module, flow, outcome, "recordId", code, message, twice or (outcome = 2 and silent) as disclosed
   from (
     select distinct on (row_number, flow_no, module_no) row_number as number, module_no as module, flow_no as flow, outcome,
       record_id as "recordId", code, message, bool_or(outcome = 8) over entries as twice,
       bool_or(outcome = 3 and record_id is null) over entries as silent
     from run_log
     where run_no = $1::bigint and flow_no = any($2::smallint[]) and row_number between $3::bigint and $4::bigint and phase = 0
     window entries as (partition by row_number, flow_no, module_no)
     order by row_number, flow_no, module_no, outcome >= 8, attempt desc, (outcome = 3), seq desc) finals
   where outcome < 8
   order by number, flow, module`,
)
