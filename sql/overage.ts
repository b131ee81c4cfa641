import {z} from 'zod'
import {type Db, sql, type Tx} from './database.ts'

const Empty = z.object({})

/** Returns false if the setting was the same. */
export const setOverage = async (tx: Tx, {org, enabled}: {org: string; enabled: boolean}) => {
  const {rowCount} = await tx.query(sql.type(Empty)`
    update orgs set overage_enabled = ${enabled} where id = ${org} and overage_enabled is distinct from ${enabled}`)
  return rowCount === 1
}

/** Stores overage rows to be billed, if the org has a customer at the provider. */
export const insertReport = (tx: Tx, {identifier, org, run, rows}: {identifier: string; org: string; run: string; rows: number}) =>
  tx.query(sql.type(Empty)`
    insert into overage_reports (identifier, org_id, run_id, rows)
    select ${identifier}, org_id, ${run}, ${rows} from billing_accounts where org_id = ${org} and customer_id is not null
    on conflict do nothing`)

const Report = z.object({
  identifier: z.string(),
  org: z.string(),
  customer: z.string(),
  /** The overage price of the plan that the org had subscribed to when its subscription was last read. */
  price: z.string().nullable(),
  /** The overage item of the live subscription. It bills overage even if the plan has no overage price any more. Null: nothing bills overage. */
  item: z.string().nullable(),
  /** Whether the subscription only lacks its overage item, which `restoreOverage` adds again. */
  isItemLost: z.boolean(),
  rows: z.number(),
  at: z.string(),
  /** Hours since the first attempt to send the report; null before the first attempt. */
  triedHours: z.number().nullable(),
})
export type Report = z.output<typeof Report>

const lacksItem = sql.fragment`
  overage_item_id is null and payment_price_overage_id is not null and status not in ('canceled', 'incomplete_expired', 'incomplete')`
const report = sql.fragment`identifier, r.org_id as org, customer_id as customer, p.payment_price_overage_id as price,
  case when status not in ('canceled', 'incomplete_expired') then overage_item_id end as item,
  coalesce(${lacksItem} and exists (select from orgs o where o.id = r.org_id and overage_enabled), false) as "isItemLost", rows, at,
  (extract(epoch from lading_now() - first_tried_at) / 3600)::float8 as "triedHours"`
const tables = sql.fragment`overage_reports r join billing_accounts using (org_id) left join subscriptions s using (org_id)
  left join plan_versions p on p.id = s.plan_version_id`

/**
 * Lists reports that the provider has not confirmed and whose next attempt is due, fewest attempts first. Each attempt lengthens the delay before the
 * next one.
 */
export const listUnsent = (db: Db, limit: number) =>
  db.any(sql.type(Report)`
    select ${report} from ${tables}
    where sent_at is null and customer_id is not null and at + attempts * attempts * interval '10 seconds' <= lading_now()
    order by attempts, at, identifier limit ${limit}`)

/**
 * Counts an attempt before the report is sent, because the report may arrive from then on. Returns the time for which the rows are reported; null if
 * the report was confirmed meanwhile. If the first attempt is `hours` old, the count starts again. A report older than 30 minutes then gets the
 * current time, because the invoice of its original time may be closed, so that its rows would not be billed.
 */
export const beginReport = (db: Db, {identifier, hours}: {identifier: string; hours: number}) =>
  db.maybeOneFirst(sql.type(z.object({at: z.string()}))`
    update overage_reports r set attempts = case when is_new then 1 else attempts + 1 end,
      first_tried_at = case when is_new then lading_now() else first_tried_at end,
      at = case when is_new and at < lading_now() - interval '30 minutes' then lading_now() else at end
    from (
      select identifier as same, coalesce(first_tried_at <= lading_now() - make_interval(hours => ${hours}), true) as is_new
      from overage_reports where identifier = ${identifier} for no key update) as found
    where identifier = same and sent_at is null returning at`)

/** Counts an attempt in which the report was not sent, so that the next attempt waits longer. */
export const restReport = (db: Db, identifier: string) =>
  db.query(sql.type(Empty)`update overage_reports set attempts = attempts + 1 where identifier = ${identifier}`)

export const setSent = (db: Db, identifiers: readonly string[]) =>
  db.query(sql.type(Empty)`
    update overage_reports set sent_at = lading_now() where identifier = any(${sql.array([...identifiers], 'text')}) and sent_at is null`)

const InMinute = z.object({identifier: z.string(), rows: z.number(), sent: z.boolean(), tried: z.boolean(), fresh: z.boolean()})

/**
 * Lists all reports of the org in the minute of `at`. `fresh`: the report was confirmed within the hour, so the provider may not count it yet.
 * Also true if the report was first tried within `hours` and is not confirmed, so it is sent again.
 */
export const listOfMinute = (db: Db, {org, at, hours}: {org: string; at: string; hours: number}) =>
  db.any(sql.type(InMinute)`
    select identifier, rows, sent_at is not null as sent, first_tried_at is not null as tried,
      coalesce(case when sent_at is null then first_tried_at > lading_now() - make_interval(hours => ${hours})
        else sent_at > lading_now() - interval '1 hour' end, false) as fresh
    from overage_reports
    where org_id = ${org} and at >= date_trunc('minute', ${at}::timestamptz) and at < date_trunc('minute', ${at}::timestamptz) + interval '1 minute'
    order by rows desc, identifier`)

const Total = z.object({
  org: z.string(),
  customer: z.string(),
  price: z.string().nullable(),
  item: z.string().nullable(),
  from: z.string(),
  to: z.string(),
  rows: z.number(),
})
export type Total = z.output<typeof Total>

/** Lists reported rows per org in the last `days` whole UTC days before today. Leaves out orgs with an unconfirmed report in this time. */
export const listReported = (db: Db, {days, after, limit}: {days: number; after: string; limit: number}) =>
  db.any(sql.type(Total)`
    with span as (
      select date_trunc('day', lading_now(), 'UTC') - make_interval(days => ${days}) as "from", date_trunc('day', lading_now(), 'UTC') as "to")
    select r.org_id as org, customer_id as customer, p.payment_price_overage_id as price, overage_item_id as item, "from", "to",
      sum(rows)::int8 as rows
    from span, ${tables}
    where at >= "from" and at < "to" and customer_id is not null and coalesce(p.payment_price_overage_id, overage_item_id) is not null
      and r.org_id > ${after}
    group by 1, 2, 3, 4, 5, 6 having bool_and(sent_at is not null) order by 1 limit ${limit}`)

const Item = z.object({org: z.string(), item: z.string(), price: z.string()})

export const listOverageItems = (db: Db, {after, limit}: {after: string; limit: number}) =>
  db.any(sql.type(Item)`${items} and org_id > ${after} order by 1 limit ${limit}`)

/** Lists orgs with overage enabled and a plan with an overage price, whose subscription has no overage item. */
export const listUnbilledOverage = (db: Db, limit: number) =>
  db.anyFirst(sql.type(z.object({org: z.string()}))`
    select s.org_id as org
    from subscriptions s join orgs o on o.id = s.org_id join plan_versions p on p.id = s.plan_version_id
    where o.overage_enabled and ${lacksItem}
    order by 1 limit ${limit}`)

export const findOverageItem = (db: Db, org: string) => db.maybeOne(sql.type(Item)`${items} and org_id = ${org}`)

const items = sql.fragment`
  select org_id as org, overage_item_id as item, payment_price_overage_id as price
  from subscriptions s join plan_versions p on p.id = s.plan_version_id
  where overage_item_id is not null and payment_price_overage_id is not null and status not in ('canceled', 'incomplete_expired')`
