import {z} from 'zod'
import {type Db, sql} from './database.ts'

const Empty = z.object({})

export type FileKeys = ReturnType<typeof openFileKeys>

/** Returns the queries for a table of stored run files. Each row has the file's storage key and its sealed encryption key. */
export const openFileKeys = (name: 'bulk_jobs' | 'match_exports') => {
  const table = sql.identifier([name])
  return {
    /**
     * Lists files whose sealed encryption key does not begin with `start`, which names the current master key. `after`: the last storage key of
     * the page before.
     */
    listSealedElse: (db: Db, {start, after, limit}: {start: string; after: string; limit: number}) =>
      db.any(sql.type(z.object({key: z.string(), run: z.string(), sealed: z.string()}))`
        select key, runs.id as run, sealed from ${table} join runs using (run_no)
        where key > ${after} and sealed is not null and not starts_with(sealed, ${start}) order by key limit ${limit}`),

    /** Replaces the sealed encryption key. Returns false if another process changed or removed the key meanwhile. */
    async keepResealed(db: Db, {key, before, after}: {key: string; before: string; after: string}): Promise<boolean> {
      const {rowCount} = await db.query(sql.type(Empty)`update ${table} set sealed = ${after} where key = ${key} and sealed = ${before}`)
      return rowCount === 1
    },
  }
}
