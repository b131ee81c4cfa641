import {z} from 'zod'
import {type Db, sql, type Tx} from './database.ts'

const Awaited = z.object({id: z.string(), email: z.string()})

/** An address whose person becomes staff at their next sign-in. Kept once, however often it is given. */
export const keepStaffAddress = (db: Db, {id, email}: {id: string; email: string}) =>
  db.one(sql.type(Awaited)`
    insert into staff_addresses (id, email) values (${id}, ${email})
    on conflict (email) do update set email = excluded.email
    returning id, email`)

export const listStaffAddresses = (db: Db) => db.any(sql.type(Awaited)`select id, email from staff_addresses order by id`)

/** Null when no such address is awaited. */
export const deleteStaffAddress = (db: Db, id: string) =>
  db.maybeOne(sql.type(Awaited)`delete from staff_addresses where id = ${id} returning id, email`)

/** Whether the address was awaited. It is no longer: one person alone becomes staff by it. */
export const takeStaffAddress = async (tx: Tx, email: string) => {
  const {rowCount} = await tx.query(sql.type(z.object({}))`delete from staff_addresses where email = ${email}`)
  return rowCount === 1
}
