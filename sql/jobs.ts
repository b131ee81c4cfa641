import {z} from 'zod'
import {type Db, sql} from './database.ts'

const JobRow = z.object({
  id: z.string(),
  queue: z.string(),
  done: z.number().nullable(),
  total: z.number().nullable(),
  unit: z.string().nullable(),
})

export const insertJob = (db: Db, {id, org, queue}: {id: string; org: string; queue: string}) =>
  db.query(sql.type(z.object({}))`
    insert into jobs (id, org_id, queue) values (${id}, ${org}, ${queue}) on conflict (id) do nothing`)

const Id = z.guid()

/** Returns null if the job does not exist or belongs to another org, or if `id` cannot be the id of a job. */
export const findJob = (db: Db, {org, id}: {org: string; id: string}) =>
  db.maybeOne(
    sql.type(JobRow)`select id, queue, done, total, unit from jobs where org_id = ${org} and id = ${Id.safeParse(id).data ?? null}`,
  )

export const setJobProgress = (db: Db, {id, done, total, unit}: {id: string; done: number; total: number | null; unit: string}) =>
  db.query(sql.type(z.object({}))`update jobs set done = ${done}, total = ${total}, unit = ${unit} where id = ${id}`)
