import {z} from 'zod'
import {type Db, sql, type Tx} from './database.ts'

const Empty = z.object({})

const Library = z.object({
  id: z.string(),
  namespace: z.string(),
  managedBy: z.literal('sdk').nullable(),
  versionNumber: z.number(),
  manifest: z.record(z.string(), z.json()),
  source: z.string(),
  updatedAt: z.string(),
})
export type LibraryRow = z.output<typeof Library>

const select = sql.fragment`
  select id, namespace, managed_by as "managedBy", l.version_no as "versionNumber", manifest, source, updated_at as "updatedAt"
  from libraries l join library_versions v on v.library_id = l.id and v.version_no = l.version_no`

export const listLibraryRows = (db: Db, org: string) =>
  db.any(sql.type(Library)`${select} where org_id = ${org} order by namespace collate "C"`)

export const findLibrary = (db: Db, {org, namespace}: {org: string; namespace: string}) =>
  db.maybeOne(sql.type(Library)`${select} where org_id = ${org} and namespace = ${namespace}`)

/** Locks the library until the transaction ends, so that concurrent publishes get different versions. */
export const lockLibrary = (tx: Tx, {org, namespace}: {org: string; namespace: string}) =>
  tx.maybeOne(sql.type(Library)`${select} where org_id = ${org} and namespace = ${namespace} for update of l`)

type NewLibraryVersion = {
  id: string
  org: string
  namespace: string
  managedBy: 'sdk' | null
  versionNumber: number
  manifest: object
  source: string
  restoredFrom: number | null
  person: string | null
}

/** Stores the next version as the current one. The first version creates the library. */
export const insertVersion = async (tx: Tx, published: NewLibraryVersion) => {
  const {id, org, namespace, managedBy, versionNumber, manifest, source, restoredFrom, person} = published
  await tx.query(sql.type(Empty)`
    insert into libraries (id, org_id, namespace, managed_by, version_no) values (${id}, ${org}, ${namespace}, ${managedBy}, ${versionNumber})
    on conflict (id) do update set version_no = excluded.version_no, updated_at = lading_now()`)
  await tx.query(sql.type(Empty)`
    insert into library_versions (library_id, version_no, manifest, source, restored_from, published_by)
    values (${id}, ${versionNumber}, ${sql.jsonb(manifest as never)}, ${source}, ${restoredFrom}, ${person})`)
}

export const deleteLibrary = (tx: Tx, id: string) => tx.query(sql.type(Empty)`delete from libraries where id = ${id}`)

export const setManagedBy = (tx: Tx, {id, managedBy}: {id: string; managedBy: 'sdk' | null}) =>
  tx.query(sql.type(Empty)`update libraries set managed_by = ${managedBy} where id = ${id}`)

const Version = z.object({
  versionNumber: z.number(),
  version: z.string(),
  restoredFrom: z.number().nullable(),
  publishedBy: z.string().nullable(),
  publishedAt: z.string(),
})

export const listVersions = (db: Db, {library, before, limit}: {library: string; before: number | null; limit: number}) =>
  db.any(sql.type(Version)`
    select version_no as "versionNumber", manifest ->> 'version' as version, restored_from as "restoredFrom", p.name as "publishedBy",
      published_at as "publishedAt"
    from library_versions left join people p on p.id = published_by
    where library_id = ${library} and (${before}::int is null or version_no < ${before})
    order by version_no desc limit ${limit}`)

export const findVersion = (db: Db, {library, versionNumber}: {library: string; versionNumber: number}) =>
  db.maybeOne(sql.type(Library.pick({manifest: true, source: true}))`
    select manifest, source from library_versions where library_id = ${library} and version_no = ${versionNumber}`)
