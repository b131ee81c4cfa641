import {type ConnectorRow, lockConnector, setConnectorName} from '../../../sql/connectors.ts'
import type {Pool} from '../../../sql/database.ts'
import {type Author, recordChanges} from '../../configuration/change.ts'
import {Refusal} from '../../errors.ts'

export const renameConnector = (db: Pool, author: Author, {id, name}: {id: string; name: string}): Promise<ConnectorRow> =>
  db.transaction(async tx => {
    const connector = await lockConnector(tx, {org: author.org, id})
    if (!connector) throw new Refusal('NOT_FOUND', 'No such connection')
    if (connector.name === name) return connector
    const change = {subject: 'connection.name', target: name, before: connector.name, after: name}
    await recordChanges(tx, author, [{page: 'connections', ...change, connectorId: id}])
    return setConnectorName(tx, {id, name})
  })
