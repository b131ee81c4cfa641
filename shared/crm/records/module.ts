import type {Db, Pool} from '../../../sql/database.ts'
import {findDiscoveredModule} from '../../../sql/discoveries.ts'
import {Refusal} from '../../errors.ts'
import {findOwn} from '../choose.ts'
import type {Connection, Crm} from '../crm.ts'
import type {DiscoveredModule} from '../discovered.ts'

export type OpenModule = {module: DiscoveredModule; connection: Connection}

type OpenModuleInput = {org: string; connector: string; module: string}

/** `module` is from the newest discovery. */
export const openModule = async ({db, crm}: {db: Pool; crm: Crm}, input: OpenModuleInput): Promise<OpenModule> => ({
  module: await findModule(db, input),
  connection: await crm.open(input.connector),
})

/** Reads the newest discovery. Sends no CRM call. */
export const findModule = async (db: Db, {org, connector: id, module}: OpenModuleInput): Promise<DiscoveredModule> => {
  const connector = await findOwn(db, {org, id})
  const found = await findDiscoveredModule(db, {connector: connector.id, module})
  if (!found) throw new Refusal('MODULE_NOT_FOUND', 'This connection has no such module. Check the name, or refresh the modules')
  return found
}
