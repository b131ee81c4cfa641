import {arrayLiteral, columnLiteral} from './array-literal.ts'
import {type Hot, prepare, statementsIn, type Tx} from './database.ts'

/**
 * The two statements in the life of a batch, each for several batches at once. Each is one round trip and leaves no transaction open; each raises LD001 when its
 * gate is shut, so nothing of it stays. Source of the shape: the house's engine note, part 2.
 */
export const GATE_SHUT = 'LD001'

export type Intent = {
  run: number
  fence: number
  batch: number
  flow: number
  module: number
  kind: number
  /** `digest`: of the values by which a create that is lost would be known again. `isMetered`: false for what counts nothing. `parent`: the row key it belongs to, where it does. */
  rows: {
    key: string
    number: number
    attempt: number
    target: string | null
    witness: boolean
    digest?: Buffer | null
    isMetered?: boolean
    parent?: string | null
  }[]
  /** How long the CRM may take before the send counts as dead, in seconds. */
  answerSeconds: number
  leaseSeconds: number
}

/**
 * T1: meters the rows of some batches of one run, keeps each batch as in flight and renews the lease, or raises for all of them: fence, lease,
 * stop, limit, or a connection that takes no writes. No row stands in two of them.
 */
export const admit = async (hot: Hot, ...intents: [Intent, ...Intent[]]) => {
  const [{run, fence, answerSeconds, leaseSeconds}] = intents
  const rows = intents.flatMap(({rows, module}) =>
    rows.map(({key, attempt, isMetered = true, parent = null}) => ({key, attempt, isMetered, parent, module})),
  )
  const columnsOf = (name: keyof Intent['rows'][number]) => arrayLiteral(intents.map(({rows}) => columnLiteral(rows, name)))
  await admitStatement(hot, [
    run,
    fence,
    columnLiteral(intents, 'batch'),
    columnLiteral(intents, 'flow'),
    columnLiteral(intents, 'module'),
    columnLiteral(intents, 'kind'),
    columnLiteral(rows, 'module'),
    columnLiteral(rows, 'key'),
    columnLiteral(rows, 'attempt'),
    columnLiteral(rows, 'isMetered'),
    columnLiteral(rows, 'parent'),
    leaseSeconds,
    answerSeconds,
    columnsOf('key'),
    columnsOf('attempt'),
    columnsOf('number'),
    columnsOf('target'),
    columnsOf('witness'),
    columnsOf('digest'),
  ])
}

const admitStatement = prepare(
  'admit',
  `with admitted as (
     insert into admissions (run_no, module_no, row_key, last_attempt, parent_key)
     select $1::bigint, module, key, attempt, parent
     from unnest($7::smallint[], $8::text[], $9::smallint[], $10::boolean[], $11::text[]) as r(module, key, attempt, metered, parent)
     where metered order by module, key
     on conflict (run_no, module_no, row_key) do update set last_attempt = excluded.last_attempt
       where admissions.last_attempt < excluded.last_attempt
     returning (xmax = 0) as fresh),
   head as (
     update run_heads set counted = counted + (select count(*) from admitted where fresh),
       next_batch = greatest(next_batch, (select max(batch) + 1 from unnest($3::bigint[]) as b(batch))),
       lease_until = lading_now() + make_interval(secs => $12::float8)
     where run_no = $1 and fence = $2::bigint and lease_until > lading_now() and stop is null
       and not exists (
         select from runs r join connectors c on c.id = r.connector_id where r.run_no = $1 and (c.writes_paused or c.state <> 'connected'))
       and counted + (select count(*) from admitted where fresh) <= rows_limit
     returning 1),
   sent as (
     insert into sends (run_no, batch_no, fence, flow_no, module_no, kind, row_keys, attempts, row_numbers, targets, witness, digests, sent_at,
       deadline_at)
     select $1, batch, $2, flow, module, b.kind, keys::text[], b.attempts::smallint[], numbers::bigint[], b.targets::text[],
       b.witness::boolean[], b.digests::bytea[], lading_now(), lading_now() + make_interval(secs => $13::float8)
     from head, unnest($3::bigint[], $4::smallint[], $5::smallint[], $6::smallint[], $14::text[], $15::text[], $16::text[], $17::text[],
       $18::text[], $19::text[]) as b(batch, flow, module, kind, keys, attempts, numbers, targets, witness, digests))
   select case when exists (select from head) then 1 else stop_if('the gate of T1 is shut') end`,
)

