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

/** The head's counts have so many places for each module: one for each outcome, and the last for rows that a filter kept back. */
const countsPerModule = 16

/** Where a module's count of an outcome stands among the head's counts. */
export const countAt = (module: number, outcome: Outcome) => (module - 1) * countsPerModule + outcomeNo(outcome)
/** The number of the outcome that is counted at a place. */
export const outcomeNoAt = (place: number) => place % countsPerModule
/** And that of the rows a filter kept back, of which the log says nothing. */
export const filteredAt = (module: number) => module * countsPerModule - 1

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

/** All the run has said of one row of a file, in seq order. `flows`: those that read the file. */
export const listRowLog = (db: Db, {run, flows, row}: {run: number; flows: number[]; row: number}) =>
  db.any(sql.type(LogEntry)`
    select seq, row_key as "rowKey", flow_no as flow, row_number as "rowNumber", module_no as module, phase, target, attempt,
      record_id as "recordId", outcome, code, message, at
    from run_log where run_no = ${run} and flow_no = any(${sql.array(flows, 'int2')}) and row_number = ${row} order by seq limit 1000`)

const LateUpdate = z.object({recordId: z.string(), rowKey: z.string(), leftMs: z.number()})

/** Updates and patches that nobody answered in the last `seconds`, in this run or an earlier one of its chain. The oldest is the first. */
export const listLateUpdates = (db: Db, {run, chain, seconds}: {run: number; chain: number; seconds: number}) =>
  db.any(sql.type(LateUpdate)`
    with since as materialized (select lading_now() - make_interval(secs => ${seconds}) as moment)
    select record_id as "recordId", row_key as "rowKey", (extract(epoch from at - moment) * 1000)::float8 as "leftMs"
    from since cross join runs join run_log using (run_no)
    where (run_no = ${run} or run_no = ${chain} or chain_no = ${chain}) and (ended_at is null or ended_at > moment)
      and run_log.outcome = ${outcomeNo('unanswered')} and record_id is not null and phase in (0, 1) and at > moment
    order by at`)

/** Rows past the cursor that the run has said something about. */
export const listLoggedRows = (db: Db, {run, flow, after}: {run: number; flow: number; after: number}) =>
  db.anyFirst(sql.type(z.object({number: z.number()}))`
    select distinct row_number as number from run_log where run_no = ${run} and flow_no = ${flow} and row_number > ${after} and phase = 0`)

/** The ends of these rows, by the reading rules. */
export const listEnds = (db: Db, {run, flow, numbers}: {run: number; flow: number; numbers: number[]}) =>
  db.any(sql.type(z.object({number: z.number(), outcome: z.number()}))`
    select distinct on (row_number) row_number as number, outcome from run_log
    where run_no = ${run} and flow_no = ${flow} and row_number = any(${sql.array(numbers, 'int8')}) and phase = 0 and outcome < 8
    order by row_number, attempt desc, (outcome = 3), seq desc`)

/** What the run has said of the patches of rows past the cursor. `isOver`: by more than that a send was not answered. */
export const listPatches = (db: Db, {run, flow, after}: {run: number; flow: number; after: number}) =>
  db.any(sql.type(z.object({number: z.number(), attempt: z.number(), isOver: z.boolean()}))`
    select row_number as number, max(attempt) as attempt, bool_or(outcome <> 3) as "isOver" from run_log
    where run_no = ${run} and flow_no = ${flow} and row_number > ${after} and phase = 1 group by row_number`)

const readPageStatement = prepare<Omit<LogEntry, 'at'> & {at: Date; recordsAt: 'db' | 'storage'; seq: number | null}>(
  'read-log-page',
  `select records_at as "recordsAt", l.* from runs r left join lateral (
     select seq, row_key as "rowKey", flow_no as flow, row_number as "rowNumber", module_no as module, phase, target, attempt,
       record_id as "recordId", outcome, code, message, at
     from run_log where r.records_at = 'db' and run_no = r.run_no and seq > $2::bigint order by seq limit $3::bigint) l on true
   where r.run_no = $1::bigint order by seq`,
)

/**
 * As `listLog`, or null when the run's records are in storage. Both are read by one statement, so in one snapshot of the database: a page
 * is never missing what is just being deleted.
 */
