import {z} from 'zod'
import {type Db, type Pool, sql, type Tx} from './database.ts'
import {deleteEditSettings, keepEditSettings} from './edit-settings.ts'

const Version = z.object({version: z.number()})

/** Reads in one repeatable-read transaction, so that all reads see the same moment. */
export const readAtOnce = <T>(db: Pool, read: (tx: Tx) => Promise<T>): Promise<T> =>
  db.transaction(async tx => {
    await tx.query(sql.type(z.object({}))`set transaction isolation level repeatable read, read only`)
    return read(tx)
  })

export const findRegistryVersion = (db: Db, org: string) =>
  db.oneFirst(sql.type(Version)`select registry_version as version from orgs where id = ${org}`)

const Revision = z.object({version: z.number(), moves: z.number()})

/** Reads what decides the result of `config/resolved`: the registry version, and how often the management of libraries changed. */
export const findRevision = (db: Db, org: string) =>
  db.one(sql.type(Revision)`select registry_version as version, library_moves as moves from orgs where id = ${org}`)

export const countLibraryMove = (tx: Tx, org: string) =>
  tx.query(sql.type(z.object({}))`update orgs set library_moves = library_moves + 1 where id = ${org}`)

/** Locks the registry version until the transaction ends, so that writers of the org's configuration take turns. Returns null if the org is gone. */
export const lockRegistryVersion = (tx: Tx, org: string) =>
  tx.maybeOneFirst(sql.type(Version)`select registry_version as version from orgs where id = ${org} for no key update`)

export const raiseRegistryVersion = (tx: Tx, org: string) =>
  tx.oneFirst(
    sql.type(Version)`update orgs set registry_version = registry_version + 1 where id = ${org} returning registry_version as version`,
  )

const OnEdited = z.enum(['overwrite', 'keep', 'ask']).nullish()

const Settings = z.object({
  dateFormat: z.string(),
  timezone: z.string(),
  expressionContext: z.record(z.string(), z.json()),
  aiSamplePolicy: z.enum(['allow', 'masked', 'deny']),
  onEdited: OnEdited,
  undo: z.enum(['on', 'off']).nullish(),
  guard: z
    .object({
      refused: z.number().optional(),
      unanswered: z.number().optional(),
      failed: z.number().optional(),
      coerced: z.number().optional(),
      canary: z.number().optional(),
    })
    .nullish(),
  approvalAbove: z.number().nullish(),
  embedOrigins: z.array(z.string()).nullish(),
})
type SettingsRow = z.output<typeof Settings>

/** Reads the org's settings, or null if all have their defaults. */
export const findSettings = (db: Db, org: string) =>
  db.maybeOne(sql.type(Settings)`
    select date_format as "dateFormat", timezone, expression_context as "expressionContext", ai_sample_policy as "aiSamplePolicy",
      case when undo then 'on' else 'off' end as undo, guard, approval_above as "approvalAbove", embed_origins as "embedOrigins",
      (select on_edited from edit_settings e where e.org_id = s.org_id and module_key = '') as "onEdited"
    from org_settings s where org_id = ${org}`)

export const keepSettings = async (tx: Tx, org: string, settings: SettingsRow) => {
  const {
    dateFormat,
    timezone,
    expressionContext,
    aiSamplePolicy,
    onEdited = null,
    undo,
    guard = null,
    approvalAbove = null,
    embedOrigins,
  } = settings
  await keepEditSettings(tx, org, [{key: '', onEdited}])
  await tx.query(sql.type(z.object({}))`
    insert into org_settings (org_id, date_format, timezone, expression_context, ai_sample_policy, undo, guard, approval_above, embed_origins)
    values (${org}, ${dateFormat}, ${timezone}, ${sql.jsonb(expressionContext)}, ${aiSamplePolicy}, ${undo !== 'off'}, ${guard === null ? null : JSON.stringify(guard)}::jsonb,
      ${approvalAbove}, ${sql.array(embedOrigins ?? [], 'text')})
    on conflict (org_id) do update set date_format = excluded.date_format, timezone = excluded.timezone,
      expression_context = excluded.expression_context, ai_sample_policy = excluded.ai_sample_policy, undo = excluded.undo, guard = excluded.guard,
      approval_above = excluded.approval_above, embed_origins = excluded.embed_origins`)
}

