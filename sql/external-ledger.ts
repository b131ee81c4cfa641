import {z} from 'zod'
import {HOW} from './chain-rows.ts'
import {type Db, sql, type Tx} from './database.ts'

const Empty = z.object({})

/**
 * The codes for the write of a row in a batch or an unsettled entry. `again`: the row has an unanswered create, and the CRM answered a later
 * write. This answer does not show whether the create succeeded.
 */
export const EXTERNAL_STEP_CODES = {create: 0, update: 1, again: 2, replace: 3} as const

/**
 * The state of a row that an external engine wants to write. `counted`: the row is admitted. `outcome`: the outcome under which the row is
 * counted. `kind`: the kind of the row's unsettled entry. `sending`: a batch in flight contains the row. `how`: how the row got its record.
 */
const ExternalRowState = z.object({
  key: z.string(),
  counted: z.boolean(),
  parent: z.string().nullable(),
  lastAttempt: z.number(),
  lastPatch: z.number(),
  outcome: z.number().nullable(),
  kind: z.number().nullable(),
  /** How many creates of the row were not answered in the chain. */
  creates: z.number(),
  /**
   * Whether all unanswered creates of the row share a unique value. Digests that an earlier build did not store count as equal. `digests`: see
   * `UniqueValueDigests`.
   */
  hasUniqueKey: z.boolean(),
  digests: z.instanceof(Buffer).nullable(),
  sending: z.boolean(),
  recordId: z.string().nullable(),
  how: z.number().nullable(),
  /** Whether an earlier run of the chain wrote the row's record. */
  inherited: z.boolean(),
  unchanged: z.boolean(),
  /** Whether the row's record may exist twice. */
  mayExistTwice: z.boolean(),
})
export type ExternalRowState = z.infer<typeof ExternalRowState>

/** Returns the states of rows, one per key in the given order. The caller has locked the run. */
export const listExternalRowStates = (tx: Tx, {run, chain, module, keys}: {run: number; chain: number; module: number; keys: string[]}) =>
  tx.any(sql.type(ExternalRowState)`
    with flying as (select unnest(row_keys) as key from sends where run_no = ${run} and module_no = ${module})
    select r.key, a.row_key is not null as counted, a.parent_key as parent,
      greatest(a.last_attempt, f.last_attempt, case when u.run_no = ${run} then u.last_attempt end, 0)::int as "lastAttempt",
      coalesce(a.last_patch, 0) as "lastPatch", coalesce(a.outcome, f.outcome) as outcome, u.kind, coalesce(u.creates, 0) as creates,
      coalesce(u.witness, false) as "hasUniqueKey", u.digest as digests, r.key in (select key from flying) as sending, c.record_id as "recordId", c.how,
      coalesce(c.run_no <> ${run}, false) as inherited, coalesce(f.unchanged and a.outcome is null, false) as unchanged,
      coalesce(c.may_exist_twice, false) as "mayExistTwice"
    from unnest(${sql.array(keys, 'text')}) with ordinality as r(key, at)
    left join admissions a on a.run_no = ${run} and a.module_no = ${module} and a.row_key = r.key
    left join released_attempts f on f.run_no = ${run} and f.module_no = ${module} and f.row_key = r.key
    left join unsettled u on u.chain_no = ${chain} and u.module_no = ${module} and u.row_key = r.key
    left join chain_rows c on c.chain_no = ${chain} and c.module_no = ${module} and c.row_key = r.key
    order by r.at`)

export type AdmittedRow = {
  key: string
  number: number | null
  attempt: number
  parent: string | null
  target: string | null
  hasUniqueKey: boolean
  digests: Buffer
  fresh: boolean
  patch: boolean
}

