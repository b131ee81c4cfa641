import type {Db, Pool} from '../../sql/database.ts'
import {findDiscoveredModule} from '../../sql/discoveries.ts'
import {findOwn} from '../crm/choose.ts'
import type {Connection, Crm} from '../crm/crm.ts'
import type {DiscoveredModule} from '../crm/discovered.ts'
import {Refusal} from '../errors.ts'

export type OpenModule = {module: DiscoveredModule; connection: Connection}

type Named = {org: string; connector: string; module: string}

/** A module of the org's own connection, as its newest discovery read it, and the way to its records. */
export const openModule = async ({db, crm}: {db: Pool; crm: Crm}, named: Named): Promise<OpenModule> => ({
  module: await findModule(db, named),
  connection: await crm.open(named.connector),
})

/** The same without the way: nothing is asked of the CRM. */
export const findModule = async (db: Db, {org, connector: id, module}: Named): Promise<DiscoveredModule> => {
  const connector = await findOwn(db, {org, id})
  const found = await findDiscoveredModule(db, {connector: connector.id, module})
  if (!found) throw new Refusal('MODULE_NOT_FOUND', 'No such module was discovered on this connection')
  return found
}
