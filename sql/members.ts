import {z} from 'zod'
import {type Db, sql, type Tx} from './database.ts'

export const Role = z.enum(['operator', 'builder', 'admin', 'owner'])
const Member = z.object({id: z.string(), role: Role})
const Listed = Member.extend({personId: z.string(), name: z.string(), email: z.string(), createdAt: z.string()})
export type MemberRow = z.output<typeof Listed>

const listed = sql.fragment`members.id, person_id as "personId", people.name, people.email, role, members.created_at as "createdAt"`

/** Oldest first. */
export const listMembers = (db: Db, org: string) =>
  db.any(sql.type(Listed)`
    select ${listed} from members join people on people.id = person_id where org_id = ${org} order by members.created_at, members.id`)

export const readMember = (db: Db, {org, id}: {org: string; id: string}) =>
  db.maybeOne(sql.type(Listed)`
    select ${listed} from members join people on people.id = person_id where org_id = ${org} and members.id = ${id}`)

export const findMember = (db: Db, {org, person}: {org: string; person: string}) =>
  db.maybeOne(sql.type(Member)`select id, role from members where org_id = ${org} and person_id = ${person}`)

export const isMemberAt = (tx: Tx, {dc, crmOrgId, person}: {dc: string; crmOrgId: string; person: string}) =>
  tx.oneFirst(sql.type(z.object({found: z.boolean()}))`
    select exists (
      select from members join orgs on orgs.id = org_id where crm_dc = ${dc} and crm_org_id = ${crmOrgId} and person_id = ${person}) as found`)

export const hasMembers = (tx: Tx, org: string) =>
  tx.oneFirst(sql.type(z.object({found: z.boolean()}))`select exists (select from members where org_id = ${org}) as found`)

export const keepMember = (db: Db, {id, org, person, role}: {id: string; org: string; person: string; role: z.output<typeof Role>}) =>
  db.one(sql.type(Member)`
    insert into members (id, org_id, person_id, role) values (${id}, ${org}, ${person}, ${role})
    on conflict (org_id, person_id) do update set role = excluded.role
    returning id, role`)

/**
 * How to ask the CRM what this member is there: by the account they sign in with, through a connection of the org's own CRM org.
 * Null for owners, in orgs that do not follow the CRM's roles, for people from elsewhere, and without such a connection.
 */
export const findFollowed = (db: Db, {org, person}: {org: string; person: string}) =>
  db.maybeOne(sql.type(z.object({connector: z.string(), zuid: z.string()}))`
    select connectors.id as connector, split_part(people.subject, ':', 2) as zuid
    from members
    join orgs on orgs.id = members.org_id and orgs.follows_crm_roles
    join people on people.id = members.person_id and split_part(people.subject, ':', 1) = orgs.crm_dc
    join connectors on connectors.org_id = orgs.id and connectors.dc = orgs.crm_dc and connectors.crm_org_id = orgs.crm_org_id
    where members.org_id = ${org} and members.person_id = ${person} and members.role <> 'owner' and connectors.state = 'connected'
    order by connectors.id desc limit 1`)

export const setRole = (tx: Tx, {id, role}: {id: string; role: z.output<typeof Role>}) =>
  tx.query(sql.type(z.object({}))`update members set role = ${role} where id = ${id}`)

export const deleteMember = (tx: Tx, id: string) => tx.query(sql.type(z.object({}))`delete from members where id = ${id}`)

export const hasOwner = (tx: Tx, org: string) =>
  tx.oneFirst(sql.type(z.object({found: z.boolean()}))`
    select exists (select from members where org_id = ${org} and role = 'owner') as found`)

export const markInvited = (tx: Tx, {org, person}: {org: string; person: string}) =>
  tx.query(sql.type(z.object({}))`update members set invited = true where org_id = ${org} and person_id = ${person}`)

/** The org somebody was invited to last, of those they are still in. */
export const findInvited = (db: Db, person: string) =>
  db.maybeOne(sql.type(z.object({org: z.string(), role: Role}))`
    select org_id as org, role from members where person_id = ${person} and invited order by created_at desc, id desc limit 1`)

/** The membership as it stands, and which version of it this is; held to the end of the transaction. */
export const lockMember = (tx: Tx, {org, person}: {org: string; person: string}) =>
  tx.maybeOne(sql.type(Member.extend({version: z.string()}))`
    select id, role, xmin::text as version from members where org_id = ${org} and person_id = ${person} for no key update`)
