import {z} from 'zod'
import {type Db, sql} from './database.ts'

const Session = z.object({id: z.string(), expiresAt: z.string()})
export type SessionRow = z.output<typeof Session>

type NewSession = {id: string; person: string; org: string | null; role: 'operator' | 'builder' | 'admin' | 'owner' | null; hours: number}

/** Sessions that ended leave as others begin. */
export const insertSession = (db: Db, {id, person, org, role, hours}: NewSession) =>
  db.one(sql.type(Session)`
    with ended as (delete from sessions where expires_at < lading_now() - interval '1 day')
    insert into sessions (id, person_id, org_id, role, expires_at)
    values (${id}, ${person}, ${org}, ${role}, lading_now() + make_interval(hours => ${hours}))
    returning id, expires_at as "expiresAt"`)
