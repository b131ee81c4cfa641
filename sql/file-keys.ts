import {z} from 'zod'
import {type Db, sql} from './database.ts'

const Empty = z.object({})

export type FileKeys = ReturnType<typeof openFileKeys>

/** Opens a table of runs' stored files, each with the storage key of the file and its sealed encryption key. */
export const openFileKeys = (name: 'bulk_jobs' | 'match_exports') => {
  const table = sql.identifier([name])
  return {
    /** Lists files whose key is not sealed under the key with the prefix `start`, by storage key. `after`: the storage key of the last one. */
    listSealedElse: (db: Db, {start, after, limit}: {start: string; after: string; limit: number}) =>
      db.any(sql.type(z.object({key: z.string(), run: z.string(), sealed: z.string()}))`
        select key, runs.id as run, sealed from ${table} join runs using (run_no)
        where key > ${after} and sealed is not null and not starts_with(sealed, ${start}) order by key limit ${limit}`),

    /** Stores the newly sealed key. Returns false if it was changed, or its file given up, since it was read. */
    async keepResealed(db: Db, {key, before, after}: {key: string; before: string; after: string}): Promise<boolean> {
      const {rowCount} = await db.query(sql.type(Empty)`update ${table} set sealed = ${after} where key = ${key} and sealed = ${before}`)
      return rowCount === 1
    },
  }
}
