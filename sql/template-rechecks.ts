import {z} from 'zod'
import {type Db, sql, type Tx} from './database.ts'
import {DiscoveryDiff} from './discoveries.ts'

/** A problem that a re-check found: what a changed field breaks. It has no cells, because a template stores no row data. */
export const RecheckProblem = z.object({
  severity: z.enum(['error', 'warning']),
  kind: z.string(),
  flow: z.string().nullable(),
  module: z.string(),
  field: z.string().nullable(),
  /** Affected rows. Null if the problem concerns the flow, not single rows. */
  rows: z.number().nullable(),
  fix: z.string(),
})
export type RecheckProblem = z.output<typeof RecheckProblem>

const Recheck = z.object({
  discovery: z.string(),
  importId: z.string(),
  checkedAt: z.string(),
  rows: z.number(),
  problems: z.array(RecheckProblem),
})

export const findRecheck = (db: Db, {id, version}: {id: string; version: number}) =>
  db.maybeOne(sql.type(Recheck)`
    select discovery_id as discovery, import_id as "importId", checked_at as "checkedAt", rows, problems
    from template_rechecks where template_id = ${id} and template_version = ${version}`)

const Recheckable = z.object({
  id: z.string(),
  version: z.number(),
  flows: z.array(z.unknown()),
  importId: z.string(),
  importFlows: z.array(z.unknown()),
  madeAt: z.string(),
  rows: z.number(),
})

/**
 * Lists the templates with an import of their current version, the most recently used first. Leaves out a template whose newest such import uses
 * another connection or has lost its files. Ignores imports with a flow that lacks its file.
 */
export const listRecheckable = (db: Db, {org, connector, limit}: {org: string; connector: string; limit: number}) =>
  db.any(sql.type(Recheckable)`
    select t.id, t.version, t.flows, i.id as "importId", i.flows as "importFlows", i.created_at as "madeAt",
      (select coalesce(sum(s.rows), 0)::bigint from sources s where s.import_no = i.import_no) as rows
    from templates t
    cross join lateral (
      select import_no, id, flows, created_at, state, connector_id from imports
      where org_id = t.org_id and template_id = t.id and template_version = t.version and not deleted
        and not exists (
          select from jsonb_array_elements(flows) flow
          where not exists (select from sources where sources.import_no = imports.import_no and sources.id = flow ->> 'sourceId')
        )
      order by import_no desc limit 1
    ) i
    where t.org_id = ${org} and i.connector_id = ${connector} and i.state <> 'expired'
    order by i.import_no desc limit ${limit}`)

/** Lists the changes that discoveries of the connection found since `since`, newest first, of at most 100 discoveries. */
export const listChangesSince = (db: Db, {connector, since}: {connector: string; since: string}) =>
  db.anyFirst(sql.type(z.object({diff: DiscoveryDiff}))`
    select diff from discoveries where connector_id = ${connector} and created_at >= ${since} order by id desc limit 100`)

type NewRecheck = {template: {id: string; version: number}; discovery: string; importId: string; rows: number; problems: RecheckProblem[]}

/**
 * Replaces the re-check of a template. Returns whether the problems differ from the previous re-check; true if there was none. Returns false if the
 * template no longer exists. Also returns false, and changes nothing, if the previous re-check is of a later version of the template or discovery.
 */
export const replaceRecheck = async (
  tx: Tx,
  {template: {id, version}, discovery, importId, rows, problems}: NewRecheck,
): Promise<boolean> => {
  const stored = sql.jsonb(problems as never)
  const before = await tx.maybeOne(sql.type(z.object({same: z.boolean()}))`
    select problems = ${stored}::jsonb as same from template_rechecks where template_id = ${id} for update`)
  const changed = await tx.maybeOne(sql.type(z.object({id: z.string()}))`
    insert into template_rechecks (template_id, template_version, discovery_id, import_id, rows, problems)
    select t.id, ${version}, ${discovery}, ${importId}, ${rows}, ${stored}::jsonb from templates t where t.id = ${id} for key share
    on conflict (template_id) do update set template_version = excluded.template_version, discovery_id = excluded.discovery_id,
      import_id = excluded.import_id, rows = excluded.rows, problems = excluded.problems, checked_at = lading_now()
      where (template_rechecks.template_version, template_rechecks.discovery_id) <= (excluded.template_version, excluded.discovery_id)
    returning template_id as id`)
  return changed !== null && before?.same !== true
}
