import {z} from 'zod'
import type {CrmOrg} from './allowances.ts'
import {type Db, sql} from './database.ts'

/** Milliseconds until a used-up allowance is there again; null where it is, or nobody said that it is used up. */
export const findRenewalWait = (db: Db, {dc, crmOrgId}: CrmOrg) =>
  db.maybeOneFirst(sql.type(z.object({waitMs: z.number()}))`
    select (extract(epoch from renews_at - lading_now()) * 1000)::float8 as "waitMs" from crm_allowances
    where dc = ${dc} and crm_org_id = ${crmOrgId} and renews_at > lading_now()`)

/**
 * Used up until the next `dailyAt` (HH:MM, UTC), or for as long as the destination itself said. Answers how long that is. The row leaves
 * with the connection.
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
