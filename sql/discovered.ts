import {z} from 'zod'
import {type Db, sql, type Tx} from './database.ts'
import {DiscoveredField, DiscoveredModule} from './discoveries.ts'

const Light = z.object({connectorId: z.string(), module: DiscoveredModule.omit({fields: true})})
export type LightModule = z.output<typeof Light>

const newest = (org: string) => sql.fragment`
  from connectors
  cross join lateral (select id from discoveries where connector_id = connectors.id order by id desc limit 1) newest
  join discovered_modules on discovery_id = newest.id
  where org_id = ${org}
  order by connectors.id, api_name collate "C"`

/** Lists every module of every connection of the org without its fields, from the newest discovery of each connection. */
export const listNewestModules = (db: Db, org: string) =>
  db.any(sql.type(Light)`select connectors.id as "connectorId", module - 'fields' as module ${newest(org)}`)

/** Lists the modules of `listNewestModules` with their fields. The result is as large as the whole schema of the CRMs. */
export const listNewestFields = (db: Db, org: string) =>
  db.any(sql.type(z.object({connectorId: z.string(), module: DiscoveredModule}))`
    select connectors.id as "connectorId", module ${newest(org)}`)

const Removed = z.object({module: z.string(), field: DiscoveredField, removedAt: z.string()})

/** Lists fields that an earlier discovery found and the newest discovery did not, of one module or of the whole connection. */
export const listRemovedFields = (db: Db, {connector, module = null}: {connector: string; module?: string | null}) =>
  db.any(sql.type(Removed)`
    select module, field, removed_at as "removedAt" from removed_fields
    where connector_id = ${connector} and (${module}::text is null or module = ${module})
    order by module collate "C", api_name collate "C"`)

export const insertRemovedFields = (tx: Tx, connector: string, fields: readonly {module: string; field: DiscoveredField}[]) =>
  tx.query(sql.type(z.object({}))`
    insert into removed_fields (connector_id, module, api_name, field)
    select ${connector}, module, field ->> 'apiName', field
    from jsonb_to_recordset(${sql.jsonb(fields)}) as gone (module text, field jsonb)
    on conflict (connector_id, module, api_name) do update set field = excluded.field, removed_at = excluded.removed_at`)

export const deleteRemovedFields = (tx: Tx, connector: string, fields: readonly {module: string; apiName: string}[]) =>
  tx.query(sql.type(z.object({}))`
    delete from removed_fields using jsonb_to_recordset(${sql.jsonb(fields)}) as back (module text, "apiName" text)
    where connector_id = ${connector} and removed_fields.module = back.module and api_name = "apiName"`)
