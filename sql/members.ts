import {z} from 'zod'
import {type Db, sql, type Tx} from './database.ts'

const Role = z.enum(['operator', 'builder', 'admin', 'owner'])
const Member = z.object({id: z.string(), role: Role})

export const findMember = (db: Db, {org, person}: {org: string; person: string}) =>
  db.maybeOne(sql.type(Member)`select id, role from members where org_id = ${org} and person_id = ${person}`)

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

/** An owner stays one. */
export const setFollowedRole = (db: Db, {org, person, role}: {org: string; person: string; role: z.output<typeof Role>}) =>
  db.query(sql.type(z.object({}))`
    update members set role = ${role} where org_id = ${org} and person_id = ${person} and role not in ('owner', ${role})`)
