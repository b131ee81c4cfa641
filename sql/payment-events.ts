import {z} from 'zod'
import {type Db, sql, type Tx} from './database.ts'

const Empty = z.object({})
const Id = z.object({id: z.string()})

/**
 * The stored part of an event: ids of its objects and its org. Names, addresses and cards are not stored. The state that is applied is always
 * read from the provider.
 */
export const EventHint = z.object({
  object: z.string(),
  id: z.string().nullable(),
  customer: z.string().nullable(),
  subscription: z.string().nullable(),
  charge: z.string().nullable(),
  app: z.string().nullable(),
  env: z.string().nullable(),
  org: z.string().nullable(),
  kind: z.string().nullable(),
  attempt: z.string().nullable(),
  /** The idempotency key of the API call that caused the event. */
  key: z.string().nullable(),
  created: z.number(),
  live: z.boolean(),
})
export type EventHint = z.output<typeof EventHint>

const Status = z.enum(['received', 'processing', 'processed', 'ignored', 'deferred', 'failed'])
export type EventStatus = z.output<typeof Status>
export const EVENT_STATUSES = Status.options

const over = sql.fragment`status in ('processed', 'ignored')`

type NewEvent = {id: string; type: string; status: EventStatus; org: string | null; error: string | null; hint: EventHint}

/** Stores the event; an event id that is stored already is skipped. An ignored event gets `processed_at` at once. */
export const insertEvent = (tx: Tx, {id, type, status, org, error, hint}: NewEvent) =>
  tx.query(sql.type(Empty)`
    insert into payment_events (id, type, status, org_id, error, payload, processed_at)
    values (${id}, ${type}, ${status}, ${org}, ${error}, ${sql.jsonb(hint)}, case when ${status} = 'ignored' then lading_now() end)
    on conflict (id) do nothing`)

export const findEventStatus = (db: Db, id: string) =>
  db.maybeOneFirst(sql.type(z.object({status: Status}))`select status from payment_events where id = ${id}`)

export const lockEventStatus = (tx: Tx, id: string) =>
  tx.maybeOneFirst(sql.type(z.object({status: Status}))`select status from payment_events where id = ${id} for no key update`)

/** Events that have ended do not change. */
export const deferEvent = (tx: Tx, id: string) =>
  tx.query(sql.type(Empty)`update payment_events set status = 'deferred' where id = ${id} and not ${over}`)

/**
 * Returns the id of the org's oldest deferred event in a list, which is empty if there is none. One is enough, because the worker that applies
 * this event applies the others too. Events that come while the org's billing lock is held are deferred.
 */
export const listDeferredEvents = (tx: Tx, org: string) =>
  tx.anyFirst(sql.type(Id)`select id from payment_events where org_id = ${org} and status = 'deferred' order by created_at, id limit 1`)

const Event = z.object({
  id: z.string(),
  type: z.string(),
  org: z.string().nullable(),
  status: Status,
  attempts: z.number(),
  hint: EventHint,
})
export type PaymentEvent = z.output<typeof Event>

const event = sql.fragment`id, type, org_id as org, status, attempts, payload as hint`

export const findEvent = (db: Db, id: string) => db.maybeOne(sql.type(Event)`select ${event} from payment_events where id = ${id}`)

/** Lists the org's received and deferred events that no worker has tried to apply yet, in the order of arrival. */
export const listOpenEvents = (db: Db, {org, limit}: {org: string; limit: number}) =>
  db.anyFirst(sql.type(Id)`
    select id from payment_events where org_id = ${org} and status in ('received', 'deferred') and attempts = 0 order by created_at, id limit ${limit}`)

/** Counts an attempt before it is made. Returns null if the event has ended. The caller holds the org's billing lock. */
export const startEvent = (db: Db, id: string) =>
  db.maybeOne(sql.type(Event)`
    update payment_events set status = 'processing', attempts = attempts + 1, tried_at = lading_now() where id = ${id} and not ${over}
    returning ${event}`)

export const setEventOrg = (db: Db, {id, org}: {id: string; org: string}) =>
  db.query(sql.type(Empty)`update payment_events set org_id = ${org} where id = ${id}`)

