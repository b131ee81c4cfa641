import {z} from 'zod'
import type {CrmOrg} from './crm-quota.ts'
import {type Db, sql} from './database.ts'

/** Returns the milliseconds until an exhausted quota renews. Null if the quota is available or no renewal time is known. */
export const findRenewalWait = (db: Db, {dc, crmOrgId}: CrmOrg) =>
  db.maybeOneFirst(sql.type(z.object({waitMs: z.number()}))`
    select (extract(epoch from renews_at - lading_now()) * 1000)::float8 as "waitMs" from crm_allowances
    where dc = ${dc} and crm_org_id = ${crmOrgId} and renews_at > lading_now()`)

/**
 * Marks the quota as exhausted until the next `dailyAt` (HH:MM, UTC), or for `waitMs` if the destination named a time. Returns the wait in ms.
 * Stores nothing if no connection to the CRM org exists.
 */
export const keepRenewal = (db: Db, {dc, crmOrgId}: CrmOrg, {dailyAt, waitMs}: {dailyAt: string; waitMs: number | null}) =>
  db.oneFirst(sql.type(z.object({waitMs: z.number()}))`
    with today as (select date_trunc('day', lading_now(), 'UTC') + ${dailyAt}::text::interval as at),
    next as (
      select coalesce(lading_now() + make_interval(secs => ${waitMs === null ? null : waitMs / 1000}),
        case when at > lading_now() then at else at + interval '1 day' end) as at
      from today),
    kept as (
      insert into crm_allowances as a (dc, crm_org_id, spent_at, renews_at)
      select ${dc}, ${crmOrgId}, lading_now(), at from next
      where exists (select from connectors where dc = ${dc} and crm_org_id = ${crmOrgId})
      on conflict (dc, crm_org_id) do update set renews_at = excluded.renews_at, spent_at = coalesce(a.spent_at, excluded.spent_at))
    select (extract(epoch from at - lading_now()) * 1000)::float8 as "waitMs" from next`)
