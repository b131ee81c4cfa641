import {z} from 'zod'
import {type Db, sql, type Tx} from './database.ts'

const Empty = z.object({})

/** The formats of the messages that an endpoint can receive. */
export const ENDPOINT_KINDS = ['json', 'slack', 'teams'] as const

const Endpoint = z.object({
  id: z.string(),
  kind: z.enum(ENDPOINT_KINDS),
  url: z.string(),
  description: z.string(),
  events: z.array(z.string()),
  schedule: z.string().nullable(),
  /** Whether the endpoint's schedule was deleted. The endpoint then does not get further notices of that schedule. */
  scheduleGone: z.boolean(),
  enabled: z.boolean(),
  disabledReason: z.string().nullable(),
  failingSince: z.string().nullable(),
  oldSecretUntil: z.string().nullable(),
  createdAt: z.string(),
})
export type Endpoint = z.output<typeof Endpoint>

const columns = sql.fragment`id, kind, url, description, events, schedule_id as schedule,
  schedule_id is not null and not exists (select from schedules where schedules.id = schedule_id) as "scheduleGone", enabled, disabled_reason as "disabledReason",
  failing_since as "failingSince", case when old_secret_until > lading_now() then old_secret_until end as "oldSecretUntil",
  created_at as "createdAt"`

type Shape = Pick<Endpoint, 'kind' | 'url' | 'description' | 'events' | 'schedule'>
type EndpointRef = {org: string; id: string}

export const insertEndpoint = (
  tx: Tx,
  {id, org, kind, url, description, events, schedule, sealed}: Shape & EndpointRef & {sealed: string},
) =>
  tx.one(sql.type(Endpoint)`
    insert into webhook_endpoints (id, org_id, kind, url, description, events, schedule_id, secret_sealed)
    values (${id}, ${org}, ${kind}, ${url}, ${description}, ${sql.array([...events], 'text')}, ${schedule}, ${sealed}) returning ${columns}`)

export const isScheduleOf = (db: Db, {org, id}: EndpointRef) =>
  db.exists(sql.type(Empty)`select from schedules where org_id = ${org} and id = ${id}`)

export const countEndpoints = (tx: Tx, org: string) =>
  tx.oneFirst(sql.type(z.object({count: z.number()}))`select count(*) from webhook_endpoints where org_id = ${org}`)

export const listEndpoints = (db: Db, org: string) =>
  db.any(sql.type(Endpoint)`select ${columns} from webhook_endpoints where org_id = ${org} order by id`)

export const findEndpoint = (db: Db, {org, id}: EndpointRef) =>
  db.maybeOne(sql.type(Endpoint)`select ${columns} from webhook_endpoints where org_id = ${org} and id = ${id}`)

export const lockEndpoint = (tx: Tx, {org, id}: EndpointRef) =>
  tx.maybeOne(sql.type(Endpoint)`select ${columns} from webhook_endpoints where org_id = ${org} and id = ${id} for update`)

/** Changes an endpoint. If `enabled`, the URL or the kind changes, earlier failures no longer count and a pause of the endpoint ends. */
export const setEndpoint = (tx: Tx, {id, kind, url, description, events, schedule, enabled}: Shape & {id: string; enabled: boolean}) =>
  tx.one(sql.type(Endpoint)`
    update webhook_endpoints set kind = ${kind}, url = ${url}, description = ${description}, events = ${sql.array([...events], 'text')},
      schedule_id = ${schedule}, enabled = ${enabled}, disabled_reason = case when not ${enabled} then disabled_reason end,
      failing_since = case when enabled = ${enabled} and url = ${url} and kind = ${kind} then failing_since end,
      rest_until = case when enabled = ${enabled} and url = ${url} and kind = ${kind} then rest_until else '-infinity' end
    where id = ${id} returning ${columns}`)

