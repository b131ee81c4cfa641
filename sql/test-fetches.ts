import {z} from 'zod'
import {type Db, sql} from './database.ts'
import type {Schedule} from './schedules.ts'
import {storable} from './storable.ts'

const TestFetch = z.object({result: z.unknown(), fetchedAt: z.string()})
export type TestFetchRow = z.output<typeof TestFetch>

/** Finds the newest test fetch of a schedule, or null if there is none. The caller has checked that the schedule is of the org. */
export const findTestFetch = (db: Db, schedule: string): Promise<TestFetchRow | null> =>
  db.maybeOne(sql.type(TestFetch)`select result, fetched_at as "fetchedAt" from test_fetches where schedule_id = ${schedule}`)

/** Returns false if the schedule was deleted, or has another source by now. */
export const keepTestFetch = async (db: Db, {schedule, result}: {schedule: Schedule; result: object}): Promise<boolean> => {
  const {rowCount} = await db.query(sql.type(z.object({}))`
    insert into test_fetches (schedule_id, result) select id, ${storable(result)}::jsonb from schedules
    where id = ${schedule.id} and source = ${sql.jsonb(schedule.source as never)} and credentials is not distinct from ${schedule.credentials}
    on conflict (schedule_id) do update set result = excluded.result, fetched_at = lading_now()`)
  return rowCount === 1
}

/** Deletes at most `limit` test fetches that are older than a day, because they contain rows of files. */
export const deleteOldTestFetches = async (db: Db, {limit}: {limit: number}): Promise<number> => {
  const {rowCount} = await db.query(sql.type(z.object({}))`
    delete from test_fetches where schedule_id = any(array(
      select schedule_id from test_fetches where fetched_at < lading_now() - interval '1 day' limit ${limit}))`)
  return rowCount
}
