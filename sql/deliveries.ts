import {z} from 'zod'
import {type Db, sql, type Tx} from './database.ts'
import {ENDPOINT_KINDS} from './webhooks.ts'

const Empty = z.object({})

export const Delivery = z.object({
  id: z.string(),
  notice: z.string(),
  kind: z.string(),
  state: z.enum(['pending', 'delivered', 'failed']),
  attempts: z.number(),
  nextAt: z.string(),
  lastStatus: z.number().nullable(),
  lastError: z.string().nullable(),
  answer: z.string().nullable(),
  createdAt: z.string(),
  deliveredAt: z.string().nullable(),
})
export type Delivery = z.output<typeof Delivery>

const columns = sql.fragment`d.id, n.id as notice, n.kind, state, attempts, next_at as "nextAt", last_status as "lastStatus",
  last_error as "lastError", answer, d.created_at as "createdAt", delivered_at as "deliveredAt"`

type NewDelivery = {id: string; org: string; notice: number} & ({endpoint: string} | {person: string})

export const insertDelivery = (tx: Tx, {id, org, notice, ...to}: NewDelivery) =>
  tx.query(sql.type(Empty)`
    insert into deliveries (id, org_id, notice_no, endpoint_id, person_id)
    values (${id}, ${org}, ${notice}, ${'endpoint' in to ? to.endpoint : null}, ${'person' in to ? to.person : null})`)

type OfEndpoint = {org: string; endpoint: string}

export const listDeliveries = (db: Db, {org, endpoint, before, limit}: OfEndpoint & {before: string | null; limit: number}) =>
  db.any(sql.type(Delivery)`
    select ${columns} from deliveries d join notices n using (notice_no)
    where d.org_id = ${org} and endpoint_id = ${endpoint} and (${before}::text is null or d.id < ${before}) order by d.id desc limit ${limit}`)

export const findDelivery = (db: Db, {org, endpoint, id}: OfEndpoint & {id: string}) =>
  db.maybeOne(sql.type(Delivery)`
    select ${columns} from deliveries d join notices n using (notice_no) where d.org_id = ${org} and endpoint_id = ${endpoint} and d.id = ${id}`)

export const findPending = (db: Db, {org, endpoint, kind}: OfEndpoint & {kind: string}) =>
  db.maybeOne(sql.type(Delivery)`
    select ${columns} from deliveries d join notices n using (notice_no)
    where d.org_id = ${org} and endpoint_id = ${endpoint} and n.kind = ${kind} and state = 'pending' order by d.id limit 1`)

/** Restarts a delivery from its first attempt, due now. Keeps only the time of an earlier success. Returns null if the delivery does not exist. */
export const beginAgain = (tx: Tx, {org, endpoint, id}: OfEndpoint & {id: string}) =>
  tx.maybeOneFirst(sql.type(z.object({id: z.string()}))`
    update deliveries set state = 'pending', attempts = 0, next_at = lading_now(), last_status = null, last_error = null, answer = null
    where org_id = ${org} and endpoint_id = ${endpoint} and id = ${id} returning id`)

export const putFirst = (tx: Tx, {endpoint, id}: {endpoint: string; id: string}) =>
  tx.query(sql.type(Empty)`
    update deliveries set next_at = (
      select least(min(next_at), lading_now()) - interval '1 millisecond' from deliveries where endpoint_id = ${endpoint} and state = 'pending')
    where id = ${id} and state = 'pending'`)

const ClaimedPost = z.object({
  id: z.string(),
  attempt: z.number(),
  org: z.string(),
  endpoint: z.string(),
  endpointKind: z.enum(ENDPOINT_KINDS),
  url: z.string(),
  secret: z.string(),
  oldSecret: z.string().nullable(),
  notice: z.string(),
  body: z.string(),
})
export type ClaimedPost = z.output<typeof ClaimedPost>

/**
 * Claims a due delivery and its endpoint for `seconds`, which is longer than a request takes. Null if none can be sent now. Takes the endpoint that
 * was served longest ago. An endpoint has one sender at a time and an org at most `perOrg`, so that a slow endpoint does not block other orgs. The
 * attempt is counted before the request is sent.
 */
