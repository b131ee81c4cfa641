import {z} from 'zod'
import {type Db, sql, type Tx} from './database.ts'

const Awaited = z.object({
  id: z.string(),
  email: z.string().nullable(),
  account: z.object({dc: z.string(), id: z.string()}).nullable(),
})
export type AwaitedRow = z.output<typeof Awaited>

const ofAccount = sql.fragment`id, null::text as email,
  jsonb_build_object('dc', split_part(subject, ':', 1), 'id', split_part(subject, ':', 2)) as account`
const ofAddress = sql.fragment`id, email, null::jsonb as account`

/** Stores an account whose person becomes staff at the next sign-in. Returns the stored row. */
export const keepStaffAccount = (db: Db, {id, subject}: {id: string; subject: string}) =>
  db.one(sql.type(Awaited)`
    insert into staff_accounts (id, subject) values (${id}, ${subject})
    on conflict (subject) do update set subject = excluded.subject
    returning ${ofAccount}`)

/** Lists accounts that wait for their first sign-in, and addresses that older builds stored, which have no effect. */
export const listAwaitedStaff = (db: Db) =>
  db.any(sql.type(Awaited)`
    select ${ofAccount} from staff_accounts union all select ${ofAddress} from staff_addresses order by id`)

export const countStaffAddresses = (db: Db) =>
  db.oneFirst(sql.type(z.object({count: z.number()}))`select count(*)::int as count from staff_addresses`)

export const deleteAwaitedStaff = async (tx: Tx, id: string): Promise<AwaitedRow | null> =>
  (await tx.maybeOne(sql.type(Awaited)`delete from staff_accounts where id = ${id} returning ${ofAccount}`)) ??
  (await tx.maybeOne(sql.type(Awaited)`delete from staff_addresses where id = ${id} returning ${ofAddress}`))

export const takeStaffAccount = async (tx: Tx, subject: string) => {
  const {rowCount} = await tx.query(sql.type(z.object({}))`delete from staff_accounts where subject = ${subject}`)
  return rowCount === 1
}

/** Deletes the address of an erased person, which an older build may have stored to make the person staff. */
export const forgetStaffAddress = (tx: Tx, email: string) =>
  tx.query(sql.type(z.object({}))`delete from staff_addresses where email = ${email}`)
