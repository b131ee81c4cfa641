import {z} from 'zod'
import {type Db, sql} from './database.ts'

type ModuleSize = {connector: string; module: string; records: number}

export const keepModuleSize = (db: Db, {connector, module, records}: ModuleSize) =>
  db.query(sql.type(z.object({}))`
    insert into crm_module_sizes (connector_id, module, records) values (${connector}, ${module}, ${records})
    on conflict (connector_id, module) do update set records = excluded.records, counted_at = lading_now()`)

export const listModuleSizes = (db: Db, connector: string) =>
  db.any(sql.type(z.object({module: z.string(), records: z.number()}))`
    select module, records from crm_module_sizes where connector_id = ${connector}`)

const freshSeconds = 3600

/** Returns null if the module's records were not counted within the hour. */
export const findFreshSize = (db: Db, {connector, module}: Omit<ModuleSize, 'records'>) =>
  db.maybeOneFirst(sql.type(z.object({records: z.number()}))`
    select records from crm_module_sizes
    where connector_id = ${connector} and module = ${module} and counted_at > lading_now() - make_interval(secs => ${freshSeconds})`)
