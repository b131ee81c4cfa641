import {z} from 'zod'
import {type Db, sql, type Tx} from './database.ts'

const Person = z.object({
  id: z.string(),
  name: z.string(),
  email: z.string(),
  /** At the identity provider: what a person is known by. */
  account: z.object({dc: z.string(), id: z.string()}),
  staff: z.boolean(),
  bannedAt: z.string().nullable(),
})
export type PersonRow = z.output<typeof Person>

const columns = sql.fragment`id, name, email, staff, banned_at as "bannedAt",
  jsonb_build_object('dc', split_part(subject, ':', 1), 'id', split_part(subject, ':', 2)) as account`
/** As shared/people/address.ts has it, and the index. */
const address = sql.fragment`lower(btrim(email) collate "C")`

/** The person of this subject with the e-mail and name of today; `id` is used for a new one. */
export const keepPerson = (db: Db, {id, subject, email, name}: {id: string; subject: string; email: string; name: string}) =>
  db.one(sql.type(Person)`
    insert into people (id, subject, email, name) values (${id}, ${subject}, ${email}, ${name})
    on conflict (subject) do update set email = excluded.email, name = excluded.name
    returning ${columns}`)

/** Held to the end of the transaction. */
export const lockPerson = (tx: Tx, id: string) =>
  tx.maybeOne(sql.type(Person)`select ${columns} from people where id = ${id} for no key update`)

export const findPersonBySubject = (tx: Tx, subject: string) =>
  tx.maybeOne(sql.type(Person)`select ${columns} from people where subject = ${subject} for no key update`)

const Place = z.object({id: z.string(), name: z.string(), role: z.enum(['operator', 'builder', 'admin', 'owner'])})
const Placed = Person.extend({orgs: z.array(Place)})

/** Everybody of this address, and where they are members: one mailbox may have an account in several data centres. */
export const listPeopleAt = (db: Db, email: string) =>
  db.any(sql.type(Placed)`
    select ${columns}, (
      select coalesce(jsonb_agg(jsonb_build_object('id', orgs.id, 'name', orgs.name, 'role', role) order by orgs.id), '[]')
      from members join orgs on orgs.id = org_id where person_id = people.id) as orgs
    from people where ${address} = ${email} order by id`)

export const listStaff = (db: Db) => db.any(sql.type(Person)`select ${columns} from people where staff order by id`)

export const setStaff = (tx: Tx, {id, staff}: {id: string; staff: boolean}) =>
  tx.one(sql.type(Person)`update people set staff = ${staff} where id = ${id} returning ${columns}`)

export const setBanned = (tx: Tx, {id, banned}: {id: string; banned: boolean}) =>
  tx.one(sql.type(Person)`update people set banned_at = case when ${banned} then lading_now() end where id = ${id} returning ${columns}`)

/** What they made stays, and names nobody; their memberships go. Sessions and API tokens are those of nobody from now on. */
export const deletePerson = (tx: Tx, id: string) => tx.query(sql.type(z.object({}))`delete from people where id = ${id}`)

export const isBanned = (db: Db, id: string) =>
  db.exists(sql.type(z.object({}))`select from people where id = ${id} and banned_at is not null`)
