import {z} from 'zod'
import {type Db, sql, type Tx} from './database.ts'

const Org = z.object({id: z.string(), name: z.string(), followsCrmRoles: z.boolean()})

/**
 * The org of this CRM org, under the name it has there; `id` is used for a new one. Its row is held to the end of the
 * transaction, so sign-ins to one org take turns.
 */
export const keepOrg = (tx: Tx, {id, name, dc, crmOrgId}: {id: string; name: string; dc: string; crmOrgId: string}) =>
  tx.one(sql.type(Org)`
    insert into orgs (id, name, crm_dc, crm_org_id) values (${id}, ${name}, ${dc}, ${crmOrgId})
    on conflict (crm_dc, crm_org_id) do update set name = excluded.name
    returning id, name, follows_crm_roles as "followsCrmRoles"`)

export const isOpenOrg = (db: Db, id: string) => db.exists(sql.type(z.object({}))`select from orgs where id = ${id} and closed_at is null`)
