import {z} from 'zod'
import {type Db, sql} from './database.ts'

/** Returns the service's time in ISO 8601: the database's clock plus the offset that a test has set. */
export const readClock = (db: Db) => db.oneFirst(sql.type(z.object({now: z.string()}))`select lading_now() as now`)
