import {z} from 'zod'
import {type Db, type Hot, prepare, sql} from './database.ts'
import {blockOf, MOST_IN_CHUNK} from './log-chunks.ts'

/** The log stores phases as small numbers: positions in this list. Only append to the list. */
export const PHASES = ['write', 'patch', 'match', 'lookup', 'tag', 'edit'] as const
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
export type OutcomeName = (typeof OUTCOMES)[number]
export const outcomeNo = (outcome: OutcomeName) => OUTCOMES.indexOf(outcome)

/**
 * The number of counts per module in the run's head. Most counts are for outcomes; the last ones are for stale rows, deleted records, kept rows, kept
 * edits, unchanged rows and filtered rows.
 */
const countsPerModule = 16

/** The position of a module's count of an outcome in the head's counts. */
export const countAt = (module: number, outcome: OutcomeName) => (module - 1) * countsPerModule + outcomeNo(outcome)
/** The number of the outcome, or of another count, at a position. */
export const outcomeNoAt = (place: number) => place % countsPerModule
const [staleNo, deletedNo, keptRowsNo, keptEditsNo, unchangedNo] = [10, 11, 12, 13, 14]
/** The position of a module's count of unchanged rows. These rows are also counted as skipped. */
export const unchangedAt = (module: number) => (module - 1) * countsPerModule + unchangedNo
export const isUnchangedAt = (place: number) => outcomeNoAt(place) === unchangedNo
/** The position of a module's count of values that were not written, because a person had edited them. It counts values, not rows. */
export const keptEditsAt = (module: number) => (module - 1) * countsPerModule + keptEditsNo
export const isKeptEditsAt = (place: number) => outcomeNoAt(place) === keptEditsNo
/** The position of a module's count of rows that were skipped because every value that differs was edited. These rows are also counted as skipped. */
export const keptRowsAt = (module: number) => (module - 1) * countsPerModule + keptRowsNo
export const isKeptRowsAt = (place: number) => outcomeNoAt(place) === keptRowsNo
/** The position of a module's count of rows whose record a run deleted, or would delete. These rows are also counted as updated or planned. */
export const deletedAt = (module: number) => (module - 1) * countsPerModule + deletedNo
export const isDeletedAt = (place: number) => outcomeNoAt(place) === deletedNo
/**
 * The position of a module's count of rows that were skipped because they differ from the sealed plan. These rows are also counted as skipped. The
 * count uses the position of the outcome `lookup`, which counts no rows.
 */
export const staleAt = (module: number) => (module - 1) * countsPerModule + staleNo
export const isStaleAt = (place: number) => outcomeNoAt(place) === staleNo
/** The position of a module's count of filtered rows, which have no log entries. */
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

/**
 * Lists the next `limit` log entries after `after`, in order of `seq`. Sequence numbers have no gaps. They are assigned under the lock of the
 * run's head, so a reader never misses a lower one.
 */
export const listLog = (db: Db, {run, after, limit}: {run: number; after: number; limit: number}) =>
  db.any(sql.type(LogEntry)`
    select seq, row_key as "rowKey", flow_no as flow, row_number as "rowNumber", module_no as module, phase, target, attempt,
      record_id as "recordId", outcome, code, message, at
    from log_entries where run_no = ${run} and seq > ${after} and seq <= ${after + limit}
      and first_seq <= ${after + limit} and last_seq > ${after} and last_seq < ${after + limit + MOST_IN_CHUNK} order by seq`)

/** Lists the log entries of one row of a file, in order of `seq`, at most 1,000. `flows`: the flows that read the file. */
export const listRowLog = (db: Db, {run, flows, row}: {run: number; flows: number[]; row: number}) =>
  db.any(sql.type(LogEntry)`
    select seq, row_key as "rowKey", flow_no as flow, row_number as "rowNumber", module_no as module, phase, target, attempt,
      record_id as "recordId", outcome, code, message, at
    from log_entries where run_no = ${run} and flow_no = any(${sql.array(flows, 'int2')}) and block = ${blockOf(row)} and row_number = ${row}
    order by seq limit 1000`)

const blockArray = (numbers: readonly (number | null)[]) => sql.array([...new Set(numbers.map(blockOf))], 'int4')

const LateUpdate = z.object({recordId: z.string(), rowKey: z.string(), leftMs: z.number()})

