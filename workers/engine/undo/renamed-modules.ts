import type {Db} from '../../../sql/database.ts'
import {listRenamedModules} from '../../../sql/discoveries.ts'

type DiscoveryRef = {connector: string; discovery: string | null; until: string | null}

/**
 * Returns a function that maps an earlier API name of a module to its present one. The newest discovery gives the present name, by the module's id.
 * `discovery`: the discovery with the earlier names. If null, the newest discovery before `until` that
 * contains a name gives its module.
 */
export const loadPresentNames = async (db: Db, {names, ...at}: DiscoveryRef & {names: string[]}): Promise<(name: string) => string> => {
  const renamed = new Map((await listRenamedModules(db, {...at, names})).map(({before, now}) => [before, now]))
  return name => renamed.get(name) ?? name
}
