import {z} from 'zod'
import {type Db, sql, type Tx} from './database.ts'

/** A field of the CRM's metadata, in this product's terms. `type` is the CRM's `data_type`, unchanged. */
export const DiscoveredField = z.object({
  apiName: z.string(),
  label: z.string(),
  type: z.string(),
  jsonType: z.string().nullable(),
  length: z.number().nullable(),
  decimalPlaces: z.number().nullable(),
  /** Whether the CRM requires the field in every create. */
  required: z.boolean(),
  /** Whether some layout requires the field. The CRM's API checks this only if a create names the layout. */
  layoutRequired: z.boolean(),
  unique: z.object({caseSensitive: z.boolean()}).nullable(),
  creatable: z.boolean(),
  updatable: z.boolean(),
  readOnly: z.boolean(),
  /** Whether the field is on a layout that the connection's user sees. */
  visible: z.boolean(),
  /** The options of a picklist. `display` and `actual` (the sent value) differ after an option was renamed. */
  picklist: z.array(z.object({display: z.string(), actual: z.string(), unused: z.literal(true).optional()})),
  lookup: z.object({module: z.string()}).nullable(),
  subform: z.object({module: z.string()}).nullable(),
  /** Whether the CRM fills the field if a create leaves it out. Absent if not. */
  hasDefault: z.literal(true).optional(),
  /** Why the CRM cannot search by the field. Absent if it can. */
  unqueryable: z.enum(['encrypted', 'multiline']).optional(),
})
export type DiscoveredField = z.output<typeof DiscoveredField>

/** A page layout of a module. `fields`: the fields on it. `required`: the fields that the layout requires and the module does not. */
const Layout = z.object({id: z.string(), name: z.string(), fields: z.array(z.string()), required: z.array(z.string())})
const AssignmentRule = z.object({id: z.string(), name: z.string()})

export const DiscoveredModule = z.object({
  apiName: z.string(),
  /** The plural name, as on a tab of the CRM. */
  label: z.string(),
  singular: z.string(),
  id: z.string(),
  kind: z.enum(['default', 'custom', 'subform']),
  creatable: z.boolean(),
  editable: z.boolean(),
  visible: z.boolean(),
  /** The module and the field that contain a subform's rows. Null for other modules. */
  subformOf: z.object({module: z.string(), field: z.string()}).nullable(),
  /** The field that contains a record's name. */
  namingField: z.string().nullable(),
  /** Why this discovery could not read the fields. The listed fields are then those of an earlier discovery, or none. */
  unread: z.object({code: z.string().nullable(), status: z.number().nullable(), message: z.string()}).optional(),
  /** The active layouts. Absent if the CRM showed none, or if an older build that read no layouts made the discovery. */
  layouts: z.array(Layout).optional(),
  /** The rules that choose the owner of a new record. Absent if the CRM did not list them. */
  assignmentRules: z.array(AssignmentRule).optional(),
  /** False if the destination has no automations, layouts, assignment rules or tags; otherwise absent. */
  hasWriteOptions: z.literal(false).optional(),
  fields: z.array(DiscoveredField),
})
export type DiscoveredModule = z.output<typeof DiscoveredModule>

const Change = z.object({what: z.string(), before: z.json(), after: z.json()})
/** Changes since the previous discovery. In the first discovery, `since` is null and the lists are empty. */
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

/** SQL for whether the discovery `d` found added, removed or changed modules. */
export const hasChanges = sql.fragment`(d.diff -> 'added' <> '[]' or d.diff -> 'removed' <> '[]' or d.diff -> 'changed' <> '[]')`

/** A discovery without its modules. `seenAt`: when the CRM was last found in this state. */
const Discovery = z.object({id: z.string(), createdAt: z.string(), seenAt: z.string(), diff: DiscoveryDiff})

/** The caller makes the `id` by `newId('dis')`. */
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

/** Sets the discovery's `seenAt` to now, because a later discovery found no changes. Returns its id. */
export const markDiscoverySeen = (tx: Tx, id: string) =>
  tx.oneFirst(sql.type(z.object({id: z.string()}))`update discoveries set seen_at = lading_now() where id = ${id} returning id`)

export const findLatestDiscovery = (db: Db, connector: string) =>
  db.maybeOne(sql.type(Discovery)`
    select id, created_at as "createdAt", seen_at as "seenAt", diff from discoveries where connector_id = ${connector} order by id desc limit 1`)

export const listDiscoveredModules = (db: Db, discovery: string): Promise<readonly DiscoveredModule[]> =>
  db
    .any(sql.type(z.object({module: DiscoveredModule}))`
      select module from discovered_modules where discovery_id = ${discovery} order by api_name collate "C"`)
    .then(rows => rows.map(({module}) => module))

/** Reads modules of the connection's newest discovery, by API name. `id`: the discovery, or null if there is none. */
export const readNewestModules = async (db: Db, {connector, modules}: {connector: string; modules: string[]}) => {
  const rows = await db.any(sql.type(z.object({id: z.string(), module: DiscoveredModule.nullable()}))`
    select d.id, m.module
    from (select id from discoveries where connector_id = ${connector} order by id desc limit 1) d
      left join discovered_modules m on m.discovery_id = d.id and m.api_name = any(${sql.array(modules, 'text')})`)
  return {id: rows[0]?.id ?? null, modules: new Map(rows.flatMap(({module}) => (module ? [[module.apiName, module]] : [])))}
}

type RenamedQuery = {connector: string; discovery: string | null; until: string | null; names: string[]}

/**
 * Lists those of `names` whose modules have another name in the connection's newest discovery. Takes the module's id from `discovery`, or, if that is
 * null, from the newest discovery that has the name and was made before `until`. If there is none, from the newest later one.
 */
export const listRenamedModules = (db: Db, {connector, discovery, until, names}: RenamedQuery) =>
  db.any(sql.type(z.object({before: z.string(), now: z.string()}))`
    select before, present.api_name as now
    from unnest(${sql.array(names, 'text')}) before
      cross join lateral (
        select module ->> 'id' as id from discovered_modules join discoveries d on d.id = discovery_id
        where connector_id = ${connector} and api_name = before and d.id = coalesce(${discovery}, d.id)
        order by coalesce(d.created_at > ${until}, false), d.id desc limit 1) known
      join discovered_modules present on present.module ->> 'id' = known.id and present.api_name <> before
    where present.discovery_id = (select id from discoveries where connector_id = ${connector} order by id desc limit 1)`)

/** Returns null if the newest discovery of the connection has no such module. */
export const findDiscoveredModule = async (db: Db, {connector, module}: {connector: string; module: string}) => {
  const row = await db.maybeOne(sql.type(z.object({module: DiscoveredModule}))`
    select module from discovered_modules
    where api_name = ${module}
      and discovery_id = (select id from discoveries where connector_id = ${connector} order by id desc limit 1)`)
  return row?.module ?? null
}
