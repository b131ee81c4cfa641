import {type Hot, prepare} from './database.ts'
import {listMigrations} from './migration-files.ts'

export const checkDatabase = prepare<{one: number}>('health', 'select 1 as one')

/** The version of the server as a number, such as 180004 for 18.4. */
export const readServerVersion = prepare<{version: number}>(
  'server-version',
  "select current_setting('server_version_num')::int as version",
)

/** The timeouts that a connection has at its start, such as `30s`. `0`: no timeout. */
export const readTimeouts = prepare<{statement: string; transaction: string}>(
  'timeouts',
  "select current_setting('statement_timeout') as statement, current_setting('idle_in_transaction_session_timeout') as transaction",
)

const readApplied = prepare<{name: string}>('applied-migrations', 'select name from migrations order by name')

export const readMigrationState = async (hot: Hot): Promise<{applied: number; pending: string[]}> => {
  const names = await listMigrations()
  const applied = new Set((await readApplied(hot, [])).map(({name}) => name))
  return {applied: applied.size, pending: names.filter(name => !applied.has(name))}
}
