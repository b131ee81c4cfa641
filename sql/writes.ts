import {z} from 'zod'
import {type Db, sql, type Tx} from './database.ts'
import {storable} from './storable.ts'

const Empty = z.object({})

/**
 * The refusal of a write by the CRM. `crm`: the refusal as the API's `CrmProblem`. `renews`: the CRM's answer names the time at which its quota
 * renews. `retryAfterMs`: the wait in ms, if this service knows it.
 */
const Problem = z.object({crm: z.looseObject({}), renews: z.boolean(), retryAfterMs: z.number().optional()})
type Problem = z.infer<typeof Problem>

export const Write = z.object({
  id: z.string(),
  org: z.string(),
  runNo: z.number(),
  runId: z.string(),
  connectorId: z.string(),
  kind: z.enum(['create', 'update', 'replace', 'entries']),
  request: z.unknown(),
  problem: Problem.nullable(),
  createdAt: z.string(),
})
export type Write = z.infer<typeof Write>
export type WriteKind = Write['kind']

type NewWrite = {id: string; org: string; run: number; connector: string; kind: WriteKind; request: unknown}

export const insertWrite = (tx: Tx, {id, org, run, connector, kind, request}: NewWrite) =>
  tx.query(sql.type(Empty)`
    insert into writes (id, org_id, run_no, connector_id, kind, request)
    values (${id}, ${org}, ${run}, ${connector}, ${kind}, ${sql.jsonb(request as never)})`)

export const findWrite = (db: Db, {org, id}: {org: string; id: string}) =>
  db.maybeOne(sql.type(Write)`
    select w.id, w.org_id as org, run_no as "runNo", r.id as "runId", w.connector_id as "connectorId", kind, request, problem,
      w.created_at as "createdAt"
    from writes w join runs r using (run_no) where w.org_id = ${org} and w.id = ${id}`)

/** Deletes the stored request of a write after it was tried. The results stay. */
export const dropRequest = (db: Db, id: string) => db.query(sql.type(Empty)`update writes set request = null where id = ${id}`)

const WriteEnd = z.object({isClosing: z.boolean(), isSpent: z.boolean(), hasUnsent: z.boolean()})

/** Returns whether the write's run is closing, whether the CRM's exhausted quota refused an item, and whether an item was not sent. */
export const findWriteEnd = (db: Db, id: string) =>
  db.one(sql.type(WriteEnd)`
    select r.state = 'closing' as "isClosing", exists (
      select from write_items i where i.write = w.id
        and (result ->> 'code' = 'DAILY_ALLOWANCE_SPENT' or result #>> '{crm,quotaSpent}' = 'true')) as "isSpent",
      exists (select from write_items i where i.write = w.id and result ->> 'written' = 'false') as "hasUnsent"
    from writes w join runs r using (run_no) where w.id = ${id}`)

export const listOpenWrites = (db: Db, run: number) =>
  db.anyFirst(sql.type(z.object({id: z.string()}))`
    select id from writes w
    where run_no = ${run} and exists (select from write_items i where i.write = w.id and i.result is null) order by created_at, id`)

/** Lists the run's writes whose items all have results and whose requests are still stored. */
export const listTriedWrites = (db: Db, run: number) =>
  db.anyFirst(sql.type(z.object({id: z.string()}))`
    select id from writes w
    where run_no = ${run} and request is not null and not exists (select from write_items i where i.write = w.id and i.result is null)
    order by created_at, id`)

/** Lists the positions of items without a result. Only these may still be sent. */
export const listOpenAts = (tx: Tx, id: string) =>
  tx.anyFirst(sql.type(z.object({at: z.number()}))`select at from write_items where write = ${id} and result is null`)

export const keepProblem = (db: Db, {id, problem}: {id: string; problem: Problem}) =>
  db.query(sql.type(Empty)`update writes set problem = ${storable(problem)}::jsonb where id = ${id}`)

const Named = z.object({writeId: z.string(), digest: z.instanceof(Buffer), result: z.unknown()})

/** Lists the run's items that reserve one of these idempotency keys (`names`). The caller has locked the run. */
export const listNamedItems = (tx: Tx, {run, names}: {run: number; names: string[]}) =>
  tx.any(sql.type(Named)`
    select write_id as "writeId", digest, result from write_items
    where run_no = ${run} and write_id = any(${sql.array(names, 'text')}) and not freed`)

