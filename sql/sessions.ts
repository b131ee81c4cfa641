import {z} from 'zod'
import {type Db, sql} from './database.ts'

const Session = z.object({id: z.string(), expiresAt: z.string()})

type NewSession = {
  id: string
  person: string
  org: string | null
  role: 'operator' | 'builder' | 'admin' | 'owner' | null
  hours: number
  /** A staff member's view of the org, who need not be a member of it. */
  staffView?: 'read' | 'write'
}

/** Sessions that ended leave as others begin. */
export const insertSession = (db: Db, {id, person, org, role, hours, staffView}: NewSession) =>
  db.one(sql.type(Session)`
    with ended as (delete from sessions where expires_at < lading_now() - interval '1 day')
    insert into sessions (id, person_id, org_id, role, staff_view, expires_at)
    values (${id}, ${person}, ${org}, ${role}, ${staffView ?? null}, lading_now() + make_interval(hours => ${hours}))
    returning id, expires_at as "expiresAt"`)

/** From now on the session is in that org; the token that names it stays the same. */
export const moveSession = (db: Db, {id, org, role}: {id: string; org: string; role: NonNullable<NewSession['role']>}) =>
  db.query(sql.type(z.object({}))`update sessions set org_id = ${org}, role = ${role} where id = ${id}`)

export const deleteSession = (db: Db, id: string) => db.query(sql.type(z.object({}))`delete from sessions where id = ${id}`)
