import {z} from 'zod'
import {type Db, type Pool, sql} from './database.ts'
import {IMAGE_LIST} from './segments.ts'

const Empty = z.object({})
const Key = z.object({sealed: z.string()})

/** Returns the sealed key of a run's before images. If there is none yet, stores `sealed` first. */
export const keepImageKey = async (db: Pool, {run, sealed}: {run: number; sealed: string}) => {
  await db.query(sql.type(Empty)`insert into image_keys (run_no, sealed) values (${run}, ${sealed}) on conflict do nothing`)
  return db.oneFirst(sql.type(Key)`select sealed from image_keys where run_no = ${run}`)
}

export const findImageKey = (db: Db, run: number) => db.maybeOneFirst(sql.type(Key)`select sealed from image_keys where run_no = ${run}`)

/** Lists runs whose key is not sealed under the key with the prefix `start`. `after`: the id of the last one. */
export const listImageKeysSealedElse = (db: Db, {start, after, limit}: {start: string; after: string; limit: number}) =>
  db.any(sql.type(z.object({id: z.string(), run: z.number(), sealed: z.string()}))`
    select id, run_no as run, sealed from image_keys join runs using (run_no)
    where id > ${after} and not starts_with(sealed, ${start}) order by id limit ${limit}`)

/** Stores the newly sealed key. Returns false if it was changed since it was read. */
export const keepResealedImageKey = async (db: Db, {run, before, after}: {run: number; before: string; after: string}) => {
  const {rowCount} = await db.query(sql.type(Empty)`
    update image_keys set sealed = ${after} where run_no = ${run} and sealed = ${before}`)
  return rowCount === 1
}

/**
 * Deletes the keys and the segments of before images whose time to undo has passed. No run that still undoes may lose them. Returns the
 * number of runs.
 */
export const deleteOldImages = async (db: Pool, {limit}: {limit: number}) => {
  const rows = await db.any(sql.type(z.object({run: z.number()}))`
    with gone as (
      delete from image_keys where run_no = any(array(
        select run_no from image_keys join runs using (run_no)
        where state = 'ended' and (undo_days is null or ended_at < lading_now() - make_interval(days => undo_days))
          and not exists (select from runs u where u.undo_of = runs.run_no and u.state <> 'ended')
        limit ${limit})) returning run_no),
    objects as (delete from segments s using gone where s.run_no = gone.run_no and list = ${IMAGE_LIST})
    select run_no as run from gone`)
  return rows.length
}
