import {z} from 'zod'
import {type Db, prepare, sql} from './database.ts'

/** One row while maintenance is on for the whole deployment. */
export const readMaintenanceSwitch = prepare<{one: number}>('maintenance-switch', 'select 1 as one from maintenance_switch')

/** Twice keeps the first time. */
export const switchMaintenanceOn = (db: Db) =>
  db.query(sql.type(z.object({}))`insert into maintenance_switch default values on conflict do nothing`)

export const switchMaintenanceOff = (db: Db) => db.query(sql.type(z.object({}))`delete from maintenance_switch`)