export const findFollowsCrmRoles = (db: Db, org: string) =>
  db.oneFirst(sql.type(z.object({follows: z.boolean()}))`select follows_crm_roles as follows from orgs where id = ${org}`)

export const setFollowsCrmRoles = (tx: Tx, {org, follows}: {org: string; follows: boolean}) =>
  tx.query(sql.type(z.object({}))`update orgs set follows_crm_roles = ${follows} where id = ${org}`)

export const listPausedConnectors = (db: Db, org: string) =>
  db.anyFirst(sql.type(z.object({id: z.string()}))`select id from connectors where org_id = ${org} and writes_paused order by id`)

const objects = z.array(z.record(z.string(), z.json()))
const CuratedModule = z.object({
  key: z.string(),
  apiName: z.string(),
  connectorId: z.string(),
  enabled: z.boolean().nullable(),
  singular: z.string().nullable(),
  order: z.number(),
  uniqueFields: z.array(z.string()),
  idempotencyField: z.string().nullable(),
  match: z.record(z.string(), z.json()).nullable(),
  exclusions: z.array(z.string()),
  seedMappings: objects,
  onEdited: OnEdited,
  annotations: objects,
})
export type CuratedModuleRow = z.output<typeof CuratedModule>

/** Lists the org's configured modules, in the order in which their records are created. */
export const listCuratedModules = (db: Db, org: string) =>
  db.any(sql.type(CuratedModule)`
    select key, api_name as "apiName", connector_id as "connectorId",
      case when enabled then true when disabled then false end as enabled, singular, position as "order",
      unique_fields as "uniqueFields", idempotency_field as "idempotencyField", match, exclusions, seed_mappings as "seedMappings", annotations,
      (select on_edited from edit_settings e where e.org_id = m.org_id and module_key = key) as "onEdited"
    from curated_modules m where org_id = ${org} order by position, key`)

export const keepCuratedModules = async (tx: Tx, org: string, modules: readonly CuratedModuleRow[]) => {
  await keepEditSettings(
    tx,
    org,
    modules.map(({key, onEdited = null}) => ({key, onEdited})),
  )
  await tx.query(sql.type(z.object({}))`
    insert into curated_modules (org_id, key, connector_id, api_name, enabled, disabled, singular, position, unique_fields, idempotency_field, match,
      exclusions, seed_mappings, annotations)
    select ${org}, key, "connectorId", "apiName", enabled is true, enabled is false, singular, "order", "uniqueFields", "idempotencyField", nullif(match, 'null'),
      exclusions, "seedMappings", annotations
    from jsonb_to_recordset(${sql.jsonb(modules)}) as given (key text, "connectorId" text, "apiName" text, enabled boolean, singular text,
      "order" int, "uniqueFields" jsonb, "idempotencyField" text, match jsonb, exclusions jsonb, "seedMappings" jsonb, annotations jsonb)
    on conflict (org_id, key) do update set enabled = excluded.enabled, disabled = excluded.disabled, singular = excluded.singular, position = excluded.position,
      unique_fields = excluded.unique_fields, idempotency_field = excluded.idempotency_field, match = excluded.match, exclusions = excluded.exclusions,
      seed_mappings = excluded.seed_mappings, annotations = excluded.annotations`)
}

export const deleteCuratedModules = async (tx: Tx, org: string, keys: readonly string[]) => {
  await deleteEditSettings(tx, org, keys)
  await tx.query(sql.type(z.object({}))`delete from curated_modules where org_id = ${org} and key = any(${sql.array([...keys], 'text')})`)
}
