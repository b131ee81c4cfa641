import {readFile} from 'node:fs/promises'
import {databaseUrlOf, readConfig} from '../shared/config.ts'
import {type Db, openDatabase} from '../sql/database.ts'
import {switchMaintenanceOff, switchMaintenanceOn} from '../sql/maintenance.ts'

/** `npm start` keeps the address of its own Postgres here while it runs. */
const startedDatabase = '.data/start/database'

/** Every API process of the deployment follows within two seconds. */
export const switchMaintenance = (db: Db, to: 'on' | 'off') => (to === 'on' ? switchMaintenanceOn(db) : switchMaintenanceOff(db))

/** `node api/maintenance-switch.ts on|off` */
const main = async ([to]: string[]) => {
  if (to !== 'on' && to !== 'off') throw new Error('Say `on` or `off`')
  const config = readConfig()
  const db = await openDatabase(config.DATABASE_URL ?? (await readStarted()) ?? databaseUrlOf(config), {connections: 1})
  try {
    await switchMaintenance(db, to)
  } finally {
    await db.end()
  }
  const held = to === 'off' && config.MAINTENANCE ? ', but MAINTENANCE in the environment keeps it on' : ''
  process.stdout.write(`Maintenance is switched ${to}${held}\n`)
}

const readStarted = () =>
  readFile(startedDatabase, 'utf8').catch(error => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })

if (import.meta.main) await main(process.argv.slice(2))
