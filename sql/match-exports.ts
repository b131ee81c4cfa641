import {z} from 'zod'
import {type Db, type Pool, sql} from './database.ts'
import {nameLoose} from './segments.ts'

const Empty = z.object({})
const Export = z.object({
  part: z.number(),
  job: z.string(),
  /** When the job was requested, by this process's clock, in ms since 1970. */
  askedMs: z.number(),
  nextPage: z.string().nullable(),
  /** The storage key of the part's file. Null: not stored yet. `sealed`: the sealed encryption key of that file. */
  key: z.string().nullable(),
  sealed: z.string().nullable(),
})
/** One part of a module export, which one job of the CRM makes. `part`: its position among the parts. */
export type ExportPart = z.infer<typeof Export>
type OfFlow = {run: number; flow: number}

/** Lists the parts. The database's clock measures their age, because the clock of the process that requested them may differ. */
export const listExportParts = (db: Db, {run, flow}: OfFlow) =>
  db.any(sql.type(Export)`
    select part, job, ${Date.now()}::float8 - (extract(epoch from lading_now() - asked_at) * 1000)::float8 as "askedMs", next_page as "nextPage", key, sealed
    from match_exports where run_no = ${run} and flow_no = ${flow} order by part`)

export const insertExportPart = (db: Db, {run, flow, part, job, askedMs}: OfFlow & {part: number; job: string; askedMs: number}) =>
  db.query(sql.type(Empty)`
    insert into match_exports (run_no, flow_no, part, job, asked_at)
    values (${run}, ${flow}, ${part}, ${job}, lading_now() - make_interval(secs => ${(Date.now() - askedMs) / 1000}))`)

type StoredPart = OfFlow & {part: number; key: string; sealed: string; nextPage: string | null; records: number}

/**
 * Stores the storage key of a part's file, and removes the key from the list of objects that no row names. Throws if another owner of the run stored
 * or deleted the part, or if the object was marked for removal meanwhile.
 */
export const nameExportPart = (db: Pool, {run, flow, part, key, sealed, nextPage, records}: StoredPart) =>
  db.transaction(async tx => {
    const {rowCount} = await tx.query(sql.type(Empty)`
      update match_exports set key = ${key}, sealed = ${sealed}, next_page = ${nextPage}, records = ${records}
      where run_no = ${run} and flow_no = ${flow} and part = ${part} and key is null`)
    if (rowCount !== 1) throw new Error('Another owner of the run stored or deleted this part of the export')
    await nameLoose(tx, [key])
  })

/** Deletes the exports of a run, or of one flow. Retention then removes their files. */
export const deleteExports = (db: Db, {run, flow = null}: {run: number; flow?: number | null}) =>
  db.query(sql.type(Empty)`delete from match_exports where run_no = ${run} and (${flow}::smallint is null or flow_no = ${flow})`)
