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
