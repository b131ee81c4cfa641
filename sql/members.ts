import {z} from 'zod'
import {type Db, sql, type Tx} from './database.ts'

export const Role = z.enum(['operator', 'builder', 'admin', 'owner'])
const Member = z.object({id: z.string(), role: Role, isManual: z.boolean()})
const Listed = z.object({
  id: z.string(),
  personId: z.string(),
  name: z.string(),
  email: z.string(),
  role: Role,
  /** Who set the role. `manual`: an admin or an accepted invitation. `crm`: the CRM's profile. */
  roleSource: z.enum(['manual', 'crm']),
  createdAt: z.string(),
})
export type MemberRow = z.output<typeof Listed>

const columns = sql.fragment`id, role, manual_role as "isManual"`
const listed = sql.fragment`members.id, person_id as "personId", people.name, people.email, role,
  case when manual_role then 'manual' else 'crm' end as "roleSource", members.created_at as "createdAt"`

export const listMembers = (db: Db, org: string) =>
  db.any(sql.type(Listed)`
    select ${listed} from members join people on people.id = person_id where org_id = ${org} order by members.created_at, members.id`)

export const readMember = (db: Db, {org, id}: {org: string; id: string}) =>
  db.maybeOne(sql.type(Listed)`
    select ${listed} from members join people on people.id = person_id where org_id = ${org} and members.id = ${id}`)

export const findMember = (db: Db, {org, person}: {org: string; person: string}) =>
  db.maybeOne(sql.type(Member)`select ${columns} from members where org_id = ${org} and person_id = ${person}`)

/** Locks the membership, so that the membership cannot end before the transaction ends. */
export const holdMember = (tx: Tx, {org, person}: {org: string; person: string}) =>
  tx.maybeOne(sql.type(Member)`select ${columns} from members where org_id = ${org} and person_id = ${person} for key share`)

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
    returning ${columns}`)

/**
 * Finds how to read this member's CRM role: the person's account id (`zuid`) and the newest connected connection to the org's own CRM org.
 * Returns null if the org does not follow the CRM's roles, the person belongs to another data centre, or there is no such connection.
 */
export const findFollowed = (db: Db, {org, person}: {org: string; person: string}) =>
  db.maybeOne(sql.type(z.object({connector: z.string(), zuid: z.string(), invited: z.boolean()}))`
    select connectors.id as connector, split_part(people.subject, ':', 2) as zuid, invited
    from members
    join orgs on orgs.id = members.org_id and orgs.follows_crm_roles
    join people on people.id = members.person_id and split_part(people.subject, ':', 1) = orgs.crm_dc
    join connectors on connectors.org_id = orgs.id and connectors.dc = orgs.crm_dc and connectors.crm_org_id = orgs.crm_org_id
    where members.org_id = ${org} and members.person_id = ${person} and connectors.state = 'connected'
    order by connectors.id desc limit 1`)

export const setRole = (tx: Tx, {id, role, isManual}: {id: string; role: z.output<typeof Role>; isManual: boolean}) =>
  tx.query(sql.type(z.object({}))`update members set role = ${role}, manual_role = ${isManual} where id = ${id}`)

export const deleteMember = (tx: Tx, id: string) => tx.query(sql.type(z.object({}))`delete from members where id = ${id}`)

export const hasOwner = (tx: Tx, org: string) =>
  tx.oneFirst(sql.type(z.object({found: z.boolean()}))`
    select exists (select from members where org_id = ${org} and role = 'owner') as found`)

/** Marks the membership as invited. From then on, Lading sets the member's role, and the CRM does not change it. */
export const markInvited = (tx: Tx, {org, person}: {org: string; person: string}) =>
  tx.query(sql.type(z.object({}))`
    update members set invited = true, manual_role = true where org_id = ${org} and person_id = ${person}`)

/** Clears the invited flag of the membership. A sign-in without a CRM org then no longer leads to this org. */
export const markUninvited = (tx: Tx, {org, person}: {org: string; person: string}) =>
  tx.query(sql.type(z.object({}))`update members set invited = false where org_id = ${org} and person_id = ${person} and invited`)

/** Finds the person's newest membership with the flag `invited` in an open org. Falls back to closed orgs, then to null. */
export const findInvited = (db: Db, person: string) =>
  db.maybeOne(sql.type(z.object({org: z.string(), role: Role}))`
    select org_id as org, role from members join orgs on orgs.id = org_id
    where person_id = ${person} and invited order by closed_at is not null, members.created_at desc, members.id desc limit 1`)

/** Locks the membership until the transaction ends. `version`: a text that differs after each change of the membership. */
export const lockMember = (tx: Tx, {org, person}: {org: string; person: string}) =>
  tx.maybeOne(sql.type(Member.extend({version: z.string()}))`
    select ${columns}, xmin::text as version from members where org_id = ${org} and person_id = ${person} for no key update`)
