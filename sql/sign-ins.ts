import {z} from 'zod'
import {type Db, sql} from './database.ts'

const SignIn = z.object({
  id: z.string(),
  purpose: z.enum(['session', 'connect', 'grant']),
  dc: z.string(),
  verifier: z.string(),
  returnOrigin: z.string(),
  org: z.string().nullable(),
  person: z.string().nullable(),
  connectionName: z.string().nullable(),
  oauthRequest: z.string().nullable(),
})
export type SignInRow = z.output<typeof SignIn>
type NewSignIn = SignInRow & {browserHash: Buffer; minutes: number}

/** Visits nobody came back from leave as others begin. */
export const insertSignIn = (db: Db, visit: NewSignIn) =>
  db.one(sql.type(z.object({id: z.string(), expiresAt: z.string()}))`
    with ended as (delete from sign_ins where expires_at < lading_now() - interval '1 hour')
    insert into sign_ins (id, purpose, browser_hash, dc, verifier, return_origin, org_id, person_id, connection_name,
      oauth_request_id, expires_at)
    values (${visit.id}, ${visit.purpose}, ${sql.binary(visit.browserHash)}, ${visit.dc}, ${visit.verifier}, ${visit.returnOrigin}, ${visit.org},
      ${visit.person}, ${visit.connectionName}, ${visit.oauthRequest}, lading_now() + make_interval(mins => ${visit.minutes}))
    returning id, expires_at as "expiresAt"`)

/** Once, in time and by the browser that began it; null otherwise. Another browser's attempt leaves the row as it is. */
export const takeSignIn = (db: Db, {id, browserHash}: {id: string; browserHash: Buffer}) =>
  db.maybeOne(sql.type(SignIn)`
    update sign_ins set used_at = lading_now()
    where id = ${id} and browser_hash = ${sql.binary(browserHash)} and used_at is null and expires_at > lading_now()
    returning id, purpose, dc, verifier, return_origin as "returnOrigin", org_id as org, person_id as person,
      connection_name as "connectionName", oauth_request_id as "oauthRequest"`)
