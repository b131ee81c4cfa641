import {z} from 'zod'
import {type Db, sql, type Tx} from './database.ts'
import {STEP_LIST} from './segments.ts'

const Empty = z.object({})

const PlanChunk = z.object({
  chunk: z.number(),
  flow: z.number(),
  firstRow: z.number(),
  lastRow: z.number(),
  firstLine: z.number(),
  hash: z.string(),
  /** The hash of the chunk before. Null for the first one. */
  previous: z.string().nullable(),
})
export type PlanChunk = z.infer<typeof PlanChunk>

/** Deletes the plan that an earlier owner of the dry run began to store. */
export const deletePlan = async (tx: Tx, run: number) => {
  await tx.query(sql.type(Empty)`delete from sealed_plans where run_no = ${run} and sealed_at is null`)
  await tx.query(sql.type(Empty)`delete from plan_chunks where run_no = ${run}`)
  await tx.query(sql.type(Empty)`delete from segments where run_no = ${run} and list = ${STEP_LIST}`)
}

export const insertPlanChunk = (tx: Tx, {run, ...chunk}: {run: number} & Omit<PlanChunk, 'previous'>) =>
  tx.query(sql.type(Empty)`
    insert into plan_chunks (run_no, chunk, flow_no, first_row, last_row, first_line, hash)
    values (${run}, ${chunk.chunk}, ${chunk.flow}, ${chunk.firstRow}, ${chunk.lastRow}, ${chunk.firstLine}, decode(${chunk.hash}, 'hex'))`)

type NewPlan = {run: number; digest: string; chunks: number; steps: number; rows: number}

export const insertPlan = (db: Db, {run, digest, chunks, steps, rows}: NewPlan) =>
  db.query(sql.type(Empty)`
    insert into sealed_plans (run_no, digest, chunks, steps, rows) values (${run}, decode(${digest}, 'hex'), ${chunks}, ${steps}, ${rows})`)

const chunkColumns = sql.fragment`c.chunk, c.flow_no as flow, c.first_row as "firstRow", c.last_row as "lastRow", c.first_line as "firstLine",
  encode(c.hash, 'hex') as hash, (select encode(p.hash, 'hex') from plan_chunks p where p.run_no = c.run_no and p.chunk = c.chunk - 1) as previous`

export const listPlanChunks = (db: Db, {run, after, limit}: {run: number; after: number; limit: number}) =>
  db.any(sql.type(PlanChunk)`
    select ${chunkColumns} from plan_chunks c where run_no = ${run} and chunk > ${after} order by chunk limit ${limit}`)

/** Lists the chunks that may have steps of these rows. */
export const listChunksOfRows = (db: Db, {run, flow, rows}: {run: number; flow: number; rows: readonly number[]}) =>
  db.any(sql.type(PlanChunk)`
    select ${chunkColumns} from plan_chunks c where run_no = ${run} and flow_no = ${flow}
      and exists (select from unnest(${sql.array([...rows], 'int8')}) as r(row) where row between first_row and last_row)
    order by chunk`)

const Person = z.object({id: z.string(), name: z.string()}).nullable()

const SealedPlan = z.object({
  run: z.number(),
  digest: z.string(),
  chunks: z.number(),
  steps: z.number(),
  rows: z.number(),
  sealedAt: z.string().nullable(),
  sealedBy: Person,
  expiresAt: z.string().nullable(),
  isExpired: z.boolean(),
  approvedAt: z.string().nullable(),
  approvedBy: Person,
})
export type SealedPlan = z.infer<typeof SealedPlan>

const personOf = (column: ReturnType<typeof sql.fragment>) =>
  sql.fragment`(select jsonb_build_object('id', p.id, 'name', p.name) from people p where p.id = ${column})`

const planColumns = sql.fragment`run_no as run, encode(digest, 'hex') as digest, chunks, steps, rows, sealed_at as "sealedAt",
  ${personOf(sql.fragment`sealed_by`)} as "sealedBy", expires_at as "expiresAt", coalesce(expires_at < lading_now(), false) as "isExpired",
  approved_at as "approvedAt",
  ${personOf(sql.fragment`approved_by`)} as "approvedBy"`

/** Finds the plan of a dry run, sealed or not. Null: the dry run has no complete plan. */
export const findPlan = (db: Db, run: number) =>
  db.maybeOne(sql.type(SealedPlan)`select ${planColumns} from sealed_plans where run_no = ${run}`)

export const lockPlan = (tx: Tx, run: number) =>
  tx.maybeOne(sql.type(SealedPlan)`select ${planColumns} from sealed_plans where run_no = ${run} for update`)

export const approvePlan = (tx: Tx, {run, person}: {run: number; person: string}) =>
  tx.query(
    sql.type(
      Empty,
    )`update sealed_plans set approved_at = lading_now(), approved_by = ${person} where run_no = ${run} and approved_at is null`,
  )

/** Seals the plan of a dry run for `days`, unless it was sealed before. */
export const sealPlan = (tx: Tx, {run, person, days}: {run: number; person: string; days: number}) =>
  tx.query(sql.type(Empty)`
    update sealed_plans set sealed_at = lading_now(), sealed_by = ${person}, expires_at = lading_now() + make_interval(days => ${days})
    where run_no = ${run} and sealed_at is null`)
