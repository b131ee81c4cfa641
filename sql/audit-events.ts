import {z} from 'zod'
import type {Via} from './changes.ts'
import {type Db, sql, type Tx} from './database.ts'

const Empty = z.object({})

export type NewAuditEvent = {
  org: string
  kind: string
  via: string
  person: string | null
  session: string | null
  token: string | null
  target: string | null
  detail: Record<string, unknown>
  address: string | null
  userAgent: string | null
}

export const insertAuditEvent = (db: Db, event: NewAuditEvent) =>
  db.query(sql.type(Empty)`
    insert into audit_events (org_id, kind, via, person_id, session_id, token_id, target, detail, address, user_agent)
    values (${event.org}, ${event.kind}, ${event.via}, ${event.person}, ${event.session}, ${event.token}, ${event.target},
      ${sql.jsonb(event.detail as never)}, ${event.address}, ${event.userAgent})`)

/**
 * SQL that inserts one event per sign-in and org. `changed`: the name of a common table expression of the same statement that returns whole rows
 * of `sessions`. Expired sessions are left out. Staff views are left out too, because the staff action that opens one is recorded.
 */
export const noteSessions = (
  changed: string,
  kind: 'session.created' | 'session.refreshed' | 'session.moved' | 'session.ended',
) => sql.fragment`
  insert into audit_events (org_id, kind, via, person_id, session_id, detail, address, user_agent)
  select distinct on (coalesce(s.root_id, s.id), s.org_id) s.org_id, ${kind}, 'session', s.person_id, s.id,
    jsonb_build_object('signIn', coalesce(s.root_id, s.id)), s.address, s.user_agent
  from ${sql.identifier([changed])} s join orgs on orgs.id = s.org_id join people on people.id = s.person_id
  where s.staff_view is null and s.expires_at > lading_now()
  order by coalesce(s.root_id, s.id), s.org_id, s.id desc`

/**
 * Why an MCP client was allowed or revoked. `misuse`: its code or refresh token was used twice. `crm`: the CRM deactivated the person. `removal`:
 * the person's membership ended.
 */
export type GrantCause = 'person' | 'client' | 'misuse' | 'ban' | 'crm' | 'removal'

/**
 * SQL that records that an MCP client was allowed or revoked. `changed`: a common table expression of the same statement that returns whole rows
 * of `oauth_grants`. An event has the time of its grant's row, so that the audit export recognises grants that an older build stored without an
 * event.
 */
export const noteGrants = (
  changed: string,
  kind: 'client.allowed' | 'client.revoked',
  cause: GrantCause,
  via: Via = cause === 'person' || cause === 'crm' ? 'session' : 'oauth',
) => sql.fragment`
  insert into audit_events (org_id, kind, via, person_id, target, detail, created_at)
  select g.org_id, ${kind}, ${via},
    ${cause === 'person' || cause === 'client' ? sql.fragment`g.person_id` : sql.fragment`null`}, c.name,
    jsonb_build_object('grantId', g.id, 'cause', ${cause}::text),
    ${sql.identifier(['g', kind === 'client.allowed' ? 'created_at' : 'revoked_at'])}
  from ${sql.identifier([changed])} g join oauth_clients c on c.id = g.client_id`

/** Removes the IP address and the user agent from the events of an erased person. The events stay. */
export const forgetAuditDevices = (tx: Tx, person: string) =>
  tx.query(sql.type(Empty)`update audit_events set user_agent = null, address = null where person_id = ${person}`)

type Old = {days: number; limit: number}

/**
 * Deletes at most `limit` rows that are older than `days` from each audit table. Returns the larger of the two counts. In orgs that require
 * approvals, keeps changes of templates until their version is approved, because their authors cannot approve it.
 */
export const deleteOldAudit = async (db: Db, {days, limit}: Old): Promise<number> => {
  const isUnapproved = sql.fragment`page = 'templates' and subject in ('template.created', 'template.changed') and exists (
    select from templates t join org_settings s on s.org_id = t.org_id left join template_approvals a on a.template_id = t.id
    where t.id = after ->> 'templateId' and t.org_id = changes.org_id and s.approval_above is not null
      and (after ->> 'version')::bigint > coalesce(a.version, 0))`
  let most = 0
  for (const [name, kept] of [
    ['audit_events', sql.fragment`false`],
    ['changes', isUnapproved],
  ] as const) {
    const table = sql.identifier([name])
    const {rowCount} = await db.query(sql.type(Empty)`
      delete from ${table} where ctid = any(array(
        select ctid from ${table} where created_at < lading_now() - make_interval(days => ${days}) and not coalesce(${kept}, false) limit ${limit}))`)
    most = Math.max(most, rowCount)
  }
  return most
}
