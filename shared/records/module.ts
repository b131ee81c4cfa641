import type {Pool} from '../../sql/database.ts'
import {findDiscoveredModule} from '../../sql/discoveries.ts'
import {findOwn} from '../crm/choose.ts'
import type {Connection, Crm} from '../crm/crm.ts'
import type {DiscoveredModule} from '../crm/discovered.ts'
import {Refusal} from '../errors.ts'

export type OpenModule = {module: DiscoveredModule; connection: Connection}

/** A module of the org's own connection, as its newest discovery read it, and the way to its records. */
export const openModule = async (
  {db, crm}: {db: Pool; crm: Crm},
  {org, connector: id, module}: {org: string; connector: string; module: string},
): Promise<OpenModule> => {
  const connector = await findOwn(db, {org, id})
  const found = await findDiscoveredModule(db, {connector: connector.id, module})
  if (!found) throw new Refusal('MODULE_NOT_FOUND', 'No such module was discovered on this connection')
  return {module: found, connection: await crm.open(connector.id)}
}
