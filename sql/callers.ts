import {openBatchLoader} from './batch-loader.ts'
import {prepare} from './database.ts'

type Role = 'operator' | 'builder' | 'admin' | 'owner'

/** The caller of a bearer token, with person, org and membership. Fields of a deleted person, org or membership are null. */
type CallerRow = {
  id: string
  personId: string | null
  email: string | null
  personName: string | null
  banned: boolean
  orgId: string | null
  orgName: string | null
  closed: boolean
  memberRole: Role | null
}
export type SessionCaller = CallerRow & {
  expired: boolean
  sessionRole: Role | null
  staff: boolean | null
  staffView: 'read' | 'write' | null
  /** Whether the person signed in less than 15 minutes ago. A refresh is not a sign-in. */
  isRecent: boolean
}
export type TokenCaller = CallerRow & {expired: boolean; revoked: boolean; stale: boolean}

const callerColumns = `k.n, b.id, p.id as "personId", p.email, p.name as "personName", p.banned_at is not null as banned, b.org_id as "orgId",
  o.name as "orgName", o.closed_at is not null as closed, m.role as "memberRole", coalesce(b.expires_at <= lading_now(), false) as expired`
const joined = `left join people p on p.id = b.person_id left join orgs o on o.id = b.org_id
  left join members m on m.org_id = b.org_id and m.person_id = b.person_id`

/** Reads the caller of a session by its id. Authenticating a request reads nothing else. Returns undefined for an unknown session. */
export const readSessionCaller = openBatchLoader<string, SessionCaller>(
  'session-caller',
  `select ${callerColumns}, b.role as "sessionRole", p.staff, b.staff_view as "staffView",
    coalesce(b.signed_in_at, b.created_at) > lading_now() - interval '15 minutes' as "isRecent"
  from unnest($1::text[]) with ordinality k (id, n) join sessions b on b.id = k.id ${joined}`,
)

/** Reads the caller of an API token by the hash of its secret. `stale`: the stored time of the last use is older than a minute, or there is none. */
export const readTokenCaller = openBatchLoader<Buffer, TokenCaller>(
  'token-caller',
  `select ${callerColumns}, b.revoked_at is not null as revoked, coalesce(b.last_used_at < lading_now() - interval '1 minute', true) as stale
  from unnest($1::bytea[]) with ordinality k (hash, n) join api_tokens b on b.hash = k.hash ${joined}`,
)

/** Reads the caller of an MCP client's access token, like `readTokenCaller`. The returned `id` is the id of the grant. */
export const readGrantCaller = openBatchLoader<Buffer, TokenCaller>(
  'grant-caller',
  `select ${callerColumns}, b.revoked_at is not null as revoked, coalesce(b.last_used_at < lading_now() - interval '1 minute', true) as stale
  from unnest($1::bytea[]) with ordinality k (hash, n)
  join lateral (select g.id, g.org_id, g.person_id, g.revoked_at, g.last_used_at, t.expires_at
    from oauth_tokens t join oauth_grants g on g.id = t.grant_id where t.hash = k.hash and t.kind = 'access') b on true ${joined}`,
)

export type EmbedCaller = Omit<TokenCaller, 'stale'> & {apiToken: string | null; template: string; origin: string; rowsLimit: number}

/**
 * Reads the caller of an embed token. `revoked`: the API token that created the embed token was revoked or has expired, or the org removed the
 * origin from its settings.
 */
export const readEmbedCaller = openBatchLoader<Buffer, EmbedCaller>(
  'embed-caller',
  `select ${callerColumns}, (a.revoked_at is not null or coalesce(a.expires_at <= lading_now(), false)
      or not coalesce(b.origin = any(s.embed_origins), false)) as revoked,
    b.api_token_id as "apiToken", b.template_id as template, b.origin, b.rows_limit as "rowsLimit"
  from unnest($1::bytea[]) with ordinality k (hash, n) join embed_tokens b on b.hash = k.hash
  left join api_tokens a on a.id = b.api_token_id left join org_settings s on s.org_id = b.org_id ${joined}`,
)

export const noteGrantUse = prepare<never>(
  'grant-use',
  `update oauth_grants set last_used_at = lading_now()
  where id = $1 and coalesce(last_used_at < lading_now() - interval '1 minute', true)`,
)

export const noteTokenUse = prepare<never>(
  'token-use',
  `update api_tokens set last_used_at = lading_now()
  where id = $1 and coalesce(last_used_at < lading_now() - interval '1 minute', true)`,
)
