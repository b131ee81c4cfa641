import {z} from 'zod'
import {type Db, sql, type Tx} from './database.ts'

const Org = z.object({id: z.string(), name: z.string(), followsCrmRoles: z.boolean()})
const Described = Org.extend({
  sandbox: z.boolean(),
  productionOrgId: z.string().nullable(),
  closedAt: z.string().nullable(),
  createdAt: z.string(),
})

type OrgInput = {id: string; name: string; dc: string; crmOrgId: string; sandbox?: boolean; plan?: string}

/**
 * Stores the org that belongs to this CRM org, or updates its name and its sandbox flag. `id` and the newest version of `plan` apply only to a
 * new org. Locks the row until the transaction ends, so that sign-ins to one org take turns.
 */
export const keepOrg = (tx: Tx, {id, name, dc, crmOrgId, sandbox = false, plan = 'free'}: OrgInput) =>
  tx.one(sql.type(Org)`
    insert into orgs (id, name, crm_dc, crm_org_id, sandbox, plan_version_id)
    values (${id}, ${name}, ${dc}, ${crmOrgId}, ${sandbox}, (select p.id from plan_versions p where key = ${plan} order by version desc limit 1))
    on conflict (crm_dc, crm_org_id) do update set name = excluded.name, sandbox = excluded.sandbox,
      sandbox_of = case when excluded.sandbox then orgs.sandbox_of end
    returning id, name, follows_crm_roles as "followsCrmRoles"`)

/** Locks the org. Changes of memberships do this first, so that they take turns. Returns null if the org is gone. */
export const lockOrg = (tx: Tx, id: string) =>
  tx.maybeOne(sql.type(Org.extend({closed: z.boolean()}))`
    select id, name, follows_crm_roles as "followsCrmRoles", closed_at is not null as closed
    from orgs where id = ${id} for no key update`)

export const findOrg = (db: Db, id: string) =>
  db.maybeOne(sql.type(Described)`
    select id, name, follows_crm_roles as "followsCrmRoles", sandbox, sandbox_of as "productionOrgId", closed_at as "closedAt",
      created_at as "createdAt"
    from orgs where id = ${id}`)

export const setProduction = (tx: Tx, {org, production}: {org: string; production: string | null}) =>
  tx.query(sql.type(z.object({}))`update orgs set sandbox_of = ${production} where id = ${org}`)

/** Returns false for an org that is being erased. */
export const isOrg = (db: Db, id: string) => db.exists(sql.type(z.object({}))`select from orgs where id = ${id} and erasing_at is null`)

export const isOpenOrg = (db: Db, id: string) => db.exists(sql.type(z.object({}))`select from orgs where id = ${id} and closed_at is null`)
