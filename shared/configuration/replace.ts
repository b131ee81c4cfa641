import {listConnectors} from '../../sql/connectors.ts'
import type {Pool, Tx} from '../../sql/database.ts'
import type {Issue} from './annotation.ts'
import type {Author} from './change.ts'
import type {Registry} from './document.ts'
import {editRegistry, type RegistryEditInput} from './edit.ts'
import {invalid} from './modules.ts'

/** Replaces the whole registry. Its modules and fields need not exist in the CRM. */
export const replaceRegistry = (db: Pool, author: Author, input: RegistryEditInput, registry: Registry) =>
  editRegistry(db, author, input, async (_, tx) => {
    await assertConnections(tx, author.org, registry)
    return {registry, whole: true}
  })

/** Throws unless all connections belong to the org. `at`: the path of the registry in the body. */
export const assertConnections = async (tx: Tx, org: string, {writing, modules}: Registry, at: Issue['path'] = []): Promise<void> => {
  const own = new Set((await listConnectors(tx, org)).map(({id}) => id))
  const message = 'No such connection. GET …/connectors lists the connections'
  const issues: Issue[] = [
    ...Object.keys(writing).flatMap(id => (own.has(id) ? [] : [{code: 'custom', path: [...at, 'writing', id], message}])),
    ...modules.flatMap(({connectorId}, n) =>
      own.has(connectorId) ? [] : [{code: 'custom', path: [...at, 'modules', n, 'connectorId'], message}],
    ),
  ]
  if (issues.length > 0) throw invalid(issues)
}
