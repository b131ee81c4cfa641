import {z} from 'zod'
import {type Db, sql} from './database.ts'

/** Marks a sign-in as used. Returns false if it was used before or has expired. Also deletes rows that expired more than an hour ago. */
export const useSignInOnce = async (db: Db, {id, expiresAt}: {id: string; expiresAt: string}): Promise<boolean> => {
  const {rowCount} = await db.query(sql.type(z.object({}))`
    with ended as (delete from used_sign_ins where expires_at < lading_now() - interval '1 hour')
    insert into used_sign_ins (id, expires_at) select ${id}, ${expiresAt}::timestamptz where ${expiresAt}::timestamptz > lading_now()
    on conflict (id) do nothing`)
  return rowCount === 1
}
