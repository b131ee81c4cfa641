import {z} from 'zod'
import {type Db, sql, type Tx} from './database.ts'

const Person = z.object({
  id: z.string(),
  name: z.string(),
  email: z.string(),
  /** The account at the identity provider. It identifies the person. */
  account: z.object({dc: z.string(), id: z.string()}),
  staff: z.boolean(),
  bannedAt: z.string().nullable(),
})
export type PersonRow = z.output<typeof Person>

const columns = sql.fragment`id, name, email, staff, banned_at as "bannedAt",
  jsonb_build_object('dc', split_part(subject, ':', 1), 'id', split_part(subject, ':', 2)) as account`
/** SQL for a normalised e-mail address. The expression is the same in shared/accounts/address.ts and in the index. */
const address = sql.fragment`lower(btrim(email) collate "C")`

/** Inserts a person, or updates the e-mail address and name of the person with this subject. `id` is used for a new person only. */
export const keepPerson = (db: Db, {id, subject, email, name}: {id: string; subject: string; email: string; name: string}) =>
  db.one(sql.type(Person)`
    insert into people (id, subject, email, name) values (${id}, ${subject}, ${email}, ${name})
    on conflict (subject) do update set email = excluded.email, name = excluded.name
    returning ${columns}`)

export const lockPerson = (tx: Tx, id: string) =>
  tx.maybeOne(sql.type(Person)`select ${columns} from people where id = ${id} for no key update`)

export const findPersonBySubject = (tx: Tx, subject: string) =>
  tx.maybeOne(sql.type(Person)`select ${columns} from people where subject = ${subject} for no key update`)

const Place = z.object({id: z.string(), name: z.string(), role: z.enum(['operator', 'builder', 'admin', 'owner'])})
const Placed = Person.extend({orgs: z.array(Place)})

/** Lists all people with this address and their memberships. One mailbox may have accounts in several data centres. */
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

/**
 * Deletes a person with all memberships, embed tokens, notice deliveries and unfinished sign-ins. Sessions, API tokens and imports, among others,
 * stay without a person.
 */
export const deletePerson = (tx: Tx, id: string) => tx.query(sql.type(z.object({}))`delete from people where id = ${id}`)

export const isBanned = (db: Db, id: string) =>
  db.exists(sql.type(z.object({}))`select from people where id = ${id} and banned_at is not null`)