export const claimPosting = (db: Db, {seconds, perOrg}: {seconds: number; perOrg: number}) =>
  db.maybeOne(sql.type(ClaimedPost)`
    with free as materialized (
      select e.id from webhook_endpoints e join orgs o on o.id = e.org_id and closed_at is null
      where enabled and busy_until < lading_now() and rest_until <= lading_now()
        and exists (select from deliveries d where d.endpoint_id = e.id and d.state = 'pending' and d.next_at <= lading_now())
        and (select count(*) from webhook_endpoints b where b.org_id = e.org_id and b.busy_until > lading_now()) < ${perOrg}
      order by served_at, e.id limit 1 for update of e skip locked),
    due as materialized (
      select d.id from deliveries d join free on d.endpoint_id = free.id
      where d.state = 'pending' and d.next_at <= lading_now() order by d.next_at, d.id limit 1 for update of d),
    held as (
      update webhook_endpoints e set busy_until = lading_now() + make_interval(secs => ${seconds}), served_at = lading_now()
      from free where e.id = free.id
      returning e.id, e.kind, url, secret_sealed as secret, case when old_secret_until > lading_now() then old_secret_sealed end as "oldSecret")
    update deliveries d set attempts = attempts + 1 from due, held, notices n
    where d.id = due.id and d.endpoint_id = held.id and n.notice_no = d.notice_no
    returning d.id, attempts as attempt, d.org_id as org, held.id as endpoint, held.kind as "endpointKind", url, secret, "oldSecret", n.id as notice, n.body`)

const Letter = z.object({
  id: z.string(),
  attempt: z.number(),
  org: z.string(),
  orgName: z.string(),
  email: z.string().nullable(),
  person: z.string(),
  notice: z.string(),
  kind: z.string(),
  body: z.string(),
})
export type Letter = z.output<typeof Letter>

/** Claims the mail that has been due longest, for `seconds`. `email` is null if the recipient left the org or is banned. */
export const claimLetter = (db: Db, {seconds}: {seconds: number}) =>
  db.maybeOne(sql.type(Letter)`
    with due as materialized (
      select d.id from deliveries d join orgs o on o.id = d.org_id and closed_at is null
      where person_id is not null and state = 'pending' and next_at <= lading_now() order by next_at, d.id limit 1 for update of d skip locked)
    update deliveries d set attempts = attempts + 1, next_at = lading_now() + make_interval(secs => ${seconds})
    from due, notices n, orgs o
    where d.id = due.id and n.notice_no = d.notice_no and o.id = d.org_id
    returning d.id, attempts as attempt, d.org_id as org, o.name as "orgName", d.person_id as person, n.id as notice, n.kind, n.body,
      (select p.email from members m join people p on p.id = m.person_id where m.org_id = d.org_id and m.person_id = d.person_id
        and p.banned_at is null) as email`)

type DeliveryAttempt = {id: string; attempt: number; status: number | null; error: string | null; answer: string | null}

/**
 * Records a failed attempt. `inSeconds`: the delay until the next attempt; null if there is none. Changes nothing if another sender has
 * claimed the delivery meanwhile, or the delivery is no longer pending.
 */
export const markFailed = (tx: Db, {id, attempt, status, error, answer, inSeconds}: DeliveryAttempt & {inSeconds: number | null}) =>
  tx.query(sql.type(Empty)`
    update deliveries set last_status = ${status}, last_error = ${error}, answer = ${answer},
      state = ${inSeconds === null ? 'failed' : 'pending'}, next_at = lading_now() + make_interval(secs => ${inSeconds ?? 0})
    where id = ${id} and attempts = ${attempt} and state = 'pending'`)

/**
 * Records an accepted attempt, also if the delivery was dropped meanwhile. Changes nothing if another sender has claimed the delivery or it was
 * restarted.
 */
export const markDelivered = (tx: Db, {id, attempt, status, error, answer}: DeliveryAttempt) =>
  tx.query(sql.type(Empty)`
    update deliveries set state = 'delivered', last_status = ${status}, last_error = ${error}, answer = ${answer}, delivered_at = lading_now()
    where id = ${id} and attempts = ${attempt} and state <> 'delivered'`)

/** Marks the pending deliveries of a disabled endpoint as failed. */
export const dropPending = (tx: Tx, {endpoint, error}: {endpoint: string; error: string}) =>
  tx.query(sql.type(Empty)`
    update deliveries set state = 'failed', last_error = ${error} where endpoint_id = ${endpoint} and state = 'pending'`)
