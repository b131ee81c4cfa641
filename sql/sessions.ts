import {z} from 'zod'
import {noteSessions} from './audit-events.ts'
import {type Db, sql, type Tx} from './database.ts'
import {Role as RoleSchema} from './members.ts'

const Session = z.object({id: z.string(), expiresAt: z.string()})
const Nothing = z.object({})
type Role = z.output<typeof RoleSchema>

export type Device = {userAgent: string | null; address: string | null}

type NewSession = {
  id: string
  person: string
  org: string | null
  role: Role | null
  hours: number
  device?: Device | undefined
  /** The org to which the CRM admitted the person at the sign-in. */
  home?: string | null | undefined
  /** The permission of a staff view; absent in other sessions. Staff need not be members of the org. */
  staffView?: 'read' | 'write'
}

/**
 * SQL for the id of a session's sign-in, which is the id of the first session of the sign-in. A session of an older build has no `root_id`, so its
 * own id is used.
 */
const root = sql.fragment`coalesce(root_id, id)`
const signedInAt = sql.fragment`coalesce(signed_in_at, created_at)`

/** Inserts the first session of a sign-in. Deletes sessions that expired over a day ago. */
export const insertSession = (db: Db, {id, person, org, role, hours, device, home, staffView}: NewSession) =>
  db.one(sql.type(Session)`
    with ended as (delete from sessions where expires_at < lading_now() - interval '1 day'),
    made as (insert into sessions (id, person_id, org_id, role, home_org_id, staff_view, root_id, signed_in_at, user_agent, address, expires_at)
    values (${id}, ${person}, ${org}, ${role}, ${home ?? null}, ${staffView ?? null}, ${id}, lading_now(), ${device?.userAgent ?? null},
      ${device?.address ?? null}, lading_now() + make_interval(hours => ${hours})) returning *),
    noted as (${noteSessions('made', 'session.created')})
    select id, expires_at as "expiresAt" from made`)

type RefreshedSession = Omit<NewSession, 'person' | 'home' | 'staffView'> & {from: string; chainDays: number}

/**
 * Inserts the next session of a sign-in. The session ends at most `chainDays` after the sign-in. Returns null if the session `from` has ended.
 */
export const insertRefreshed = (tx: Tx, {id, from, org, role, hours, chainDays, device}: RefreshedSession) =>
  tx.maybeOne(sql.type(Session)`
    with made as (insert into sessions (id, person_id, org_id, role, home_org_id, root_id, signed_in_at, user_agent, address, expires_at)
    select ${id}, person_id, ${org}, ${role}, home_org_id, ${root}, ${signedInAt}, ${device?.userAgent ?? null}, ${device?.address ?? null},
      least(lading_now() + make_interval(hours => ${hours}), ${signedInAt} + make_interval(days => ${chainDays}))
    from sessions where id = ${from} and least(expires_at, ${signedInAt} + make_interval(days => ${chainDays})) > lading_now() returning *),
    noted as (${noteSessions('made', 'session.refreshed')})
    select id, expires_at as "expiresAt" from made`)

/** The session's token stays the same. */
export const moveSession = (db: Db, {id, org, role}: {id: string; org: string; role: Role}) =>
  db.query(sql.type(Nothing)`
    with moved as (update sessions set org_id = ${org}, role = ${role} where id = ${id} returning *),
    noted as (${noteSessions('moved', 'session.moved')})
    select from moved`)

const ReachableOrg = z.object({id: z.string(), name: z.string(), role: RoleSchema, isCurrent: z.boolean()})

/**
 * Lists the open orgs of the person in which the session may work. These are the org of the session, the org of the sign-in, and orgs that
 * invited the person.
 */
export const listReachable = (db: Db, {person, session}: SessionRef) =>
  db.any(sql.type(ReachableOrg)`
    select orgs.id, orgs.name, members.role, orgs.id is not distinct from sessions.org_id as "isCurrent"
    from sessions
    join members on members.person_id = sessions.person_id
      and (members.invited or members.org_id = sessions.org_id or members.org_id = sessions.home_org_id)
    join orgs on orgs.id = members.org_id and orgs.closed_at is null
    where sessions.id = ${session} and sessions.person_id = ${person}
    order by orgs.name, orgs.id`)

const SignIn = z.object({
  id: z.string(),
  isCurrent: z.boolean(),
  device: z.string().nullable(),
  address: z.string().nullable(),
  org: z.object({id: z.string(), name: z.string()}).nullable(),
  staffView: z.boolean(),
  signedInAt: z.string(),
  refreshedAt: z.string(),
  expiresAt: z.string(),
})

/** Finds the person of a session. Returns null if there is no such session, or it is a staff view. */
export const findSessionPerson = (db: Db, id: string) =>
  db.maybeOneFirst(sql.type(z.object({person: z.string()}))`
    select person_id as person from sessions where id = ${id} and staff_view is null`)

type SessionRef = {person: string; session: string}

/** Lists a person's sign-ins that still have a valid session, newest first. The fields come from the newest session of each sign-in. */
export const listSignIns = (db: Db, {person, session}: SessionRef) =>
  db.any(sql.type(SignIn)`
    select newest.*, case when orgs.id is not null then jsonb_build_object('id', orgs.id, 'name', orgs.name) end as org
    from (
      select distinct on (${root}) ${root} as id, ${root} = (select ${root} from sessions where id = ${session}) as "isCurrent",
        user_agent as device, address, org_id, staff_view is not null as "staffView", ${signedInAt} as "signedInAt",
        created_at as "refreshedAt", expires_at as "expiresAt"
      from sessions where person_id = ${person} and expires_at > lading_now()
      order by ${root}, sessions.id desc) newest
    left join orgs on orgs.id = newest.org_id
    order by newest."signedInAt" desc, newest.id desc`)

/** Ends the sign-in of a session, with all sessions refreshed from it. The caller's transaction locks the person's row. */
export const deleteSignIn = (tx: Tx, {person, session}: SessionRef) =>
  tx.query(sql.type(Nothing)`
    with gone as (
      delete from sessions where person_id = ${person} and ${root} = (select ${root} from sessions where id = ${session}) returning *)
    ${noteSessions('gone', 'session.ended')}`)

/** Ends every other sign-in of the person. Returns how many still had a valid session. The caller's transaction locks the person's row. */
export const deleteOtherSignIns = (tx: Tx, {person, session}: SessionRef) =>
  tx.oneFirst(sql.type(z.object({ended: z.number()}))`
    with gone as (
      delete from sessions where person_id = ${person} and ${root} <> (select ${root} from sessions where id = ${session}) returning *),
    noted as (${noteSessions('gone', 'session.ended')})
    select count(distinct ${root})::int as ended from gone where expires_at > lading_now()`)

/** Deletes a member's sessions in one org, except staff views of it. */
export const deleteSessionsIn = (tx: Tx, {org, person}: {org: string; person: string}) =>
  tx.query(sql.type(Nothing)`
    with gone as (delete from sessions where org_id = ${org} and person_id = ${person} and staff_view is null returning *)
    ${noteSessions('gone', 'session.ended')}`)

/** Removes the IP address and the user agent from the sessions of an erased person. The sessions stay until they expire. */
export const forgetDevices = (tx: Tx, person: string) =>
  tx.query(sql.type(Nothing)`update sessions set user_agent = null, address = null where person_id = ${person}`)