/**
 * Lists the log entries of unanswered writes and unanswered patches whose record is known, oldest first. Searches the last `seconds` of this run and
 * of all runs of the chains. `leftMs`: the ms until the entry is `seconds` old.
 */
export const listLateUpdates = (db: Db, {run, chains, seconds}: {run: number; chains: number[]; seconds: number}) =>
  db.any(sql.type(LateUpdate)`
    with since as materialized (select lading_now() - make_interval(secs => ${seconds}) as moment)
    select record_id as "recordId", row_key as "rowKey", (extract(epoch from at - moment) * 1000)::float8 as "leftMs"
    from since cross join runs join log_entries using (run_no)
    where (run_no = any(${sql.array([run, ...chains], 'int8')}) or chain_no = any(${sql.array(chains, 'int8')})) and (ended_at is null or ended_at > moment)
      and log_entries.outcome = ${outcomeNo('unanswered')} and record_id is not null and phase in (0, 1) and at > moment
    order by at`)

/** Lists the rows with a number above `after` that have a log entry of the write phase. */
export const listLoggedRows = (db: Db, {run, flow, after}: {run: number; flow: number; after: number}) =>
  db.anyFirst(sql.type(z.object({number: z.number()}))`
    select distinct row_number as number from log_entries
    where run_no = ${run} and flow_no = ${flow} and block >= ${blockOf(after)} and row_number > ${after} and phase = 0`)

/** Returns the final outcomes of these rows, by the log's reading rules (see `listFinals`). */
export const listEnds = (db: Db, {run, flow, numbers}: {run: number; flow: number; numbers: number[]}) =>
  db.any(sql.type(z.object({number: z.number(), outcome: z.number(), code: z.string().nullable(), attempt: z.number()}))`
    select distinct on (row_number) row_number as number, outcome, code, attempt from log_entries
    where run_no = ${run} and flow_no = ${flow} and block = any(${blockArray(numbers)}) and row_number = any(${sql.array(numbers, 'int8')}) and phase = 0 and outcome < 8
    order by row_number, attempt desc, (outcome = 3), seq desc`)

/**
 * Returns the final outcomes of rows, found by row key, because rows of an external engine may have no numbers. Reads the whole log of the run, so
 * call it only after a takeover. `byRecord`: returns the final outcome of each record of a row.
 */
export const listEndsOfKeys = (
  db: Db,
  {run, module, keys, byRecord = false}: {run: number; module: number; keys: string[]; byRecord?: boolean},
) => {
  const each = byRecord ? sql.fragment`row_key, record_id` : sql.fragment`row_key`
  return db.any(sql.type(z.object({key: z.string(), recordId: z.string().nullable(), outcome: z.number(), attempt: z.number()}))`
    select distinct on (${each}) row_key as key, record_id as "recordId", outcome, attempt from log_entries
    where run_no = ${run} and module_no = ${module} and row_key = any(${sql.array(keys, 'text')}) and phase = 0 and outcome < 8
    order by ${each}, attempt desc, (outcome = 3), seq desc`)
}

/**
 * Lists which of these rows the run logged as records that may exist twice. For rows without a number, reads the whole log of the run, so it is used
 * only for rows that are about to be logged so.
 */
export const listLoggedTwice = (db: Db, {run, rows}: {run: number; rows: {key: string; number: number | null}[]}) =>
  db.any(sql.type(z.object({module: z.number(), key: z.string()}))`
    select distinct module_no as module, row_key as key from log_entries
    where run_no = ${run} and block = any(${blockArray([null, ...rows.map(({number}) => number)])}) and outcome = ${outcomeNo('made_after_no_answer')}
      and row_key = any(${sql.array(
        rows.map(({key}) => key),
        'text',
      )})`)

/**
 * Lists the rows with a number above `after` that the run logged in a phase. `isOver`: at least one entry of the row has an outcome other than
 * `unanswered`.
 */
export const listSentBefore = (
  db: Db,
  {run, flow, after, phase}: {run: number; flow: number; after: number; phase: (typeof PHASES)[number]},
) =>
  db.any(sql.type(z.object({number: z.number(), attempt: z.number(), isOver: z.boolean()}))`
    select row_number as number, max(attempt) as attempt, bool_or(outcome <> 3) as "isOver" from log_entries
    where run_no = ${run} and flow_no = ${flow} and block >= ${blockOf(after)} and row_number > ${after} and phase = ${PHASES.indexOf(phase)} group by row_number`)

