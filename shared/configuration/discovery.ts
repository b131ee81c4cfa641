import {isDeepStrictEqual} from 'node:util'
import type {Tx} from '../../sql/database.ts'
import {deleteRemovedFields, insertRemovedFields, listRemovedFields} from '../../sql/discovered.ts'
import type {DiscoveredModule} from '../crm/discovered.ts'
import {raiseVersion} from './version.ts'

type Modules = readonly DiscoveredModule[]
/** The modules of a connection before and after a discovery. `before` is empty for the first discovery. */
type DiscoveredChange = {org: string; connector: string; before: Modules; now: Modules}

/**
 * Applies a new discovery to the configuration, in the transaction that stores it. Missing fields are stored as removed; fields that reappear
 * are restored. The version increases if anything differs. The org's annotations stay unchanged.
 */
export const applyDiscovery = async (tx: Tx, {org, connector, before, now}: DiscoveredChange): Promise<void> => {
  if (isDeepStrictEqual(byName(before), byName(now))) return
  const present = new Set(fieldsOf(now).map(nameOf))
  const gone = fieldsOf(before).filter(one => !present.has(nameOf(one)))
  const back = (await listRemovedFields(tx, {connector})).filter(one => present.has(nameOf(one)))
  const names = back.map(({module, field: {apiName}}) => ({module, apiName}))
  if (gone.length > 0) await insertRemovedFields(tx, connector, gone)
  if (names.length > 0) await deleteRemovedFields(tx, connector, names)
  await raiseVersion(tx, org)
}

const byName = (modules: Modules) => Object.fromEntries(modules.map(module => [module.apiName, module]))

const fieldsOf = (modules: Modules) => modules.flatMap(({apiName: module, fields}) => fields.map(field => ({module, field})))

const nameOf = ({module, field}: {module: string; field: {apiName: string}}) => `${module} ${field.apiName}`
