import {z} from 'zod'
import {type Pool, sql} from './database.ts'
import {openRunKeys} from './run-keys.ts'
import {IMAGE_LIST} from './segments.ts'

export const imageKeys = openRunKeys('image_keys')

/**
 * Deletes the keys and the segments of before images of ended runs whose time to undo has passed. Leaves out runs that an open run is undoing.
 * Returns the number of runs.
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