export type LogRow = {
  key: string
  flow: number | null
  number: number | null
  module: number
  phase: number
  target: string | null
  attempt: number
  recordId: string | null
  outcome: number
  code: string | null
  message: string | null
}
/** `mayExistTwice`: a create of the row was never answered, so a second record may exist. */
export type ChainRow = {module: number; key: string; recordId: string; how: number; matchKey: Buffer | null; mayExistTwice?: boolean}
export type OpenQuestion = {
  module: number
  key: string
  flow: number
  number: number
  kind: number
  target: string | null
  witness: boolean
  digest?: Buffer | null
  attempt: number
  /** The run asks no more. */
  ended?: boolean
  /** The CRM has done with the send so many seconds after it left; null: by its batch's deadline. */
  doneSeconds?: number | null
  /** Creates added to those of the row that were never answered. Default 0. */
  creates?: number
  /** The key of the record that an unanswered create would have made. Null keeps the stored one. */
  matchKey?: Buffer | null
}
type RowName = {module: number; key: string}

export type Settlement = {
  run: number
  chain: number
  fence: number
  /** One past the last settlement of this fence: a statement repeated after a lost answer changes nothing. */
  settleNo: number
  batches: number[]
  log: LogRow[]
  released: RowName[]
  kept: ChainRow[]
  opened: OpenQuestion[]
  closed: RowName[]
  counts: number[]
  /** Rows whose record has what is written after all flows. */
  patched?: RowName[]
  cursor: {flow: number; lowWater: number; pass?: number}
  /** False where it only tells what an earlier owner left: that the run gets on is not said by it. */
  isProgress?: boolean
  answerSeconds: number
  leaseSeconds: number
}

/** T2: what became of the rows of some batches (and of rows that needed none): log, meter, record ids, open questions, cursor, at once. */
export const settle = async (hot: Hot, s: Settlement) => {
  await settleStatement(hot, valuesOf(s))
}

/** The same inside a transaction that holds the head. */
export const settleIn = async (tx: Tx, s: Settlement) => {
  await statementsIn(tx).executeSql(settleText, valuesOf(s))
}

const valuesOf = (s: Settlement) => [
  s.run,
  s.fence,
  s.settleNo,
  arrayLiteral(s.batches),
  s.log.length,
  s.leaseSeconds,
  arrayLiteral(s.counts),
  columnLiteral(s.released, 'module'),
  columnLiteral(s.released, 'key'),
  columnLiteral(s.log, 'key'),
  columnLiteral(s.log, 'flow'),
  columnLiteral(s.log, 'number'),
  columnLiteral(s.log, 'module'),
  columnLiteral(s.log, 'phase'),
  columnLiteral(s.log, 'target'),
  columnLiteral(s.log, 'attempt'),
  columnLiteral(s.log, 'recordId'),
  columnLiteral(s.log, 'outcome'),
  columnLiteral(s.log, 'code'),
  columnLiteral(s.log, 'message'),
  s.chain,
  columnLiteral(s.kept, 'module'),
  columnLiteral(s.kept, 'key'),
  columnLiteral(s.kept, 'recordId'),
  columnLiteral(s.kept, 'how'),
  columnLiteral(s.kept, 'matchKey'),
  columnLiteral(s.opened, 'module'),
  columnLiteral(s.opened, 'key'),
  columnLiteral(s.opened, 'flow'),
  columnLiteral(s.opened, 'number'),
  columnLiteral(s.opened, 'kind'),
  columnLiteral(s.opened, 'target'),
  columnLiteral(s.opened, 'witness'),
  columnLiteral(s.opened, 'attempt'),
  columnLiteral(s.closed, 'module'),
  columnLiteral(s.closed, 'key'),
  s.cursor.flow,
  s.cursor.lowWater,
  s.answerSeconds,
  columnLiteral(s.opened, 'digest'),
  columnLiteral(s.patched ?? [], 'module'),
  columnLiteral(s.patched ?? [], 'key'),
  s.cursor.pass ?? 0,
  s.opened.map(({ended = false}) => ended),
  s.opened.map(({doneSeconds = null}) => doneSeconds),
  s.isProgress ?? true,
  s.opened.map(({creates = 0}) => creates),
  columnLiteral(s.opened, 'matchKey'),
  s.kept.map(({mayExistTwice = false}) => mayExistTwice),
]