type EndedEvent = {id: string; status: 'processed' | 'ignored'; error: string | null}

export const endEvent = (db: Db, {id, status, error}: EndedEvent) =>
  db.query(sql.type(Empty)`
    update payment_events set status = ${status}, error = ${error}, processed_at = lading_now() where id = ${id} and not ${over}`)

type EventFailure = {id: string; status: 'received' | 'deferred' | 'failed'; error: string}

export const noteEventFailure = (db: Db, {id, status, error}: EventFailure) =>
  db.query(sql.type(Empty)`update payment_events set status = ${status}, error = ${error} where id = ${id} and not ${over}`)

type WaitingEventsQuery = {
  pickupSeconds: number
  patienceSeconds: number
  usualAttempts: number
  mostAttempts: number
  mostSeconds: number
  limit: number
}

/** After this many attempts, in about a week, an event is not tried again. */
export const mostEventAttempts = 40

/**
 * Lists events that need a new job: deferred and failed ones, and those whose job was lost or whose worker died. Leaves out events with
 * `mostAttempts` attempts. A failed event waits longer after each attempt beyond `usualAttempts`. Skips orgs whose billing lock is held, because the
 * release of the lock enqueues their events. A worker holds this lock while it processes an event of the org. So if the lock is free, the worker of
 * an org's `processing` event has died.
 */
export const listWaitingEvents = (
  db: Db,
  {pickupSeconds, patienceSeconds, usualAttempts, mostAttempts, mostSeconds, limit}: WaitingEventsQuery,
) =>
  db.anyFirst(sql.type(Id)`
    select e.id from payment_events e left join billing_accounts a using (org_id)
    where e.status in ('received', 'processing', 'deferred', 'failed') and (a.held_until is null or a.held_until <= lading_now())
      and e.attempts < ${mostAttempts}
      and coalesce(e.tried_at, e.created_at) <= lading_now() - make_interval(secs => case
        when e.status = 'deferred' or (e.status = 'processing' and e.org_id is not null) then 0
        when e.status = 'received' and e.attempts = 0 then ${pickupSeconds}
        when e.status = 'failed' then least(${mostSeconds}::float8, ${patienceSeconds} * 2.0 ^ greatest(0, e.attempts - ${usualAttempts}))
        else ${patienceSeconds} end)
    order by e.created_at limit ${limit}`)

const Logged = z.object({
  id: z.string(),
  type: z.string(),
  status: z.string(),
  orgId: z.string().nullable(),
  error: z.string().nullable(),
  createdAt: z.string(),
  processedAt: z.string().nullable(),
})

const logged = sql.fragment`id, type, status, org_id as "orgId", error, created_at as "createdAt", processed_at as "processedAt"`

export type EventFilter = {status?: EventStatus | undefined; type?: string | undefined; org?: string | undefined}

/** Lists events, newest first, starting after the event with the id `place`. If `place` is null, starts with the newest event. */
export const listEvents = (db: Db, {status, type, org, place, limit}: EventFilter & {place: string | null; limit: number}) =>
  db.any(sql.type(Logged)`
    select ${logged} from payment_events e
    where (${status ?? null}::text is null or status = ${status ?? null}) and (${type ?? null}::text is null or type = ${type ?? null})
      and (${org ?? null}::text is null or org_id = ${org ?? null})
      and (${place}::text is null or (created_at, id) < (select p.created_at, p.id from payment_events p where p.id = ${place}))
    order by created_at desc, id desc limit ${limit}`)

/** Reopens the event and resets its attempts. Returns null if the event has ended or never came. */
export const reopenEvent = (tx: Tx, id: string) =>
  tx.maybeOne(sql.type(Logged)`
    update payment_events set status = 'received', attempts = 0, tried_at = null where id = ${id} and not ${over} returning ${logged}`)

export const deleteOldEvents = async (db: Db, {days, limit}: {days: number; limit: number}) => {
  const {rowCount} = await db.query(sql.type(Empty)`
    delete from payment_events where ctid = any(array(
      select ctid from payment_events where ${over} and processed_at < lading_now() - make_interval(days => ${days}) limit ${limit}))`)
  return rowCount
}
