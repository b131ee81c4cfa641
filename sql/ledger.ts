import {blocksOf, type NumberedRow} from './admitted-blocks.ts'
import {arrayLiteral, columnLiteral, mappedLiteral} from './array-literal.ts'
import {type Hot, prepare, statementsIn, type Tx} from './database.ts'
import {countEmptyLinks, type EmptyLink, joinFields} from './empty-links.ts'
import {chunksOf, sortByBlock} from './log-chunks.ts'
import {nameStatement} from './named-statement.ts'
import type {RunHold} from './run-heads.ts'
import {settleNamed} from './settle-statement.ts'
import type {UnmappedCells} from './unmapped-cells.ts'
import type {QueuedRows} from './verify-queue.ts'

/**
 * The SQLSTATE that the intent (T1) and the settlement (T2) raise if the caller no longer owns the run or another condition forbids them. The
 * intent or settlement then changes nothing. Each of the two is one statement for several batches: one round trip, and no open transaction.
 */
export const GATE_SHUT = 'LD001'

export type Intent = {
  run: number
  fence: number
  batch: number
  flow: number
  module: number
  kind: number
  /** The number of the bulk job that contains the rows of the batch. Absent: the batch is one call. */
  bulkJob?: number
  /**
   * The rows of the batch. `digest`: a digest of the values by which a lost create is recognised. `marks`: the marks that an update leaves on its
   * record. `isMetered`: false for rows that are not counted. `parent`: the row key of the parent, if there is one.
   */
  rows: {
    key: string
    number: number
    attempt: number
    target: string | null
    hasUniqueKey: boolean
    digest?: Buffer | null
    marks?: Buffer | null
    isMetered?: boolean
    parent?: string | null
  }[]
  /** Seconds from sending the batch until the deadline for its answer. */
  answerSeconds: number
  leaseSeconds: number
}

/**
 * Commits the intents (T1) of batches of one run: counts their rows, stores each batch as in flight and renews the lease. Raises `GATE_SHUT` for
 * all batches if the fence, the lease, a stop, the run guard, the row limit or the connection's write status forbids it. A row must be in one
 * batch only.
 */
export const admit = async (hot: Hot, ...intents: [Intent, ...Intent[]]) => {
  const [{run, fence, answerSeconds, leaseSeconds}] = intents
  const rows = intents.flatMap(({rows, module, flow}) =>
    rows
      .filter(({isMetered = true}) => isMetered)
      .map(({key, number, attempt, parent = null}) => ({key, number, attempt, parent, module, flow})),
  )
  const sentColumn = (name: keyof Intent['rows'][number]) => arrayLiteral(intents.map(({rows}) => columnLiteral(rows, name)))
  const values = {
    run,
    fence,
    answerSeconds,
    leaseSeconds,
    ...Object.fromEntries((['batch', 'flow', 'module', 'kind', 'bulkJob'] as const).map(name => [name, columnLiteral(intents, name)])),
    ...columnsOf('row', rows, ['module', 'key', 'attempt', 'parent']),
    ...columnsOf('block', blocksOf(rows), ['module', 'flow', 'block', 'bits']),
    ...Object.fromEntries(sentColumns.map(name => [`sent.${name}`, sentColumn(name)])),
  }
  await admitStatement(hot, admitNamed.listValues(values))
}

const sentColumns = ['key', 'attempt', 'number', 'target', 'hasUniqueKey', 'digest', 'marks'] as const

/** Returns one Postgres array literal per column of the rows, named `prefix.column`. */
const columnsOf = <T extends object>(prefix: string, rows: readonly T[], columns: readonly (keyof T & string)[]): Record<string, unknown> =>
  Object.fromEntries(columns.map(column => [`${prefix}.${column}`, columnLiteral(rows, column)]))

