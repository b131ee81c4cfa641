import {z} from 'zod'
import {type Db, sql, type Tx} from './database.ts'
import {VerifyMode} from './runs.ts'

const Empty = z.object({})

const Template = z.object({
  id: z.string(),
  org: z.string(),
  connectorId: z.string().nullable(),
  name: z.string(),
  description: z.string().nullable(),
  sources: z.array(z.unknown()),
  flows: z.array(z.unknown()),
  known: z.unknown(),
  verify: VerifyMode,
  version: z.number(),
  shared: z.boolean(),
  /** The person who made the template. Null after the person was erased. */
  createdBy: z.string().nullable(),
  createdByName: z.string().nullable(),
  createdAt: z.string(),
  updatedAt: z.string(),
})
export type TemplateRow = z.infer<typeof Template>

const columns = sql.fragment`t.id, t.org_id as org, t.connector_id as "connectorId", t.name, t.description, t.sources, t.flows, t.known, t.verify, t.version, t.shared,
  t.created_by as "createdBy", (select p.name from people p where p.id = t.created_by) as "createdByName", t.created_at as "createdAt",
  t.updated_at as "updatedAt"`

/** The member who reads templates. An admin reads every template of the org, another member the shared templates and the member's own. */
export type Viewer = {org: string; person: string; admin: boolean}

const isVisible = ({org, person, admin}: Viewer) => sql.fragment`t.org_id = ${org} and (t.shared or t.created_by = ${person} or ${admin})`

export const findTemplate = (db: Db, {id, ...viewer}: Viewer & {id: string}) =>
  db.maybeOne(sql.type(Template)`select ${columns} from templates t where t.id = ${id} and ${isVisible(viewer)}`)

/** Locks the template until the transaction ends, so that the second of two concurrent changes sees the first. */
export const lockTemplate = (tx: Tx, {id, ...viewer}: Viewer & {id: string}) =>
  tx.maybeOne(sql.type(Template)`select ${columns} from templates t where t.id = ${id} and ${isVisible(viewer)} for update of t`)

/** Locks a shared template until the transaction ends. Finds it by its name, because a configuration repository names templates. */
export const lockSharedTemplate = (tx: Tx, {org, name}: {org: string; name: string}) =>
  tx.maybeOne(
    sql.type(Template)`select ${columns} from templates t where t.org_id = ${org} and t.name = ${name} and t.shared for update of t`,
  )

export const listTemplates = (db: Db, {before, limit, ...viewer}: Viewer & {before: string | null; limit: number}) =>
  db.any(sql.type(Template)`
    select ${columns} from templates t where ${isVisible(viewer)} and (${before}::text is null or t.id < ${before}) order by t.id desc limit ${limit}`)

type Content = {
  name: string
  description: string | null
  connectorId: string | null
  sources: readonly unknown[]
  flows: readonly unknown[]
  known: unknown
}

type New = Content & {id: string; org: string; person: string; shared: boolean; verify?: VerifyMode | undefined}

/** Returns false if the template is shared and the org has another shared template with this name. */
export const insertTemplate = async (tx: Tx, made: New): Promise<boolean> => {
  const {rowCount} = await tx.query(sql.type(Empty)`
    insert into templates (id, org_id, connector_id, name, description, sources, flows, known, verify, shared, created_by)
    values (${made.id}, ${made.org}, ${made.connectorId}, ${made.name}, ${made.description}, ${sql.jsonb(made.sources as never)},
      ${sql.jsonb(made.flows as never)}, ${sql.jsonb(made.known as never)}, ${made.verify ?? 'off'}, ${made.shared}, ${made.person})
    on conflict (org_id, name) where shared do nothing`)
  return rowCount === 1
}

export const updateTemplate = (tx: Tx, {id, ...content}: Content & {id: string}) =>
  tx.query(sql.type(Empty)`
    update templates set connector_id = ${content.connectorId}, name = ${content.name}, description = ${content.description},
      sources = ${sql.jsonb(content.sources as never)}, flows = ${sql.jsonb(content.flows as never)}, known = ${sql.jsonb(content.known as never)},
      version = version + 1, updated_at = lading_now()
    where id = ${id}`)

export const setTemplateKnown = (tx: Tx, {id, known}: {id: string; known: unknown}) =>
  tx.query(sql.type(Empty)`update templates set known = ${sql.jsonb(known as never)} where id = ${id}`)

/** The version stays, because the content does not change. */
export const setTemplateShared = (tx: Tx, {id, shared}: {id: string; shared: boolean}) =>
  tx.query(sql.type(Empty)`update templates set shared = ${shared} where id = ${id}`)

/** Sets which written rows the runs read back. The version stays, because the content does not change. */
export const setTemplateVerify = (tx: Tx, {id, verify}: {id: string; verify: VerifyMode}) =>
  tx.query(sql.type(Empty)`update templates set verify = ${verify} where id = ${id}`)

/** Deletes the template with its schedules. Its imports and runs stay. */
export const deleteTemplate = (tx: Tx, id: string) => tx.query(sql.type(Empty)`delete from templates where id = ${id}`)
