import {z} from 'zod'
import {type Db, sql, type Tx} from './database.ts'

const Empty = z.object({})
const Id = z.object({id: z.string()})

/** What is kept of an event: whose it is and what it is about, by ids. No names, addresses or cards, and nothing that is applied as it stands. */
export const Hint = z.object({
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
  /** The idempotency key of the call that caused it. */
  key: z.string().nullable(),
  created: z.number(),
  live: z.boolean(),
})
export type Hint = z.output<typeof Hint>

const Status = z.enum(['received', 'processing', 'processed', 'ignored', 'deferred', 'failed'])
export type EventStatus = z.output<typeof Status>
export const EVENT_STATUSES = Status.options

const over = sql.fragment`status in ('processed', 'ignored')`

type NewEvent = {id: string; type: string; status: EventStatus; org: string | null; error: string | null; hint: Hint}

/** Once under its id; `processed_at` at once where there is nothing to do. */
export const insertEvent = (tx: Tx, {id, type, status, org, error, hint}: NewEvent) =>
  tx.query(sql.type(Empty)`
    insert into payment_events (id, type, status, org_id, error, payload, processed_at)
    values (${id}, ${type}, ${status}, ${org}, ${error}, ${sql.jsonb(hint)}, case when ${status} = 'ignored' then lading_now() end)
    on conflict (id) do nothing`)

/** Null for one that never came. */
export const findEventStatus = (db: Db, id: string) =>
  db.maybeOneFirst(sql.type(z.object({status: Status}))`select status from payment_events where id = ${id}`)

/** Held to the end of the transaction. */
export const lockEventStatus = (tx: Tx, id: string) =>
  tx.maybeOneFirst(sql.type(z.object({status: Status}))`select status from payment_events where id = ${id} for no key update`)

/** Not one that is over. */
export const deferEvent = (tx: Tx, id: string) =>
  tx.query(sql.type(Empty)`update payment_events set status = 'deferred' where id = ${id} and not ${over}`)

/** What came while somebody held the org's billing: one of them, since whoever applies it goes on with the others. */
export const listDeferredEvents = (tx: Tx, org: string) =>
  tx.anyFirst(sql.type(Id)`select id from payment_events where org_id = ${org} and status = 'deferred' order by created_at, id limit 1`)

const Event = z.object({
  id: z.string(),
  type: z.string(),
  org: z.string().nullable(),
  status: Status,
  attempts: z.number(),
  hint: Hint,
})
export type PaymentEvent = z.output<typeof Event>

const event = sql.fragment`id, type, org_id as org, status, attempts, payload as hint`

export const findEvent = (db: Db, id: string) => db.maybeOne(sql.type(Event)`select ${event} from payment_events where id = ${id}`)

/** Those of the org nobody has tried yet, in the order they came. */
export const listOpenEvents = (db: Db, {org, limit}: {org: string; limit: number}) =>
  db.anyFirst(sql.type(Id)`
    select id from payment_events where org_id = ${org} and status in ('received', 'deferred') and attempts = 0 order by created_at, id limit ${limit}`)

/** Counts the attempt before it is made. The org is held; null for one that is over. */
export const startEvent = (db: Db, id: string) =>
  db.maybeOne(sql.type(Event)`
    update payment_events set status = 'processing', attempts = attempts + 1, tried_at = lading_now() where id = ${id} and not ${over}
    returning ${event}`)

export const setEventOrg = (db: Db, {id, org}: {id: string; org: string}) =>
  db.query(sql.type(Empty)`update payment_events set org_id = ${org} where id = ${id}`)

type Ended = {id: string; status: 'processed' | 'ignored'; error: string | null}

export const endEvent = (db: Db, {id, status, error}: Ended) =>
  db.query(sql.type(Empty)`
    update payment_events set status = ${status}, error = ${error}, processed_at = lading_now() where id = ${id} and not ${over}`)

type Failed = {id: string; status: 'received' | 'deferred' | 'failed'; error: string}

export const noteEventFailure = (db: Db, {id, status, error}: Failed) =>
  db.query(sql.type(Empty)`update payment_events set status = ${status}, error = ${error} where id = ${id} and not ${over}`)

type Waiting = {
  pickupSeconds: number
  patienceSeconds: number
  usualAttempts: number
  mostAttempts: number
  mostSeconds: number
  limit: number
}

/**
 * Events whose job is lost, whose worker died, or that failed; those are tried again later each time. Not of orgs that are held: releasing the
 * hold sends their events. An event is processed under the hold of its org, so one that is `processing` without it lost its worker.
 */
export const listWaitingEvents = (db: Db, {pickupSeconds, patienceSeconds, usualAttempts, mostAttempts, mostSeconds, limit}: Waiting) =>
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

/** The log, the newest first: what comes after the event `place`, of the whole log where it is null. */
export const listEvents = (db: Db, {status, type, org, place, limit}: EventFilter & {place: string | null; limit: number}) =>
  db.any(sql.type(Logged)`
    select ${logged} from payment_events e
    where (${status ?? null}::text is null or status = ${status ?? null}) and (${type ?? null}::text is null or type = ${type ?? null})
      and (${org ?? null}::text is null or org_id = ${org ?? null})
      and (${place}::text is null or (created_at, id) < (select p.created_at, p.id from payment_events p where p.id = ${place}))
    order by created_at desc, id desc limit ${limit}`)

/** Its attempts count from the beginning again. Null for one that is over, or that never came. */
export const reopenEvent = (tx: Tx, id: string) =>
  tx.maybeOne(sql.type(Logged)`
    update payment_events set status = 'received', attempts = 0, tried_at = null where id = ${id} and not ${over} returning ${logged}`)

/** At most `limit` of those that are over; answers how many went. */
export const deleteOldEvents = async (db: Db, {days, limit}: {days: number; limit: number}) => {
  const {rowCount} = await db.query(sql.type(Empty)`
    delete from payment_events where ctid = any(array(
      select ctid from payment_events where ${over} and processed_at < lading_now() - make_interval(days => ${days}) limit ${limit}))`)
  return rowCount
}