const admitNamed = nameStatement(`with gate as (select is_packed from run_heads where run_no = @run::bigint for update),
   admitted as (
     insert into admissions (run_no, module_no, row_key, last_attempt, parent_key)
     select @run, module, key, attempt, parent
     from gate, unnest(@row.module::smallint[], @row.key::text[], @row.attempt::smallint[], @row.parent::text[]) as r(module, key, attempt, parent)
     where not is_packed order by module, key
     on conflict (run_no, module_no, row_key) do update set last_attempt = excluded.last_attempt
       where admissions.last_attempt < excluded.last_attempt
     returning (xmax = 0) as fresh),
   marked as (
     insert into admitted_blocks as a (run_no, module_no, flow_no, block, bits, fresh)
     select @run, module, flow, block, bits::bit(1024), bit_count(bits::bit(1024))
     from gate, unnest(@block.module::smallint[], @block.flow::smallint[], @block.block::int[], @block.bits::text[]) as b(module, flow, block, bits)
     where is_packed
     on conflict (run_no, module_no, flow_no, block) do update set bits = a.bits | excluded.bits, fresh = bit_count(excluded.bits & ~a.bits)
     returning fresh),
   new as (select (select count(*) from admitted where fresh) + (select coalesce(sum(fresh), 0) from marked) as rows),
   head as (
     update run_heads set counted = counted + (select rows from new),
       next_batch = greatest(next_batch, (select max(batch) + 1 from unnest(@batch::bigint[]) as b(batch))),
       lease_until = lading_now() + make_interval(secs => @leaseSeconds::float8)
     where run_no = @run and fence = @fence::bigint and lease_until > lading_now() and stop is null and held is null
       and not exists (
         select from runs r join connectors c on c.id = r.connector_id where r.run_no = @run and (c.writes_paused or c.state <> 'connected'))
       and counted + (select rows from new) <= rows_limit
     returning 1),
   sent as (
     insert into sends (run_no, batch_no, fence, flow_no, module_no, kind, row_keys, attempts, row_numbers, targets, witness, digests, marks, bulk_job,
       sent_at, deadline_at)
     select @run, batch, @fence, flow, module, b.kind, keys::text[], b.attempts::smallint[], numbers::bigint[], b.targets::text[],
       b.witness::boolean[], b.digests::bytea[], b.marks::bytea[], b.bulk_job, lading_now(),
       lading_now() + make_interval(secs => @answerSeconds::float8)
     from head, unnest(@batch::bigint[], @flow::smallint[], @module::smallint[], @kind::smallint[], @sent.key::text[], @sent.attempt::text[], @sent.number::text[], @sent.target::text[],
       @sent.hasUniqueKey::text[], @sent.digest::text[], @sent.marks::text[], @bulkJob::int[]) as b(batch, flow, module, kind, keys, attempts, numbers, targets, witness, digests, marks, bulk_job))
   select case when exists (select from head) then 1 else stop_if('the gate of T1 is shut') end`)
const admitStatement = prepare('admit', admitNamed.text)

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
/**
 * A row's record in the chain. `mayExistTwice`: a create of the row was never answered, so a second record may exist. `flow` and `emptyLinks`:
 * the flow that wrote the row and the fields whose link was left empty.
 */
export type ChainRow = {
  module: number
  key: string
  recordId: string
  how: number
  matchKey: Buffer | null
  mayExistTwice?: boolean
  /** The record's `Modified_Time` after the write, if the CRM returned it. */
  writtenAt?: string | null | undefined
  flow?: number
  emptyLinks?: string[] | undefined
}
/** A row whose record was patched. `filled`: the fields that were written. `isWhole`: nothing is left to patch. */
export type PatchedRow = RowName & {filled: string[]; isWhole: boolean; writtenAt?: string | null}
export type UnsettledEntry = {
  module: number
  key: string
  flow: number
  number: number
  kind: number
  target: string | null
  hasUniqueKey: boolean
  digest?: Buffer | null
  attempt: number
  /** Whether the run makes no further attempt. */
  ended?: boolean
  /** Seconds after the send until the CRM can no longer execute the create. Null: until the deadline of its batch. */
  doneSeconds?: number | null
  /** The number to add to the row's count of unanswered creates. Default 0. */
  creates?: number
  /** The match key of the record that an unanswered create would have made. Null keeps the stored key. */
  matchKey?: Buffer | null
}
/**
 * The marks of a record's present values, in the format of `written_records`. `isSure`: false if the update was not answered. The record then has
 * either these values or the values before the update.
 */
export type RecordMarks = {module: string; recordId: string; marks: Buffer; isSure: boolean}
type RowName = {module: number; key: string}
/**
 * The admission of a row that is not counted any longer. `flow`, `number`: null for a row of an external engine, whose admissions are not stored in
 * blocks.
 */
export type ReleasedAdmission = RowName & {flow: number | null; number: number | null}

export type Settlement = {
  run: number
  chain: number
  fence: number
  /**
   * The number of this settlement among those with the same fence, from 1. If an answer is lost and the statement is repeated, the repeat
   * changes nothing.
   */
  settleNo: number
  batches: number[]
  log: LogRow[]
  released: ReleasedAdmission[]
  kept: ChainRow[]
  opened: UnsettledEntry[]
  closed: RowName[]
  counts: number[]
  patched?: PatchedRow[]
  /** Empty links besides those of `kept`. */
  emptyLinks?: EmptyLink[]
  tagged?: (RowName & {writtenAt?: string | null})[]
  /** Records that rows of another chain created, and that this undo wrote. `writtenAt`: the record's `Modified_Time` after this write. */
  rewritten?: {chain: number; module: number; recordId: string; writtenAt: string}[]
  /** Numbers to add to the run's counts of unmapped cells, at most one per flow and field. */
  unmapped?: UnmappedCells[]
  /** At most one entry per record. */
  marked?: RecordMarks[]
  /** Written rows that are to be read back. Null: none. */
  queued?: QueuedRows | null
  cursor: {flow: number; lowWater: number; pass?: number}
  /** Whether the settlement shows that this owner makes progress. False for batches that an earlier owner left in flight. */
  isProgress?: boolean
  answerSeconds: number
  leaseSeconds: number
}

