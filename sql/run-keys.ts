import {z} from 'zod'
import {type Db, type Pool, sql} from './database.ts'

const Empty = z.object({})
const Key = z.object({sealed: z.string()})

export type RunKeys = ReturnType<typeof openRunKeys>

export const openRunKeys = (name: 'image_keys' | 'verify_keys') => {
  const table = sql.identifier([name])
  return {
    /** Returns the sealed key of a run. If there is none yet, stores `sealed` first. */
    async keep(db: Pool, {run, sealed}: {run: number; sealed: string}): Promise<string> {
      await db.query(sql.type(Empty)`insert into ${table} (run_no, sealed) values (${run}, ${sealed}) on conflict do nothing`)
      return db.oneFirst(sql.type(Key)`select sealed from ${table} where run_no = ${run}`)
    },

    find: (db: Db, run: number) => db.maybeOneFirst(sql.type(Key)`select sealed from ${table} where run_no = ${run}`),

    /**
     * Lists runs whose sealed key does not begin with `start`, which names the current master key. `after`: the last run id of the page before.
     */
    listSealedElse: (db: Db, {start, after, limit}: {start: string; after: string; limit: number}) =>
      db.any(sql.type(z.object({id: z.string(), run: z.number(), sealed: z.string()}))`
        select id, run_no as run, sealed from ${table} join runs using (run_no)
        where id > ${after} and not starts_with(sealed, ${start}) order by id limit ${limit}`),

    /** Stores the newly sealed key. Returns false if it was changed since it was read. */
    async keepResealed(db: Db, {run, before, after}: {run: number; before: string; after: string}): Promise<boolean> {
      const {rowCount} = await db.query(sql.type(Empty)`update ${table} set sealed = ${after} where run_no = ${run} and sealed = ${before}`)
      return rowCount === 1
    },
  }
}
