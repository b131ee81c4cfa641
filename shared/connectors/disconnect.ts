import {type ConnectorRow, disconnectConnector, listHonoured, lockConnector} from '../../sql/connectors.ts'
import type {Pool, Tx} from '../../sql/database.ts'
import {findGrant, takeGrant} from '../../sql/grants.ts'
import {listOutsideOn} from '../../sql/outside-runs.ts'
import {findOwn} from '../crm/choose.ts'
import type {Crm} from '../crm/crm.ts'
import {type Author, recordChanges} from '../registry/change.ts'
import {endDisconnected} from '../runs/outside.ts'

type Tools = {db: Pool; crm: Crm}

/**
 * Ends a connection here, and then at the CRM, which may fail: what was granted is forgotten here in any case. Runs under way on it end.
 * A second time changes nothing. Consenting as the same CRM user connects it once more.
 */
export const disconnect = async ({db, crm}: Tools, author: Author, id: string): Promise<ConnectorRow> => {
  await findOwn(db, {org: author.org, id})
  const {connector, grant} = await db.transaction(tx => end(tx, author, id))
  // Each in a transaction of its own: a run is locked before its connection. The sweep ends what is left.
  for (const run of await listOutsideOn(db, id)) await endDisconnected(db, {org: author.org, id: run})
  if (grant && !grant.ended) await crm.revoke(connector, grant.refreshSealed)
  return connector
}

/** The grant before the connection, as whoever renews it has them. */
const end = async (tx: Tx, author: Author, id: string) => {
  const grant = await takeGrant(tx, id)
  const connector = (await lockConnector(tx, {org: author.org, id}))!
  if (connector.state === 'disconnected') return {connector, grant}
  const change = {subject: 'connection.disconnected', target: connector.name, before: connector.state, after: 'disconnected'}
  await recordChanges(tx, author, [{page: 'connections', ...change, connectorId: id}])
  return {connector: await disconnectConnector(tx, id), grant}
}

/** Gives up all an org was granted, before its connections are deleted. An attempt that broke off is begun again. */
export const revokeAll = async ({db, crm}: Tools, org: string): Promise<void> => {
  for (const connector of await listHonoured(db, org)) {
    const grant = await findGrant(db, connector.id)
    if (!grant || grant.ended) continue
    await crm.revoke(connector, grant.refreshSealed)
    await db.transaction(tx => takeGrant(tx, connector.id))
  }
}
