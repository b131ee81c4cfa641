import {z} from 'zod'
import {type Db, sql, type Tx} from './database.ts'

/** A field as the CRM's metadata has it, in this product's words. `type` is the CRM's `data_type`, untouched. */
export const DiscoveredField = z.object({
  apiName: z.string(),
  label: z.string(),
  type: z.string(),
  jsonType: z.string().nullable(),
  length: z.number().nullable(),
  decimalPlaces: z.number().nullable(),
  /** Every create needs it. */
  required: z.boolean(),
  /** Some layout asks for it, which the CRM's API checks only when a layout is named. */
  layoutRequired: z.boolean(),
  unique: z.object({caseSensitive: z.boolean()}).nullable(),
  creatable: z.boolean(),
  updatable: z.boolean(),
  readOnly: z.boolean(),
  /** On a layout the connection's user sees. */
  visible: z.boolean(),
  /** What people see and what goes over the wire: they part when an option is renamed. */
  picklist: z.array(z.object({display: z.string(), actual: z.string(), unused: z.literal(true).optional()})),
  lookup: z.object({module: z.string()}).nullable(),
  subform: z.object({module: z.string()}).nullable(),
})
export type DiscoveredField = z.output<typeof DiscoveredField>

export const DiscoveredModule = z.object({
  apiName: z.string(),
  /** Plural, as a tab is called. */
  label: z.string(),
  singular: z.string(),
  id: z.string(),
  kind: z.enum(['default', 'custom', 'subform']),
  creatable: z.boolean(),
  editable: z.boolean(),
  visible: z.boolean(),
  /** For a subform: the module and the field its rows are written in. */
  subformOf: z.object({module: z.string(), field: z.string()}).nullable(),
  /** The field a record is called by. */
  namingField: z.string().nullable(),
  fields: z.array(DiscoveredField),
})
export type DiscoveredModule = z.output<typeof DiscoveredModule>

const Change = z.object({what: z.string(), before: z.json(), after: z.json()})
/** Since the discovery before; `since` is null, and the rest empty, for a connection's first one. */
export const DiscoveryDiff = z.object({
  since: z.string().nullable(),
  added: z.array(z.string()),
  removed: z.array(z.string()),
  changed: z.array(
    z.object({
      module: z.string(),
      changes: z.array(Change),
      fields: z.object({
        added: z.array(z.string()),
        removed: z.array(z.string()),
        changed: z.array(z.object({field: z.string(), changes: z.array(Change)})),
      }),
    }),
  ),
})
export type DiscoveryDiff = z.output<typeof DiscoveryDiff>

/** `seenAt`: when the CRM was last found to be so. */
const Discovery = z.object({id: z.string(), createdAt: z.string(), seenAt: z.string(), diff: DiscoveryDiff})

/** The snapshot whole: its modules and what changed since the one before. `id` is the caller's `newId('dis')`. */
export const insertDiscovery = async (
  tx: Tx,
  {id, connector, modules, diff}: {id: string; connector: string; modules: DiscoveredModule[]; diff: DiscoveryDiff},
) => {
  await tx.query(sql.type(z.object({}))`
    insert into discoveries (id, connector_id, diff, created_at, seen_at)
    select ${id}, ${connector}, ${sql.jsonb(diff)}::jsonb, now, now from lading_now() as now`)
  await tx.query(sql.type(z.object({}))`
    insert into discovered_modules (discovery_id, api_name, module)
    select ${id}, module ->> 'apiName', module from jsonb_array_elements(${sql.jsonb(modules)}) as module`)
}

/** Everything was found as this snapshot has it, once more. Answers its id. */
export const seeDiscovery = (tx: Tx, id: string) =>
  tx.oneFirst(sql.type(z.object({id: z.string()}))`update discoveries set seen_at = lading_now() where id = ${id} returning id`)

/** Null while nothing was discovered on this connection. */
export const findLatestDiscovery = (db: Db, connector: string) =>
  db.maybeOne(sql.type(Discovery)`
    select id, created_at as "createdAt", seen_at as "seenAt", diff from discoveries where connector_id = ${connector} order by id desc limit 1`)

/** Every module of one snapshot, by API name. */
export const listDiscoveredModules = (db: Db, discovery: string): Promise<readonly DiscoveredModule[]> =>
  db
    .any(sql.type(z.object({module: DiscoveredModule}))`
      select module from discovered_modules where discovery_id = ${discovery} order by api_name collate "C"`)
    .then(rows => rows.map(({module}) => module))

/** As the newest discovery of this connection read it; null when that has no such module. */
export const findDiscoveredModule = async (db: Db, {connector, module}: {connector: string; module: string}) => {
  const row = await db.maybeOne(sql.type(z.object({module: DiscoveredModule}))`
    select module from discovered_modules
    where api_name = ${module}
      and discovery_id = (select id from discoveries where connector_id = ${connector} order by id desc limit 1)`)
  return row?.module ?? null
}
