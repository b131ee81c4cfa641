import {type ConnectorRow, disconnectConnector, listHonoured, lockConnector} from '../../../sql/connectors.ts'
import type {Pool, Tx} from '../../../sql/database.ts'
import {listExternalRunsOf} from '../../../sql/external-runs.ts'
import {findGrant, takeGrant} from '../../../sql/grants.ts'
import {type Author, recordChanges} from '../../configuration/change.ts'
import {endDisconnected} from '../../runs/external/run.ts'
import {findOwn} from '../choose.ts'
import type {Crm} from '../crm.ts'

type DisconnectDeps = {db: Pool; crm: Crm}

/**
 * Marks a connection as disconnected, deletes its grant, ends its external runs, and revokes the grant at the CRM. A failed revocation does not stop
 * the disconnection, and a repeated call changes nothing. A new consent of the same CRM user connects the connection again.
 */
export const disconnect = async ({db, crm}: DisconnectDeps, author: Author, id: string): Promise<ConnectorRow> => {
  await findOwn(db, {org: author.org, id})
  const {connector, grant} = await db.transaction(tx => end(tx, author, id))
  // Each run ends in a separate transaction, because locks are taken on a run before its connection. The sweep ends the remaining runs.
  for (const run of await listExternalRunsOf(db, id)) await endDisconnected(db, {org: author.org, id: run})
  if (grant && !grant.ended) await crm.revoke(connector, grant.refreshSealed)
  return connector
}

/** Locks the grant before the connection, in the same order as a token refresh. */
const end = async (tx: Tx, author: Author, id: string) => {
  const grant = await takeGrant(tx, id)
  const connector = (await lockConnector(tx, {org: author.org, id}))!
  if (connector.state === 'disconnected') return {connector, grant}
  const change = {subject: 'connection.disconnected', target: connector.name, before: connector.state, after: 'disconnected'}
  await recordChanges(tx, author, [{page: 'connections', ...change, connectorId: id}])
  return {connector: await disconnectConnector(tx, id), grant}
}

/** Call this before the org's connections are deleted. The call is safe to repeat after a crash. */
export const revokeAll = async ({db, crm}: DisconnectDeps, org: string): Promise<void> => {
  for (const connector of await listHonoured(db, org)) {
    const grant = await findGrant(db, connector.id)
    if (!grant || grant.ended) continue
    await crm.revoke(connector, grant.refreshSealed)
    await db.transaction(tx => takeGrant(tx, connector.id))
  }
}
