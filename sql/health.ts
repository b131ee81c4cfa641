import {readdir} from 'node:fs/promises'
import {basename} from 'node:path'
import {type Hot, prepare} from './database.ts'

export const checkDatabase = prepare<{one: number}>('health', 'select 1 as one')

const readApplied = prepare<{name: string}>('applied-migrations', 'select name from migrations order by name')

/** Which migrations this release brings, and which of them this database has not seen. */
export const readMigrationState = async (hot: Hot): Promise<{applied: number; pending: string[]}> => {
  const files = await readdir(new URL('migrations/', import.meta.url))
  const names = files.filter(file => file.endsWith('.sql')).map(file => basename(file, '.sql'))
  const applied = new Set((await readApplied(hot, [])).map(({name}) => name))
  return {applied: applied.size, pending: names.filter(name => !applied.has(name)).sort()}
}
