import {z} from 'zod'
import {type Db, sql, type Tx} from './database.ts'
import {Role} from './members.ts'

const State = z.enum(['pending', 'expired', 'withdrawn', 'used'])
export const Invitation = z.object({
  id: z.string(),
  email: z.string(),
  role: Role,
  state: State,
  invitedBy: z.object({id: z.string(), name: z.string()}).nullable(),
  createdAt: z.string(),
  expiresAt: z.string(),
})

const state = sql.fragment`case when invitations.used_at is not null then 'used' when withdrawn_at is not null then 'withdrawn'
  when invitations.expires_at <= lading_now() then 'expired' else 'pending' end as state`
const columns = sql.fragment`invitations.id, invitations.email, invitations.role, ${state},
  (select jsonb_build_object('id', people.id, 'name', people.name) from people where people.id = invited_by) as "invitedBy",
  invitations.created_at as "createdAt", invitations.expires_at as "expiresAt"`

type NewInvitation = {id: string; org: string; email: string; role: z.output<typeof Role>; person: string | null; days: number}

/**
 * Invites the address to the org. If the address has an invitation that is neither used nor withdrawn, even an expired one, renews it with the
 * new role, inviter and expiry.
 */
export const keepInvitation = (db: Db, {id, org, email, role, person, days}: NewInvitation) =>
  db.one(sql.type(Invitation)`
    insert into invitations (id, org_id, email, role, invited_by, expires_at)
    values (${id}, ${org}, ${email}, ${role}, ${person}, lading_now() + make_interval(days => ${days}))
    on conflict (org_id, email) where withdrawn_at is null and used_at is null
      do update set role = excluded.role, invited_by = excluded.invited_by, expires_at = excluded.expires_at
    returning ${columns}`)

export const listInvitations = (db: Db, org: string) =>
  db.any(sql.type(Invitation)`select ${columns} from invitations where org_id = ${org} order by id desc`)

export const findInvitation = (db: Db, {org, id}: {org: string; id: string}) =>
  db.maybeOne(sql.type(Invitation)`select ${columns} from invitations where org_id = ${org} and id = ${id}`)

/** Withdraws an unused invitation, or returns null if there is none. A second withdrawal keeps the time of the first. */
export const withdrawInvitation = (db: Db, {org, id}: {org: string; id: string}) =>
  db.maybeOne(sql.type(Invitation)`
    update invitations set withdrawn_at = coalesce(withdrawn_at, lading_now())
    where org_id = ${org} and id = ${id} and used_at is null
    returning ${columns}`)

const Mailable = z.object({email: z.string(), role: Role, orgName: z.string(), expiresAt: z.string()})

/**
 * Finds the invitation if it may be mailed. The invitation must be pending and not mailed within `againAfterSeconds`. Its org must be open and
 * have mailed fewer than `mostPerDay` invitations in the last day. Other invitations that wait for their e-mail count as mailed.
 */
export const findMailable = (
  db: Db,
  {org, id, mostPerDay, againAfterSeconds}: {org: string; id: string; mostPerDay: number; againAfterSeconds: number},
) =>
  db.maybeOne(sql.type(Mailable)`
    select email, role, orgs.name as "orgName", expires_at as "expiresAt"
    from invitations join orgs on orgs.id = org_id
    where org_id = ${org} and invitations.id = ${id} and withdrawn_at is null and used_at is null and expires_at > lading_now() and closed_at is null
      and (mailed_at is null or mailed_at < lading_now() - make_interval(secs => ${againAfterSeconds}))
      and (select count(*) from invitations others where others.org_id = ${org} and (others.mailed_at > lading_now() - interval '1 day'
        or (others.mail_queued_at > lading_now() - interval '1 day' and others.id <> invitations.id))) < ${mostPerDay}`)

type InvitationRef = {org: string; id: string}

export const markMailQueued = (tx: Tx, {org, id}: InvitationRef) =>
  tx.query(sql.type(z.object({}))`update invitations set mail_queued_at = lading_now() where org_id = ${org} and id = ${id}`)

/** Stores that the invitation no longer waits for its e-mail, and when it was mailed. */
export const markMailDone = (db: Db, {org, id, isMailed}: InvitationRef & {isMailed: boolean}) =>
  db.query(sql.type(z.object({}))`
    update invitations set mail_queued_at = null, mailed_at = case when ${isMailed} then lading_now() else mailed_at end
    where org_id = ${org} and id = ${id}`)

const Received = z.object({id: z.string(), org: z.object({id: z.string(), name: z.string()}), role: Role, expiresAt: z.string()})

export const listReceived = (db: Db, email: string) =>
  db.any(sql.type(Received)`
    select invitations.id, jsonb_build_object('id', orgs.id, 'name', orgs.name) as org, role, expires_at as "expiresAt"
    from invitations join orgs on orgs.id = org_id
    where email = ${email} and withdrawn_at is null and used_at is null and expires_at > lading_now()
    order by invitations.id desc`)

const Standing = z.object({org: z.string(), role: Role, state: State, closed: z.boolean(), membership: z.string().nullable()})
export type InvitationStatus = z.output<typeof Standing>

/**
 * Reads an invitation to this address, or null. `membership`: a version of the person's membership in the org; null if the person is no member.
 */
export const readInvitationStatus = (db: Db, {id, email, person}: {id: string; email: string; person: string}) =>
  db.maybeOne(sql.type(Standing)`
    select invitations.org_id as org, invitations.role, ${state}, closed_at is not null as closed, members.xmin::text as membership
    from invitations
    join orgs on orgs.id = invitations.org_id
    left join members on members.org_id = invitations.org_id and members.person_id = ${person}
    where invitations.id = ${id} and invitations.email = ${email}`)

/** Marks the invitation as used. Returns null if the invitation is no longer pending or has another role. */
export const spendInvitation = (tx: Tx, {id, role}: {id: string; role: z.output<typeof Role>}) =>
  tx.maybeOne(sql.type(z.object({id: z.string()}))`
    update invitations set used_at = lading_now()
    where id = ${id} and role = ${role} and withdrawn_at is null and used_at is null and expires_at > lading_now()
    returning id`)

export const deleteInvitationsTo = (tx: Tx, email: string) =>
  tx.query(sql.type(z.object({}))`delete from invitations where email = ${email}`)