/** Admits rows with their attempt number. A row that is admitted already gets the new number. */
export const putAdmissions = (tx: Tx, {run, module, rows}: {run: number; module: number; rows: AdmittedRow[]}) =>
  tx.query(sql.type(Empty)`
    insert into admissions (run_no, module_no, row_key, last_attempt, parent_key)
    select ${run}, ${module}, key, attempt, parent
    from unnest(${column(rows, 'key', 'text')}, ${column(rows, 'attempt', 'int2')}, ${column(rows, 'parent', 'text')}) as r(key, attempt, parent)
    order by key
    on conflict (run_no, module_no, row_key) do update set last_attempt = excluded.last_attempt`)

export const raisePatches = (tx: Tx, {run, module, keys}: {run: number; module: number; keys: string[]}) =>
  tx.query(sql.type(Empty)`
    update admissions set last_patch = last_patch + 1
    where run_no = ${run} and module_no = ${module} and row_key = any(${sql.array(keys, 'text')})`)

export const putOutcomes = (tx: Tx, {run, rows}: {run: number; rows: {module: number; key: string; outcome: number}[]}) =>
  tx.query(sql.type(Empty)`
    update admissions set outcome = r.outcome
    from unnest(${column(rows, 'module', 'int2')}, ${column(rows, 'key', 'text')}, ${column(rows, 'outcome', 'int2')}) as r(module, key, outcome)
    where run_no = ${run} and module_no = r.module and row_key = r.key`)

/** Undoes the last attempt or patch of rows that an earlier batch admitted and whose last batch was not sent. */
export const lowerAttempts = (tx: Tx, {run, rows}: {run: number; rows: {module: number; key: string; patch: boolean}[]}) =>
  tx.query(sql.type(Empty)`
    update admissions set last_attempt = last_attempt - (not patch)::int, last_patch = last_patch - patch::int
    from unnest(${column(rows, 'module', 'int2')}, ${column(rows, 'key', 'text')}, ${column(rows, 'patch', 'bool')}) as r(module, key, patch)
    where run_no = ${run} and module_no = r.module and row_key = r.key`)

type Send = {
  run: number
  batch: number
  fence: number
  module: number
  flow: number | null
  kind: number
  write: string
  rows: (AdmittedRow & {at: number})[]
  answerSeconds: number
}

/** Stores the intent of a batch. The transaction that logs the result deletes the intent. */
export const putSend = (tx: Tx, {run, batch, fence, module, flow, kind, write, rows, answerSeconds}: Send) =>
  tx.query(sql.type(Empty)`
    insert into sends (run_no, batch_no, fence, flow_no, module_no, kind, row_keys, row_numbers, attempts, targets, witness, digests, fresh, patches, write,
      item_ats, sent_at, deadline_at)
    values (${run}, ${batch}, ${fence}, ${flow ?? 0}, ${module}, ${kind}, ${column(rows, 'key', 'text')}, ${column(rows, 'number', 'int8')},
      ${column(rows, 'attempt', 'int2')}, ${column(rows, 'target', 'text')}, ${column(rows, 'hasUniqueKey', 'bool')}, ${column(rows, 'digests', 'bytea')}, ${column(rows, 'fresh', 'bool')},
      ${rows.some(({patch}) => patch) ? column(rows, 'patch', 'bool') : null}, ${write}, ${column(rows, 'at', 'int2')}, lading_now(), lading_now() + make_interval(secs => ${answerSeconds}))`)

/**
 * Counts the batch's rows that are new to the run, raises the batch number and renews the lease. A check constraint of the table enforces the
 * row limit.
 */
export const moveHead = (tx: Tx, {run, fresh, leaseSeconds}: {run: number; fresh: number; leaseSeconds: number}) =>
  tx.query(sql.type(Empty)`
    update run_heads set counted = counted + ${fresh}, next_batch = next_batch + 1,
      lease_until = greatest(lease_until, lading_now() + make_interval(secs => ${leaseSeconds}))
    where run_no = ${run}`)

export type ReleasedRow = {module: number; key: string; attempt: number; outcome: number; unchanged?: boolean}