export const readLogPage = async (
  hot: Hot,
  {run, after, limit}: {run: number; after: number; limit: number},
): Promise<LogEntry[] | null> => {
  const rows = await readPageStatement(hot, [run, after, limit])
  if (rows[0]?.recordsAt === 'storage') return null
  return rows.flatMap(({recordsAt: _, ...entry}) => (entry.seq === null ? [] : {...entry, at: entry.at.toISOString()}))
}

/** Where a run's records are now, and how far its log goes: every entry up to `seq` is there, and none is ever added before it. */
export const findRecordsAt = (db: Db, run: number) =>
  db.one(sql.type(z.object({recordsAt: z.enum(['db', 'storage']), seq: z.number()}))`
    select records_at as "recordsAt", next_seq - 1 as seq from runs join run_heads using (run_no) where run_no = ${run}`)

/** What finally became of one row in one module; or of one of its patches, matches or lookups, each by its `target`, the field. */
/** Which links of these rows the run has said something about. */
export const listLookedUp = (db: Db, {run, flow, numbers}: {run: number; flow: number; numbers: number[]}) =>
  db.any(sql.type(z.object({number: z.number(), field: z.string()}))`
    select row_number as number, target as field from run_log
    where run_no = ${run} and flow_no = ${flow} and row_number = any(${sql.array(numbers, 'int8')}) and phase = 3`)

export type FinalEntry = {
  number: number
  module: number
  flow: number
  phase: number
  target: string | null
  outcome: number
  recordId: string | null
  code: string | null
  message: string | null
  disclosed: boolean
}

type Finals = {run: number; flows: number[]; from: number; to: number; seq: number}

/**
 * The final entries of rows `from`..`to` of the named flows, of what the log held at `seq`; null when the run's records are in storage.
 * Of each row key and module: the write phase's highest attempt; a real answer over `unanswered` (3), whatever their order; of real
 * answers the later. Never `made_after_no_answer`, `would_ask` or `lookup` (8 to 10). Patches (phase 1), matches (2) and lookups (3) have
 * a final entry for each field. `disclosed`: a create of the row was never answered and nothing later shows what became of it, so
 * the record may exist twice. Left out: an unanswered update, which names its record, and a create whose unique field rules out a second one.
 */
export const listFinals = async (hot: Hot, {run, flows, from, to, seq}: Finals): Promise<FinalEntry[] | null> => {
  const rows = await listFinalsStatement(hot, [run, flows, from, to, seq])
  if (rows[0]?.recordsAt === 'storage') return null
  return rows.flatMap(({recordsAt: _, ...entry}) => (entry.number === null ? [] : entry))
}

const listFinalsStatement = prepare<FinalEntry & {recordsAt: 'db' | 'storage'; number: number | null}>(
  'list-finals',
  `select records_at as "recordsAt", f.* from runs r left join lateral (
     select number, module, flow, phase, target, outcome, "recordId", code, message, phase = 0 and (twice or (outcome in (2, 3) and silent)) as disclosed
     from (
       select distinct on (row_number, flow_no, module_no, phase, row_key, field) row_number as number, module_no as module,
         flow_no as flow, phase, target, outcome, record_id as "recordId", code, message, row_key,
         bool_or(outcome = 8 and phase = 0) over entries as twice,
         bool_or(outcome = 3 and phase = 0 and record_id is null and coalesce(code, '') not in ('RESEND_SAFE', 'KEY_UNANSWERED')) over entries as silent
       from (
         select *, case when phase = 0 then '' else coalesce(target, '') end as field from run_log
         where r.records_at = 'db' and run_no = r.run_no and flow_no = any($2::smallint[]) and row_number between $3::bigint and $4::bigint and seq <= $5::bigint
           and (phase <> 0 or outcome < 9)) entry
       window entries as (partition by row_number, flow_no, module_no, row_key)
       order by row_number, flow_no, module_no, phase, row_key, field, outcome = 8, attempt desc, (outcome = 3), seq desc) finals
     where outcome <> 8) f on true
   where r.run_no = $1::bigint
   order by number, flow, phase, module`,
)
