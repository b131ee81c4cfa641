import {isDeepStrictEqual} from 'node:util'
import type {Tx} from '../../sql/database.ts'
import {deleteRemovedFields, insertRemovedFields, listRemovedFields} from '../../sql/discovered.ts'
import type {DiscoveredModule} from '../crm/discovered.ts'
import {raiseVersion} from './version.ts'

type Modules = readonly DiscoveredModule[]
/** A connection's modules as they were before, none for its first discovery, and as they are now. */
type Found = {org: string; connector: string; before: Modules; now: Modules}

/**
 * What a new discovery means to the configuration, in the transaction that keeps it: fields that went are kept as removed, fields that came
 * back are not removed any more, and the version moves where anything is otherwise. Annotations are the org's and stay as they are.
 */
export const takeDiscovery = async (tx: Tx, {org, connector, before, now}: Found): Promise<void> => {
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