/**
 * Commits the settlement (T2) of batches, and of rows that needed no batch, in one statement: log, row count, record ids, unsettled entries, marks of
 * records and cursor. Returns why the run guard holds the run afterwards, or null. Raises `GATE_SHUT` if this owner lost the run, if `settleNo` is
 * not the next number, or if one of the batches is no longer in flight.
 */
export const settle = async (hot: Hot, s: Settlement): Promise<RunHold | null> => (await settleStatement(hot, valuesOf(s)))[0]?.held ?? null

/** Executes the settlement of `settle` inside the caller's transaction, which commits it. */
export const settleIn = async (tx: Tx, s: Settlement): Promise<RunHold | null> =>
  ((await statementsIn(tx).executeSql(settleNamed.text, valuesOf(s))).rows[0] as {held: RunHold | null} | undefined)?.held ?? null

const isNumbered = <Row extends ReleasedAdmission>(row: Row): row is Row & NumberedRow => row.flow !== null && row.number !== null

const valuesOf = (s: Settlement) => {
  const log = sortByBlock(s.log)
  return settleNamed.listValues({
    run: s.run,
    fence: s.fence,
    settleNo: s.settleNo,
    chain: s.chain,
    answerSeconds: s.answerSeconds,
    leaseSeconds: s.leaseSeconds,
    batches: arrayLiteral(s.batches),
    counts: arrayLiteral(s.counts),
    logLength: log.length,
    isProgress: s.isProgress ?? true,
    'cursor.flow': s.cursor.flow,
    'cursor.lowWater': s.cursor.lowWater,
    'cursor.pass': s.cursor.pass ?? 0,
    ...columnsOf('chunk', chunksOf(log), ['first', 'last', 'block']),
    ...columnsOf('log', log, ['key', 'flow', 'number', 'module', 'phase', 'target', 'attempt', 'recordId', 'outcome', 'code', 'message']),
    ...columnsOf('released', s.released, ['module', 'key']),
    ...columnsOf('releasedBlock', blocksOf(s.released.filter(isNumbered)), ['module', 'flow', 'block', 'bits']),
    ...columnsOf('kept', s.kept, ['module', 'key', 'recordId', 'how', 'matchKey']),
    'kept.writtenAt': mappedLiteral(s.kept, ({writtenAt}) => writtenAt),
    'kept.emptyLinks': mappedLiteral(s.kept, ({emptyLinks}) => emptyLinks && joinFields(emptyLinks)),
    ...columnsOf('link', countEmptyLinks(s), ['flow', 'field', 'rows']),
    'kept.mayExistTwice': mappedLiteral(s.kept, ({mayExistTwice = false}) => mayExistTwice),
    ...columnsOf('opened', s.opened, [
      'module',
      'key',
      'flow',
      'number',
      'kind',
      'target',
      'hasUniqueKey',
      'attempt',
      'digest',
      'matchKey',
    ]),
    'opened.ended': mappedLiteral(s.opened, ({ended = false}) => ended),
    'opened.doneSeconds': mappedLiteral(s.opened, ({doneSeconds}) => doneSeconds),
    'opened.creates': mappedLiteral(s.opened, ({creates = 0}) => creates),
    ...columnsOf('closed', s.closed, ['module', 'key']),
    ...columnsOf('patched', s.patched ?? [], ['module', 'key', 'isWhole']),
    'patched.writtenAt': mappedLiteral(s.patched ?? [], ({writtenAt}) => writtenAt),
    'patched.filled': mappedLiteral(s.patched ?? [], ({filled}) => joinFields(filled)),
    ...columnsOf('tagged', s.tagged ?? [], ['module', 'key']),
    'tagged.writtenAt': mappedLiteral(s.tagged ?? [], ({writtenAt}) => writtenAt),
    ...columnsOf('rewritten', s.rewritten ?? [], ['chain', 'module', 'recordId', 'writtenAt']),
    ...columnsOf('unmapped', s.unmapped ?? [], ['flow', 'field', 'cells']),
    ...columnsOf('marked', s.marked ?? [], ['module', 'recordId', 'marks', 'isSure']),
    'queued.records': arrayLiteral(s.queued ? [arrayLiteral(s.queued.records)] : []),
    ...columnsOf('queued', s.queued ? [s.queued] : [], ['rows', 'countedRows', 'sealed']),
  })
}

const settleStatement = prepare<{held: RunHold | null}>('settle', settleNamed.text)
