import {z} from 'zod'
import {type Db, sql} from './database.ts'

/** The service's time: the database's, plus what a test has moved it ahead. In ISO 8601. */
export const readClock = (db: Db) => db.oneFirst(sql.type(z.object({now: z.string()}))`select lading_now() as now`)
