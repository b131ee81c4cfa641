import {listConnectors} from '../../sql/connectors.ts'
import type {Pool, Tx} from '../../sql/database.ts'
import type {Issue} from './annotation.ts'
import type {Author} from './change.ts'
import type {Registry} from './document.ts'
import {type Asked, editRegistry} from './edit.ts'
import {invalid} from './modules.ts'

/** The whole registry at once. What it says of modules and fields need not be in the CRM yet, or any more. */
export const replaceRegistry = (db: Pool, author: Author, asked: Asked, registry: Registry) =>
  editRegistry(db, author, asked, async (_, tx) => {
    await assertConnections(tx, author.org, registry)
    return {registry, whole: true}
  })

/** Its connections are the org's own. `at`: where in the body the registry stands. */
export const assertConnections = async (tx: Tx, org: string, {writing, modules}: Registry, at: Issue['path'] = []): Promise<void> => {
  const own = new Set((await listConnectors(tx, org)).map(({id}) => id))
  const message = 'No such connection: GET …/connectors lists them'
  const issues: Issue[] = [
    ...Object.keys(writing).flatMap(id => (own.has(id) ? [] : [{code: 'custom', path: [...at, 'writing', id], message}])),
    ...modules.flatMap(({connectorId}, n) =>
      own.has(connectorId) ? [] : [{code: 'custom', path: [...at, 'modules', n, 'connectorId'], message}],
    ),
  ]
  if (issues.length > 0) throw invalid(issues)
}