const settleText = `with gone as (delete from sends where run_no = $1::bigint and batch_no = any($4::bigint[]) and fence <= $2::bigint returning 1),
   freed as (
     delete from admissions a using unnest($8::smallint[], $9::text[]) as r(module_no, row_key)
     where a.run_no = $1 and a.module_no = r.module_no and a.row_key = r.row_key returning 1),
   head as (
     update run_heads set settle_no = $3::bigint, takeovers = case when $46::boolean then 0 else takeovers end, next_seq = next_seq + $5::int, counted = counted - (select count(*) from freed),
       counts = add_counts(counts, $7::bigint[]), lease_until = lading_now() + make_interval(secs => $6::float8)
     where run_no = $1 and fence = $2 and lease_until > lading_now() and settle_no = $3 - 1
       and (select count(*) from gone) = cardinality($4)
     returning next_seq - $5 as base, lading_now() as at),
   logged as (
     insert into run_log (run_no, seq, row_key, flow_no, row_number, module_no, phase, target, attempt, record_id, outcome, code, message, at)
     select $1, base + ord - 1, key, flow, number, module, phase, target, attempt, record_id, outcome, code, message, at
     from head, unnest($10::text[], $11::smallint[], $12::bigint[], $13::smallint[], $14::smallint[], $15::text[], $16::smallint[], $17::text[],
       $18::smallint[], $19::text[], $20::text[])
       with ordinality as l(key, flow, number, module, phase, target, attempt, record_id, outcome, code, message, ord)),
   kept as (
     insert into chain_rows (chain_no, module_no, row_key, record_id, how, match_key, run_no, may_exist_twice)
     select $21::bigint, module, key, record_id, how, match_key, $1, twice
     from head, unnest($22::smallint[], $23::text[], $24::text[], $25::smallint[], $26::bytea[], $49::boolean[]) as k(module, key, record_id, how, match_key, twice)
     on conflict (chain_no, module_no, row_key) do update set record_id = excluded.record_id, match_key = excluded.match_key, run_no = excluded.run_no,
       may_exist_twice = chain_rows.may_exist_twice or excluded.may_exist_twice,
       how = case when chain_rows.record_id = excluded.record_id then least(chain_rows.how, excluded.how) else excluded.how end),
   opened as (
     insert into unsettled (chain_no, module_no, row_key, run_no, flow_no, row_number, kind, target, witness, digest, last_attempt, ended, creates,
       match_key, sent_at, deadline_at)
     select $21, module, key, $1, flow, number, o.kind, o.target, o.witness, o.digest, attempt, o.ended, o.creates, o.match_key,
       coalesce(s.sent_at, u.sent_at, lading_now()),
       least(coalesce(s.deadline_at, u.deadline_at, lading_now() + make_interval(secs => $39::float8)),
         coalesce(s.sent_at, lading_now()) + make_interval(secs => done_seconds))
     from head, unnest($27::smallint[], $28::text[], $29::smallint[], $30::bigint[], $31::smallint[], $32::text[], $33::boolean[], $34::smallint[],
       $40::bytea[], $44::boolean[], $45::float8[], $47::smallint[], $48::bytea[]) as o(module, key, flow, number, kind, target, witness, attempt, digest, ended,
       done_seconds, creates, match_key)
     left join lateral (
       select min(sent_at) as sent_at, max(deadline_at) as deadline_at from sends
       where run_no = $1 and module_no = o.module and o.key = any(row_keys)) s on true
     left join unsettled u on u.chain_no = $21 and u.module_no = o.module and u.row_key = o.key
     on conflict (chain_no, module_no, row_key) do update set run_no = excluded.run_no, kind = excluded.kind, target = excluded.target,
       witness = excluded.witness, digest = excluded.digest, flow_no = excluded.flow_no, last_attempt = excluded.last_attempt,
       ended = excluded.ended, deadline_at = excluded.deadline_at, creates = unsettled.creates + excluded.creates,
       match_key = coalesce(excluded.match_key, unsettled.match_key),
       sent_at = case when unsettled.kind = 0 and excluded.kind = 0 then least(unsettled.sent_at, excluded.sent_at) else excluded.sent_at end),
   closed as (
     delete from unsettled u using head, unnest($35::smallint[], $36::text[]) as c(module_no, row_key)
     where u.chain_no = $21 and u.module_no = c.module_no and u.row_key = c.row_key),
   moved as (
     update run_cursors set low_water = greatest(low_water, $38::bigint) from head
     where run_cursors.run_no = $1 and flow_no = $37::smallint and pass = $43::smallint),
   patched as (
     update chain_rows set patched = true from head, unnest($41::smallint[], $42::text[]) as p(module, key)
     where chain_no = $21 and module_no = p.module and row_key = p.key)
   select case when exists (select from head) then (select base from head) else stop_if('the gate of T2 is shut') end`

const settleStatement = prepare('settle', settleText)
