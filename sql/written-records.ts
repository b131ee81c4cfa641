import {z} from 'zod'
import {type Db, type Hot, prepare, sql} from './database.ts'

type ModuleRef = {org: string; connector: string; module: string}
const ModuleKey = z.object({keySealed: z.string(), fields: z.array(z.string())})

/**
 * Adds fields with marks to a module. Returns the module's key and all its fields in the order of their numbers. The key of the first caller
 * stays. A field keeps its number.
 */
export const keepWrittenModule = (db: Db, {org, connector, module, keySealed, fields}: ModuleRef & z.infer<typeof ModuleKey>) =>
  db.one(sql.type(ModuleKey)`
    insert into written_modules (org_id, connector_id, module, key_sealed, fields)
    values (${org}, ${connector}, ${module}, ${keySealed}, ${sql.array(fields, 'text')})
    on conflict (org_id, connector_id, module) do update set fields = written_modules.fields
      || array(select field from unnest(excluded.fields) as field where field <> all(written_modules.fields))
    returning key_sealed as "keySealed", fields`)

export const listWrittenModules = (db: Db, {org, connector}: Omit<ModuleRef, 'module'>) =>
  db.anyFirst(sql.type(z.object({module: z.string()}))`
    select module from written_modules where org_id = ${org} and connector_id = ${connector}`)

/** Lists the marks of records, one row with all marks for each record that has any. `days`: the days since the marks were stored last. */
export const listMarks = (hot: Hot, {org, connector, module, records}: ModuleRef & {records: string[]}) =>
  listMarksStatement(hot, [org, connector, module, records])

const listMarksStatement = prepare<{recordId: string; marks: Buffer; days: number}>(
  'list-marks',
  `select record_id as "recordId", marks, (extract(epoch from lading_now() - touched_at) / 86400)::float8 as days from written_records
   where org_id = $1 and connector_id = $2 and module = $3 and record_id = any($4::text[])`,
)

/** Deletes all marks of at most `limit` records whose marks were not stored again for `days`. Returns the number of these records. */
export const deleteOldMarks = async (db: Db, {org, days, limit}: {org: string; days: number; limit: number}) => {
  const {rowCount} = await db.query(sql.type(z.object({}))`
    delete from written_records where ctid = any(array(
      select ctid from written_records where org_id = ${org} and touched_at < lading_now() - make_interval(days => ${days}) limit ${limit}))`)
  return rowCount
}

/** Lists modules whose sealed key does not begin with `start`, which names the current master key. `after`: the last `id` of the page before. */
export const listSealedElse = (db: Db, {start, after, limit}: {start: string; after: string; limit: number}) =>
  db.any(sql.type(z.object({id: z.string(), org: z.string(), connector: z.string(), module: z.string(), keySealed: z.string()}))`
    select connector_id || ' ' || module as id, org_id as org, connector_id as connector, module, key_sealed as "keySealed" from written_modules
    where connector_id || ' ' || module > ${after} and not starts_with(key_sealed, ${start}) order by 1 limit ${limit}`)

/** Stores the newly sealed key. Returns false if it was changed since it was read. */
export const keepResealed = async (db: Db, {org, connector, module, before, after}: ModuleRef & {before: string; after: string}) => {
  const {rowCount} = await db.query(sql.type(z.object({}))`
    update written_modules set key_sealed = ${after}
    where org_id = ${org} and connector_id = ${connector} and module = ${module} and key_sealed = ${before}`)
  return rowCount === 1
}
