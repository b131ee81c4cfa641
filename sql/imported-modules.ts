import {z} from 'zod'
import {type Db, sql, type Tx} from './database.ts'

type ModulesOfConnector = {org: string; connector: string; modules: readonly string[]}

const ModuleState = z.object({apiName: z.string(), enabled: z.boolean(), disabled: z.boolean(), imported: z.boolean()})

/** Returns, for each of these modules, whether an administrator enabled or disabled it, and whether a run wrote to it before. */
export const listModuleStates = (db: Db, {org, connector, modules}: ModulesOfConnector) =>
  db.any(sql.type(ModuleState)`
    select name as "apiName", coalesce(c.enabled, false) as enabled, coalesce(c.disabled and not c.enabled, false) as disabled,
      i.api_name is not null as imported
    from unnest(${sql.array([...modules], 'text')}) as name
    left join curated_modules c on c.org_id = ${org} and c.connector_id = ${connector} and c.api_name = name
    left join imported_modules i on i.org_id = ${org} and i.connector_id = ${connector} and i.api_name = name
    order by name`)

/** Records that a run writes to these modules. Repeated inserts change nothing. */
export const keepImportedModules = (tx: Tx, {org, connector, modules}: ModulesOfConnector) =>
  tx.query(sql.type(z.object({}))`
    insert into imported_modules (org_id, connector_id, api_name)
    select ${org}, ${connector}, name from unnest(${sql.array([...modules], 'text')}) as name on conflict do nothing`)

export const listImportedModules = (db: Db, org: string) =>
  db.any(sql.type(z.object({connectorId: z.string(), apiName: z.string()}))`
    select connector_id as "connectorId", api_name as "apiName" from imported_modules where org_id = ${org}`)
