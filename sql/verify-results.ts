import {z} from 'zod'
import {arrayLiteral, columnLiteral} from './array-literal.ts'
import {type Db, sql, statementsIn, type Tx} from './database.ts'
import {nameStatement} from './named-statement.ts'
import type {RunHold} from './run-heads.ts'
import type {EntryName} from './verify-queue.ts'

/**
 * The results of reading a sent value back, as the names of columns. `uncompared`: the CRM does not show the value in a form that can be
 * compared.
 */
export const RESULTS = ['as_sent', 'truncated', 'coerced', 'changed', 'missing', 'uncompared'] as const
export type VerifyResult = (typeof RESULTS)[number]

export const FieldCounts = z.object({
  flow: z.number(),
  field: z.string(),
  ...(Object.fromEntries(RESULTS.map(result => [result, z.number()])) as Record<VerifyResult, z.ZodNumber>),
})
export type FieldCounts = z.infer<typeof FieldCounts>

/**
 * Counts of rows that were read back. `rows`: all. `coerced`: with truncated or coerced values. `changed`: with changed values. `missing`: without a
 * record. `unread`: not shown by the CRM. `second`: patches of rows that the run wrote before. `coerced` and `changed` count rows and these patches;
 * `secondCoerced` and `secondChanged` count only these patches.
 */
export type RowCounts = Record<'rows' | 'coerced' | 'changed' | 'missing' | 'unread' | 'second' | 'secondCoerced' | 'secondChanged', number>

/** Marks of the values that were read back, by record. They replace stored marks that are not newer than `readAt`. */
export type ReadMarks = {module: string; recordId: string; marks: Buffer}

export type VerifiedRows = {
  run: number
  fence: number
  leaseSeconds: number
  entries: readonly EntryName[]
  fields: readonly FieldCounts[]
  rows: RowCounts
  marks: readonly ReadMarks[]
  readAt: string
}

const commitNamed = nameStatement(`with done as (
     update verify_queue q set verified = true from unnest(@entry.fence::bigint[], @entry.settleNo::bigint[]) as e(fence, settle_no)
     where q.run_no = @run::bigint and q.fence = e.fence and q.settle_no = e.settle_no and not verified returning 1),
   head as (
     update run_heads set verified = add_counts(verified, @rows::bigint[]), lease_until = lading_now() + make_interval(secs => @leaseSeconds::float8),
       held = case when guard is null or held is not null then held else guard_coerced(guard, add_counts(verified, @rows), verified_since) end
     where run_no = @run and fence = @fence::bigint and lease_until > lading_now()
       and (select count(*) from done) = cardinality(@entry.fence::bigint[])
     returning held),
   counted as (
     insert into run_verified (run_no, flow_no, field, ${RESULTS.join(', ')})
     select @run, c.* from head, unnest(@field.flow::smallint[], @field.field::text[], ${RESULTS.map(name => `@field.${name}::bigint[]`).join(', ')}) as c
     on conflict (run_no, flow_no, field) do update set ${RESULTS.map(name => `${name} = run_verified.${name} + excluded.${name}`).join(', ')}),
   marked as (
     update written_records w set marks = merge_marks(w.marks, m.marks), touched_at = lading_now()
     from head, runs r, unnest(@mark.module::text[], @mark.recordId::text[], @mark.marks::bytea[]) as m(module, record_id, marks)
     where r.run_no = @run and w.org_id = r.org_id and w.connector_id = r.connector_id and w.module = m.module and w.record_id = m.record_id
       and w.touched_at <= @readAt::timestamptz)
   select (select count(*)::int from done) as done, exists (select from head) as "isOwner", (select held from head) as held`)

/**
 * Commits the counts, marks and guard result of verified entries exactly once. `done`: entries that this call marked as verified; 0 if an
 * earlier call committed them. If `isOwner` is false and `done` is above 0, the caller must roll back, because another owner has the run.
 */
export const commitVerified = async (tx: Tx, {rows, entries, fields, marks, ...of}: VerifiedRows) => {
  const values = commitNamed.listValues({
    run: of.run,
    fence: of.fence,
    leaseSeconds: of.leaseSeconds,
    readAt: of.readAt,
    rows: arrayLiteral([
      rows.rows,
      rows.coerced,
      rows.changed,
      rows.missing,
      rows.unread,
      0,
      rows.second,
      rows.secondCoerced,
      rows.secondChanged,
    ]),
    'entry.fence': columnLiteral(entries, 'fence'),
    'entry.settleNo': columnLiteral(entries, 'settleNo'),
    ...Object.fromEntries((['flow', 'field', ...RESULTS] as const).map(name => [`field.${name}`, columnLiteral(fields, name)])),
    ...Object.fromEntries((['module', 'recordId', 'marks'] as const).map(name => [`mark.${name}`, columnLiteral(marks, name)])),
  })
  const [found] = (await statementsIn(tx).executeSql(commitNamed.text, values)).rows
  return found as {done: number; isOwner: boolean; held: RunHold | null}
}

export const listFieldCounts = (db: Db, run: number) =>
  db.any(sql.type(FieldCounts)`
    select flow_no as flow, field, ${sql.join(
      RESULTS.map(name => sql.identifier([name])),
      sql.fragment`, `,
    )} from run_verified where run_no = ${run} order by flow_no, field`)