const readPageStatement = prepare<Omit<LogEntry, 'at'> & {at: Date; recordsAt: 'db' | 'storage'; seq: number | null}>(
  'read-log-page',
  `select records_at as "recordsAt", l.* from runs r left join lateral (
     select seq, row_key as "rowKey", flow_no as flow, row_number as "rowNumber", module_no as module, phase, target, attempt,
       record_id as "recordId", outcome, code, message, at
     from log_entries where r.records_at = 'db' and run_no = r.run_no and seq > $2::bigint and seq <= $2 + $3::bigint
       and first_seq <= $2 + $3 and last_seq > $2 and last_seq < $2 + $3 + ${MOST_IN_CHUNK}) l on true
   where r.run_no = $1::bigint order by seq`,
)

/**
 * Lists log entries as `listLog` does. Returns null if the records of the run are in storage. One statement reads the entries and where the
 * records are, so a page never lacks entries that are being deleted.
 */
export const readLogPage = async (
  hot: Hot,
  {run, after, limit}: {run: number; after: number; limit: number},
): Promise<LogEntry[] | null> => {
  const rows = await readPageStatement(hot, [run, after, limit])
  if (rows[0]?.recordsAt === 'storage') return null
  return rows.flatMap(({recordsAt: _, ...entry}) => (entry.seq === null ? [] : {...entry, at: entry.at.toISOString()}))
}

/** Returns where a run's records are, and the last `seq` of its log. All entries up to this `seq` exist, and none is ever added before it. */
export const findRecordsAt = (db: Db, run: number) =>
  db.one(sql.type(z.object({recordsAt: z.enum(['db', 'storage']), seq: z.number()}))`
    select records_at as "recordsAt", next_seq - 1 as seq from runs join run_heads using (run_no) where run_no = ${run}`)

type NotedFieldsQuery = {run: number; flow: number; numbers: number[]; phase: 'lookup' | 'edit'}

/** Lists the fields of these rows that have a log entry of the phase. */
export const listNotedFields = (db: Db, {run, flow, numbers, phase}: NotedFieldsQuery) =>
  db.any(sql.type(z.object({number: z.number(), field: z.string()}))`
    select row_number as number, target as field from log_entries
    where run_no = ${run} and flow_no = ${flow} and block = any(${blockArray(numbers)}) and row_number = any(${sql.array(numbers, 'int8')}) and phase = ${PHASES.indexOf(phase)}`)

/** A row's final outcome in one module. For a patch, match, lookup or edit, `target` names the field. */
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
  /**
   * A create of the row was never answered, and nothing later shows its result. So the record may exist twice. False for an unanswered update,
   * because it names its record, and for a create whose unique field prevents a second record.
   */
  disclosed: boolean
}

type Finals = {run: number; flows: number[]; from: number; to: number; seq: number}

/**
 * Returns the final entries of rows `from`..`to` of these flows, as of `seq`; null if the run's records are in storage. In the write phase, a row key
 * and module have one final entry: the last answer of the highest attempt. It is `unanswered` (3) only if this attempt has no answer. The outcomes
 * `made_after_no_answer`, `would_ask` and `lookup` (8 to 10) are never final there. Patches, matches, lookups, tags and edits (phases 1 to 5) have a
 * final entry per field.
 */
export const listFinals = async (hot: Hot, {run, flows, from, to, seq}: Finals): Promise<FinalEntry[] | null> => {
  const rows = await listFinalsStatement(hot, [run, flows, from, to, seq, blockOf(from), blockOf(to)])
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
         select *, case when phase = 0 then '' else coalesce(target, '') end as field from log_entries
         where r.records_at = 'db' and run_no = r.run_no and flow_no = any($2::smallint[]) and block between $6::int and $7::int and row_number between $3::bigint and $4::bigint and seq <= $5::bigint
           and (phase <> 0 or outcome < 9)) entry
       window entries as (partition by row_number, flow_no, module_no, row_key)
       order by row_number, flow_no, module_no, phase, row_key, field, outcome = 8, attempt desc, (outcome = 3), seq desc) finals
     where outcome <> 8) f on true
   where r.run_no = $1::bigint
   order by number, flow, phase, module`,
)
