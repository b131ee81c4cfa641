import {z} from 'zod'
import {type Db, sql, type Tx} from './database.ts'

const Import = z.object({
  no: z.number(),
  id: z.string(),
  name: z.string(),
  connectorId: z.string(),
  state: z.enum(['draft', 'ready', 'running', 'done', 'expired']),
  flows: z.array(z.unknown()),
  version: z.number(),
  createdAt: z.string(),
})
export type Import = z.infer<typeof Import>

const columns = sql.fragment`import_no as no, id, name, connector_id as "connectorId", state, flows, version, created_at as "createdAt"`

export const insertImport = (
  db: Db,
  {id, org, connector, name, person}: {id: string; org: string; connector: string; name: string; person: string | null},
) =>
  db.one(sql.type(Import)`
    insert into imports (id, org_id, connector_id, name, created_by) values (${id}, ${org}, ${connector}, ${name}, ${person})
    returning ${columns}`)

export const findImport = (db: Db, {org, id}: {org: string; id: string}) =>
  db.maybeOne(sql.type(Import)`select ${columns} from imports where org_id = ${org} and id = ${id}`)

export const findImportId = (db: Db, no: number) =>
  db.oneFirst(sql.type(z.object({id: z.string()}))`select id from imports where import_no = ${no}`)

/** Holds the import until the transaction ends: what depends on its state is decided once at a time. */
export const lockImport = (tx: Tx, {org, id}: {org: string; id: string}) =>
  tx.maybeOne(sql.type(Import)`select ${columns} from imports where org_id = ${org} and id = ${id} for update`)

/** Newest first; `before` is the id the last page ended with. */
export const listImports = (db: Db, {org, before, limit}: {org: string; before: string | null; limit: number}) =>
  db.any(sql.type(Import)`
    select ${columns} from imports where org_id = ${org} and (${before}::text is null or id < ${before}) order by id desc limit ${limit}`)

export const setFlows = (tx: Tx, {no, flows, state}: {no: number; flows: unknown[]; state: 'draft' | 'ready'}) =>
  tx.one(sql.type(Import)`
    update imports set flows = ${sql.jsonb(flows as never)}, state = ${state}, version = version + 1 where import_no = ${no} returning ${columns}`)

export const setImportState = (db: Db, {no, state}: {no: number; state: Import['state']}) =>
  db.query(sql.type(z.object({}))`update imports set state = ${state} where import_no = ${no}`)
