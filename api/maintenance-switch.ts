import {readFile} from 'node:fs/promises'
import {databaseUrlOf, readConfig} from '../shared/config.ts'
import {type Db, openDatabase} from '../sql/database.ts'
import {switchMaintenanceOff, switchMaintenanceOn} from '../sql/maintenance.ts'

/** File with the URL of the Postgres that `npm start` runs. */
const startedDatabase = '.data/start/database'

/** Switches maintenance on or off in the database. Every API process of the deployment follows within two seconds. */
export const switchMaintenance = (db: Db, to: 'on' | 'off') => (to === 'on' ? switchMaintenanceOn(db) : switchMaintenanceOff(db))

/** Runs the command `node api/maintenance-switch.ts on|off`. */
const main = async ([to]: string[]) => {
  if (to !== 'on' && to !== 'off') throw new Error('Pass `on` or `off`')
  const config = readConfig()
  const db = await openDatabase(config.DATABASE_URL ?? (await readStarted()) ?? databaseUrlOf(config), {connections: 1})
  try {
    await switchMaintenance(db, to)
  } finally {
    await db.end()
  }
  const held = to === 'off' && config.MAINTENANCE ? ', but MAINTENANCE in the environment keeps it on' : ''
  process.stdout.write(`Maintenance is ${to}${held}\n`)
}

const readStarted = () =>
  readFile(startedDatabase, 'utf8').catch(error => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })

if (import.meta.main) await main(process.argv.slice(2))
