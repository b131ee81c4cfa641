import {type Hot, prepare} from './database.ts'
import {listMigrations} from './migration-files.ts'

export const checkDatabase = prepare<{one: number}>('health', 'select 1 as one')

const readApplied = prepare<{name: string}>('applied-migrations', 'select name from migrations order by name')

export const readMigrationState = async (hot: Hot): Promise<{applied: number; pending: string[]}> => {
  const names = await listMigrations()
  const applied = new Set((await readApplied(hot, [])).map(({name}) => name))
  return {applied: applied.size, pending: names.filter(name => !applied.has(name))}
}
