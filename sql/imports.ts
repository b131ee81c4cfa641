import {z} from 'zod'
import {type Db, sql, type Tx} from './database.ts'

export const Import = z.object({
  no: z.number(),
  id: z.string(),
  name: z.string(),
  connectorId: z.string(),
  state: z.enum(['draft', 'ready', 'running', 'done', 'expired']),
  flows: z.array(z.unknown()),
  version: z.number(),
  templateId: z.string().nullable(),
  templateVersion: z.number().nullable(),
  slots: z.array(z.unknown()),
  createdBy: z.string().nullable(),
  createdAt: z.string(),
  /** When the import expired. Its files and the data of its runs are deleted after that. */
  expiredAt: z.string().nullable(),
  archivedAt: z.string().nullable(),
})
export type Import = z.infer<typeof Import>

const columns = sql.fragment`import_no as no, id, name, connector_id as "connectorId", state, flows, version,
  template_id as "templateId", template_version as "templateVersion", slots, created_by as "createdBy", created_at as "createdAt",
  expired_at as "expiredAt", archived_at as "archivedAt"`

type NewImport = {id: string; org: string; connector: string; name: string; person: string | null}
/** The content that an import takes from its template. The flows are stored twice, because those of the import can change. */
type ImportFromTemplate = {template: {id: string; version: number}; slots: readonly unknown[]; flows: readonly unknown[]}

export const insertImport = (db: Db, {id, org, connector, name, person}: NewImport, begun: ImportFromTemplate | null = null) =>
  db.one(sql.type(Import)`
    insert into imports (id, org_id, connector_id, name, created_by, template_id, template_version, slots, flows, template_flows)
    values (${id}, ${org}, ${connector}, ${name}, ${person}, ${begun?.template.id ?? null}, ${begun?.template.version ?? null},
      ${sql.jsonb((begun?.slots ?? []) as never)}, ${sql.jsonb((begun?.flows ?? []) as never)},
      ${begun && sql.jsonb(begun.flows as never)})
    returning ${columns}`)

/** Replaces the slots and flows that an import copied from its template. The slots lose their files. */
export const replaceTemplateCopy = (tx: Tx, {no, template, slots, flows}: ImportFromTemplate & {no: number}) =>
  tx.query(sql.type(z.object({}))`
    update imports set template_version = ${template.version}, slots = ${sql.jsonb(slots as never)}, flows = ${sql.jsonb(flows as never)},
      template_flows = ${sql.jsonb(flows as never)}, version = version + 1
    where import_no = ${no}`)

export const findImport = (db: Db, {org, id}: {org: string; id: string}) =>
  db.maybeOne(sql.type(Import)`select ${columns} from imports where org_id = ${org} and id = ${id} and not deleted`)

export const findImportByNo = (db: Db, no: number) =>
  db.maybeOne(sql.type(Import)`select ${columns} from imports where import_no = ${no} and not deleted`)

export const findImportId = (db: Db, no: number) =>
  db.oneFirst(sql.type(z.object({id: z.string()}))`select id from imports where import_no = ${no}`)

const TemplateFlows = z.object({flows: z.array(z.unknown()).nullable()})

/** Reads the flows that the import's template had when the import was created. Null without a template, or if an earlier release created it. */
export const readTemplateFlows = (tx: Tx, importNo: number) =>
  tx.oneFirst(sql.type(TemplateFlows)`select template_flows as flows from imports where import_no = ${importNo}`)

export const listImportNames = (db: Db, numbers: number[]) =>
  db.any(sql.type(z.object({no: z.number(), id: z.string(), name: z.string()}))`
    select import_no as no, id, name from imports where import_no = any(${sql.array(numbers, 'int8')})`)

/** Locks the import until the transaction ends, so that concurrent requests cannot both act on the same state. */
export const lockImport = (tx: Tx, {org, id}: {org: string; id: string}) =>
  tx.maybeOne(sql.type(Import)`select ${columns} from imports where org_id = ${org} and id = ${id} and not deleted for update`)

/** `name`: a part of the name, in upper or lower case. `archived`: null lists both archived imports and others. */
type ListImportsInput = {org: string; before: string | null; limit: number; name: string | null; archived: boolean | null}

export const listImports = (db: Db, {org, before, limit, name, archived}: ListImportsInput) =>
  db.any(sql.type(Import)`
    select ${columns} from imports
    where org_id = ${org} and not deleted and (${before}::text is null or id < ${before})
      and (${archived}::boolean is null or (archived_at is not null) = ${archived})
      and (${name}::text is null or strpos(lower(name), lower(${name})) > 0)
    order by id desc limit ${limit}`)

export const setFlows = (tx: Tx, {no, flows, state}: {no: number; flows: unknown[]; state: 'draft' | 'ready'}) =>
  tx.one(sql.type(Import)`
    update imports set flows = ${sql.jsonb(flows as never)}, state = ${state}, version = version + 1 where import_no = ${no} returning ${columns}`)

/** Renames the import. The version grows only if the name changes. */
export const setImportName = (tx: Tx, {no, name}: {no: number; name: string}) =>
  tx.one(sql.type(Import)`
    update imports set name = ${name}, version = version + (name <> ${name})::int where import_no = ${no} returning ${columns}`)

/** Archives the import or lists it again. This creates no new version, because a mapping that is being edited stays valid. */
export const setImportArchived = (tx: Tx, {no, archived}: {no: number; archived: boolean}) =>
  tx.one(sql.type(Import)`
    update imports set archived_at = case when ${archived} then coalesce(archived_at, lading_now()) end where import_no = ${no}
    returning ${columns}`)

export const setSlots = (tx: Tx, {no, slots, flows, state}: {no: number; slots: unknown[]; flows: unknown[]; state: 'draft' | 'ready'}) =>
  tx.one(sql.type(Import)`
    update imports set slots = ${sql.jsonb(slots as never)}, flows = ${sql.jsonb(flows as never)}, state = ${state}, version = version + 1
    where import_no = ${no} returning ${columns}`)

export const setImportState = (db: Db, {no, state}: {no: number; state: Import['state']}) =>
  db.query(sql.type(z.object({}))`update imports set state = ${state} where import_no = ${no}`)