/** Stores the last attempt of rows that are not admitted, so that their next attempt gets the next number. */
export const putReleased = (tx: Tx, {run, rows}: {run: number; rows: ReleasedRow[]}) =>
  tx.query(sql.type(Empty)`
    insert into released_attempts (run_no, module_no, row_key, last_attempt, outcome, unchanged)
    select ${run}, module, key, attempt, outcome, unchanged
    from unnest(${column(rows, 'module', 'int2')}, ${column(rows, 'key', 'text')}, ${column(rows, 'attempt', 'int2')},
      ${column(rows, 'outcome', 'int2')}, ${sql.array(
        rows.map(({unchanged = false}) => unchanged),
        'bool',
      )}) as r(module, key, attempt, outcome, unchanged)
    order by module, key
    on conflict (run_no, module_no, row_key) do update
      set last_attempt = greatest(released_attempts.last_attempt, excluded.last_attempt), outcome = excluded.outcome,
        unchanged = excluded.unchanged`)

/** Stores records that rows matched without a change, so that no other row can claim them. Existing entries stay. */
export const keepMatched = (
  tx: Tx,
  {run, chain, rows}: {run: number; chain: number; rows: {module: number; key: string; recordId: string}[]},
) =>
  tx.query(sql.type(Empty)`
    insert into chain_rows (chain_no, module_no, row_key, record_id, how, run_no)
    select ${chain}, module, key, record, ${HOW.matched}, ${run}
    from unnest(${column(rows, 'module', 'int2')}, ${column(rows, 'key', 'text')}, ${column(rows, 'recordId', 'text')}) as r(module, key, record)
    order by module, key
    on conflict (chain_no, module_no, row_key) do nothing`)

/**
 * Lists those of `records` that are the target of an unsettled entry of the chain, or of a batch in flight of the run. After an answered update, a
 * row with an unanswered create keeps its entry, so the updated record is listed too.
 */
export const listOpenTargets = (tx: Tx, {run, chain, module, records}: {run: number; chain: number; module: number; records: string[]}) =>
  tx.anyFirst(sql.type(z.object({target: z.string()}))`
    select target from unsettled
    where chain_no = ${chain} and module_no = ${module} and target = any(${sql.array(records, 'text')})
    union
    select target from sends cross join unnest(targets) as target
    where run_no = ${run} and module_no = ${module} and target = any(${sql.array(records, 'text')})`)

const ExternalSend = z.object({
  batch: z.number(),
  flow: z.number(),
  module: z.number(),
  kind: z.number(),
  keys: z.array(z.string()),
  numbers: z.array(z.number().nullable()),
  attempts: z.array(z.number()),
  targets: z.array(z.string().nullable()),
  hasUniqueKeys: z.array(z.boolean()),
  digests: z.array(z.instanceof(Buffer)).nullable(),
  fresh: z.array(z.boolean()),
  patches: z.array(z.boolean()).nullable(),
  write: z.string(),
  ats: z.array(z.number()),
  dead: z.boolean(),
})
export type ExternalSend = z.infer<typeof ExternalSend>

/** Lists the run's batches in flight. `dead`: the deadline for the batch's answer has passed. */
export const listExternalSends = (db: Db, run: number) =>
  db.any(sql.type(ExternalSend)`
    select batch_no as batch, flow_no as flow, module_no as module, kind, row_keys as keys, row_numbers as numbers, attempts, targets, witness as "hasUniqueKeys",
      digests, fresh, patches, write, item_ats as ats, deadline_at < lading_now() as dead
    from sends where run_no = ${run} order by batch_no`)

/** Returns the seconds until the deadline of the batch's answer; negative after the deadline. Null if the batch was settled or never stored. */
export const findSecondsLeft = (db: Db, {run, batch}: {run: number; batch: number}) =>
  db.maybeOneFirst(sql.type(z.object({left: z.number()}))`
    select extract(epoch from deadline_at - lading_now())::float8 as left from sends where run_no = ${run} and batch_no = ${batch}`)

const column = <T, K extends keyof T & string>(rows: T[], name: K, type: 'text' | 'int2' | 'int8' | 'bool' | 'bytea') =>
  sql.array(
    rows.map(row => row[name] as never),
    type,
  )