/**
 * An item to insert. `writeId`: its idempotency key. `freed`: an earlier item of the run has this key, so this one does not reserve it. `rowKey`: the
 * caller's key of the row, which the answer repeats.
 */
type NewItem = {at: number; rowKey: string | null; writeId: string | null; freed: boolean; digest: Buffer | null; result: unknown}

export const insertItems = (tx: Tx, {write, run, items}: {write: string; run: number; items: NewItem[]}) =>
  tx.query(sql.type(Empty)`
    insert into write_items (write, at, run_no, row_key, write_id, freed, digest, result)
    select ${write}, at, ${run}, row_key, write_id, freed, decode(digest, 'hex'), result
    from unnest(${column(items, 'at', 'int2')}, ${column(items, 'rowKey', 'text')}, ${column(items, 'writeId', 'text')},
      ${column(items, 'freed', 'bool')}, ${sql.array(
        items.map(({digest}) => digest?.toString('hex') ?? null),
        'text',
      )}, ${sql.array(
        items.map(({result}) => (result === undefined || result === null ? null : storable(result))),
        'jsonb',
      )}) as i(at, row_key, write_id, freed, digest, result)`)

export type ItemResult = {at: number; result: object; again: boolean}

/**
 * Stores results of items. `again`: nothing was done and the item may be sent again, so its idempotency key is freed. `late`: also replaces
 * results that are stored already.
 */
export const keepResults = (db: Db, {write, results, late = false}: {write: string; results: ItemResult[]; late?: boolean}) =>
  db.query(sql.type(Empty)`
    update write_items i set result = r.result, freed = i.freed or r.again
    from unnest(${column(results, 'at', 'int2')}, ${sql.array(
      results.map(({result}) => storable(result)),
      'jsonb',
    )}, ${column(results, 'again', 'bool')}) as r(at, result, again)
    where i.write = ${write} and i.at = r.at and (i.result is null or ${late})`)

/** Stores a result for items that have none and are not in flight. These items were not sent and will not be. Frees their idempotency keys. */
export const keepUnsent = (tx: Tx, {write, result}: {write: string; result: object}) =>
  tx.query(sql.type(Empty)`
    update write_items i set result = ${sql.jsonb(result as never)}, freed = true
    where write = ${write} and result is null and not exists (select from sends s where s.run_no = i.run_no and s.write = i.write and i.at = any(s.item_ats))`)

const Item = z.object({at: z.number(), rowKey: z.string().nullable(), writeId: z.string().nullable(), result: z.unknown()})
export type Item = z.infer<typeof Item>

/** Lists the results of all items in the order sent. `result` is null while it is unknown. */
export const listResults = (db: Db, write: string) =>
  db.any(sql.type(Item)`
    select at, row_key as "rowKey", write_id as "writeId", result from write_items where write = ${write} order by at`)

/** Lists writes that have items without a result although their job cannot be running any more. */
export const listAbandoned = (db: Db, {seconds, limit}: {seconds: number; limit: number}) =>
  db.any(sql.type(z.object({id: z.string(), org: z.string(), runId: z.string()}))`
    select w.id, w.org_id as org, r.id as "runId" from writes w join runs r using (run_no)
    where w.id in (select write from write_items where result is null) and w.created_at < lading_now() - make_interval(secs => ${seconds})
    order by w.created_at limit ${limit}`)

export const deleteOldWrites = async (db: Db, {days, limit}: {days: number; limit: number}) => {
  const {rowCount} = await db.query(sql.type(Empty)`
    delete from writes where id in (
      select w.id from writes w join runs r using (run_no)
      where w.created_at < lading_now() - make_interval(days => ${days}) and r.state = 'ended'
        and r.ended_at < lading_now() - make_interval(days => ${days})
      order by w.created_at limit ${limit})`)
  return rowCount
}

const column = <T, K extends keyof T & string>(rows: T[], name: K, type: 'text' | 'int2' | 'bool') =>
  sql.array(
    rows.map(row => row[name] as never),
    type,
  )
