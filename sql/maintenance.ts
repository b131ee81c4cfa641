import {z} from 'zod'
import {type Db, prepare, sql} from './database.ts'

/** Returns one row while maintenance mode is on for the whole deployment. */
export const readMaintenanceSwitch = prepare<{one: number}>('maintenance-switch', 'select 1 as one from maintenance_switch')

/** A second call keeps the time of the first. */
export const switchMaintenanceOn = (db: Db) =>
  db.query(sql.type(z.object({}))`insert into maintenance_switch default values on conflict do nothing`)

export const switchMaintenanceOff = (db: Db) => db.query(sql.type(z.object({}))`delete from maintenance_switch`)
