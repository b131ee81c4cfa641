import {z} from 'zod'
import {type Db, sql, type Tx} from './database.ts'

const Empty = z.object({})

const Rule = z.object({kinds: z.array(z.string()), endpoints: z.array(z.string()), emails: z.array(z.string())})

type NoticeRuleRef = {org: string; schedule: string | null}

/** Finds the recipients of an org's notices, or of one of its schedules, with their current addresses. Returns null if there is no rule. */
export const findRule = (db: Db, {org, schedule}: NoticeRuleRef) =>
  db.maybeOne(sql.type(Rule)`
    select kinds, endpoints, array(
        select email from notice_people n join people on people.id = n.person_id where n.rule_no = r.rule_no order by email) as emails
    from notice_rules r where org_id = ${org} and schedule_id is not distinct from ${schedule}`)

type NewRule = NoticeRuleRef & {kinds: readonly string[]; endpoints: readonly string[]; people: readonly string[]}

export const keepRule = async (tx: Tx, {org, schedule, kinds, endpoints, people}: NewRule) => {
  const rule = await tx.oneFirst(sql.type(z.object({no: z.number()}))`
    insert into notice_rules (org_id, schedule_id, kinds, endpoints)
    values (${org}, ${schedule}, ${sql.array([...kinds], 'text')}, ${sql.array([...endpoints], 'text')})
    on conflict (org_id, schedule_id) do update set kinds = excluded.kinds, endpoints = excluded.endpoints
    returning rule_no as no`)
  await tx.query(sql.type(Empty)`delete from notice_people where rule_no = ${rule}`)
  await tx.query(sql.type(Empty)`
    insert into notice_people (rule_no, org_id, person_id)
    select ${rule}, ${org}, person from unnest(${sql.array([...people], 'text')}) as person`)
}

export const deleteRule = (tx: Tx, {org, schedule}: NoticeRuleRef) =>
  tx.query(sql.type(Empty)`delete from notice_rules where org_id = ${org} and schedule_id is not distinct from ${schedule}`)

export const listKnownEndpoints = (db: Db, {org, ids}: {org: string; ids: readonly string[]}) =>
  db.anyFirst(sql.type(z.object({id: z.string()}))`
    select id from webhook_endpoints where org_id = ${org} and id = any(${sql.array([...ids], 'text')})`)
