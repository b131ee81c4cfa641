import {z} from 'zod'
import {type Db, sql, type Tx} from './database.ts'

const Empty = z.object({})

type NewNotice = {id: string; org: string; kind: string; schedule: string | null; about: object}

export const insertNotice = (tx: Tx, {id, org, kind, schedule, about}: NewNotice) =>
  tx.query(sql.type(Empty)`
    insert into notices (id, org_id, kind, schedule_id, about) values (${id}, ${org}, ${kind}, ${schedule}, ${sql.jsonb(about as never)})`)

/** Whether the org has a notice of this kind whose content contains `about`. */
export const hasNotice = (tx: Tx, {org, kind, about}: Pick<NewNotice, 'org' | 'kind' | 'about'>) =>
  tx.exists(sql.type(Empty)`select from notices where org_id = ${org} and kind = ${kind} and about @> ${sql.jsonb(about as never)}`)

const Notice = z.object({
  no: z.number(),
  id: z.string(),
  org: z.string(),
  kind: z.string(),
  schedule: z.string().nullable(),
  about: z.record(z.string(), z.json()),
  at: z.string(),
})
export type Notice = z.output<typeof Notice>

/**
 * Locks the oldest notice after number `after` whose deliveries were not inserted yet, until the transaction ends. Notices of a closed org wait
 * until it is reopened.
 */
export const claimNotice = (tx: Tx, {after}: {after: number}) =>
  tx.maybeOne(sql.type(Notice)`
    select notice_no as no, notices.id, org_id as org, kind, schedule_id as schedule, about, notices.created_at as at
    from notices join orgs on orgs.id = org_id and closed_at is null
    where expanded_at is null and notice_no > ${after} order by notice_no limit 1 for update of notices skip locked`)

type UsageNotice = {org: string; kind: string; periodStart: string; percent: number}

export const hasUsageNotice = (tx: Tx, {org, kind, periodStart, percent}: UsageNotice) =>
  tx.exists(sql.type(Empty)`
    select from notices where org_id = ${org} and kind = ${kind} and about @> ${sql.jsonb({periodStart, percent})}`)

/** Inserts a test notice for one endpoint. The notice is marked as expanded at once, so that it gets no other recipients. Returns its number. */
export const insertTestNotice = (tx: Tx, {id, org, kind, body}: {id: string; org: string; kind: string; body: string}) =>
  tx.oneFirst(sql.type(z.object({no: z.number()}))`
    insert into notices (id, org_id, kind, about, body, expanded_at) values (${id}, ${org}, ${kind}, '{}', ${body}, lading_now())
    returning notice_no as no`)

export const keepBody = (tx: Tx, {no, schedule, body}: {no: number; schedule: string | null; body: string}) =>
  tx.query(sql.type(Empty)`
    update notices set body = ${body}, schedule_id = ${schedule}, expanded_at = lading_now() where notice_no = ${no}`)

type NoticeTarget = {org: string; kind: string; schedule: string | null}

/**
 * Lists enabled endpoints that subscribe to this kind for all schedules or for this one, or that a rule of the org or schedule names for this kind.
 * Locks them, so that disabling an endpoint waits for the deliveries and can drop them. Without `isForPeople`, leaves out endpoints of Slack and Teams.
 */
export const listEndpointsToNotify = (tx: Tx, {org, kind, schedule, isForPeople}: NoticeTarget & {isForPeople: boolean}) =>
  tx.anyFirst(sql.type(z.object({id: z.string()}))`
    select id from webhook_endpoints e
    where org_id = ${org} and enabled and (${isForPeople} or kind = 'json') and ((${kind} = any(events) and (schedule_id is null or schedule_id = ${schedule}))
      or exists (select from notice_rules r where r.org_id = e.org_id and (r.schedule_id is null or r.schedule_id = ${schedule})
        and ${kind} = any(r.kinds)
        and e.id = any(r.endpoints)))
    order by id for share of e`)

export const listPeopleToNotify = (tx: Tx, {org, kind, schedule}: NoticeTarget) =>
  tx.anyFirst(sql.type(z.object({person: z.string()}))`
    select distinct person_id as person from notice_people join notice_rules r using (rule_no)
    where r.org_id = ${org} and (schedule_id is null or schedule_id = ${schedule}) and ${kind} = any(kinds) order by 1`)

export const listAdmins = (tx: Tx, {org, limit}: {org: string; limit: number}) =>
  tx.anyFirst(sql.type(z.object({person: z.string()}))`
    select person_id as person from members where org_id = ${org} and role in ('admin', 'owner') order by role desc, created_at limit ${limit}`)

export const findRunTies = (db: Db, run: number) =>
  db.one(sql.type(z.object({schedule: z.string().nullable(), template: z.string().nullable()}))`
    select (select schedule_id from firings f where f.run_no = r.run_no limit 1) as schedule, template_id as template
    from runs r where run_no = ${run}`)

const Recent = z.object({id: z.string(), kind: z.string(), about: z.record(z.string(), z.json()), at: z.string()})

export const listRecentNotices = (db: Db, {org, kinds, days, limit}: {org: string; kinds: string[]; days: number; limit: number}) =>
  db.any(sql.type(Recent)`
    select id, kind, about, created_at as at from notices
    where org_id = ${org} and split_part(kind, '.', 1) = any(${sql.array(kinds, 'text')}) and created_at > lading_now() - make_interval(days => ${days})
    order by notice_no desc limit ${limit}`)

export const deleteOldNotices = async (db: Db, {days, limit}: {days: number; limit: number}) => {
  const {rowCount} = await db.query(sql.type(Empty)`
    delete from notices where ctid = any(array(
      select ctid from notices where created_at < lading_now() - make_interval(days => ${days}) limit ${limit}))`)
  return rowCount
}
