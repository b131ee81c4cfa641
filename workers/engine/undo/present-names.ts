import type {Db} from '../../../sql/database.ts'
import {listRenamedModules} from '../../../sql/discoveries.ts'

type NamedModule = {connector: string; discovery: string | null; until: string | null}

/**
 * Returns a function that returns the present API name of a module. A module that was renamed in the CRM keeps its id, by which the newest discovery
 * names it. `discovery`: the discovery that has the earlier names. Null: the newest discovery before `until` that has a name.
 */
export const openPresentNames = async (db: Db, {names, ...at}: NamedModule & {names: string[]}): Promise<(name: string) => string> => {
  const renamed = new Map((await listRenamedModules(db, {...at, names})).map(({before, now}) => [before, now]))
  return name => renamed.get(name) ?? name
}