/** Ends the pause that the endpoint asked for, because a person confirmed that it accepts notices again. */
export const wakeEndpoint = (tx: Tx, id: string) =>
  tx.query(sql.type(Empty)`update webhook_endpoints set rest_until = '-infinity' where id = ${id}`)

/** Replaces the signing secret. For `hours`, notices are signed with the old secret too. */
export const rotateSecret = (tx: Tx, {id, sealed, hours}: {id: string; sealed: string; hours: number}) =>
  tx.one(sql.type(Endpoint)`
    update webhook_endpoints set old_secret_sealed = secret_sealed, old_secret_until = lading_now() + make_interval(hours => ${hours}),
      secret_sealed = ${sealed}
    where id = ${id} returning ${columns}`)

export const deleteEndpoint = (tx: Tx, id: string) => tx.query(sql.type(Empty)`delete from webhook_endpoints where id = ${id}`)

/** Removes a deleted endpoint from the notice rules, which name endpoints by id. */
export const forgetEndpoint = (tx: Tx, {org, id}: EndpointRef) =>
  tx.query(sql.type(Empty)`
    update notice_rules set endpoints = array_remove(endpoints, ${id}) where org_id = ${org} and ${id} = any(endpoints)`)

/** Returns false if the endpoint was disabled already. */
export const disableEndpoint = async (tx: Tx, {id, reason}: {id: string; reason: string}) => {
  const {rowCount} = await tx.query(sql.type(Empty)`
    update webhook_endpoints set enabled = false, disabled_reason = ${reason} where id = ${id} and enabled`)
  return rowCount === 1
}

type EndedDelivery = Pick<Endpoint, 'id' | 'url' | 'kind'> & {failed: boolean; restSeconds: number; days: number}

/**
 * Ends the claim on an endpoint and pauses it for `restSeconds`. Returns whether all attempts of the last `days` failed. If the endpoint no longer
 * has the `url` and `kind` of the attempt, the answer does not count, and the function returns null. It also returns null for a deleted endpoint.
 */
export const freeEndpoint = (tx: Tx, {id, url, kind, failed, restSeconds, days}: EndedDelivery) => {
  const isCurrent = sql.fragment`url = ${url} and kind = ${kind}`
  return tx.maybeOneFirst(sql.type(z.object({dead: z.boolean().nullable()}))`
    update webhook_endpoints set busy_until = '-infinity',
      rest_until = case when ${isCurrent} then lading_now() + make_interval(secs => ${restSeconds}) else rest_until end,
      failing_since = case when not (${isCurrent}) then failing_since when ${failed} then coalesce(failing_since, lading_now()) end
    where id = ${id}
    returning case when ${isCurrent} then coalesce(failing_since <= lading_now() - make_interval(days => ${days}), false) end as dead`)
}

const Sealed = z.object({id: z.string(), secret: z.string(), old: z.string().nullable()})

/**
 * Lists endpoints with a secret whose sealed text does not begin with `start`, ordered by id. `start` names the current master key. `after`: the
 * last id of the page before.
 */
export const listSealedElse = (db: Db, {start, after, limit}: {start: string; after: string; limit: number}) =>
  db.any(sql.type(Sealed)`
    select id, secret_sealed as secret, old_secret_sealed as old from webhook_endpoints
    where id > ${after} and (not starts_with(secret_sealed, ${start}) or not starts_with(old_secret_sealed, ${start}))
    order by id limit ${limit}`)

/** Stores the newly sealed secrets. Returns false if the secrets have changed since they were read. */
export const keepResealed = async (
  db: Db,
  {id, before, after}: {id: string; before: z.output<typeof Sealed>; after: {secret: string; old: string | null}},
) => {
  const {rowCount} = await db.query(sql.type(Empty)`
    update webhook_endpoints set secret_sealed = ${after.secret}, old_secret_sealed = ${after.old}
    where id = ${id} and secret_sealed = ${before.secret} and old_secret_sealed is not distinct from ${before.old}`)
  return rowCount === 1
}
