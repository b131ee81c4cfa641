import type {Pool, Tx} from '../../sql/database.ts'
import {listNewestFields} from '../../sql/discovered.ts'
import {findRegistryVersion, findRevision, readAtOnce} from '../../sql/registry.ts'
import {listLibraries} from '../expressions/libraries/list.ts'
import {annotationsOf} from './diff.ts'
import type {Registry} from './document.ts'
import {loadRegistry} from './store.ts'
import {tagOfRevision} from './version.ts'

export const readRegistry = (db: Pool, org: string): Promise<NumberedRegistry> => readAtOnce(db, tx => loadNumbered(tx, org))

/**
 * Returns everything that a client needs to prepare an import: the registry, the fields of every connection's modules with their annotations,
 * and the libraries.
 */
export const resolve = (db: Pool, org: string) =>
  readAtOnce(db, async tx => {
    const registry = await loadNumbered(tx, org)
    const tag = tagOfRevision(await findRevision(tx, org))
    const fields: Record<string, Record<string, object[]>> = {}
    for (const {connectorId, module} of await listNewestFields(tx, org)) {
      const curated = registry.modules.find(one => one.connectorId === connectorId && one.apiName === module.apiName)
      const annotations = new Map(annotationsOf(registry, curated?.key ?? '').map(one => [one.apiName, one]))
      const described = module.fields.map(field => ({...field, annotation: annotations.get(field.apiName) ?? null}))
      fields[connectorId] ??= {}
      fields[connectorId][module.apiName] = described
    }
    return {tag, resolved: {registryVersion: registry.version, registry, fields, libraries: await listLibraries(tx, org)}}
  })

type NumberedRegistry = Registry & {version: number}

const loadNumbered = async (tx: Tx, org: string): Promise<NumberedRegistry> => {
  const version = await findRegistryVersion(tx, org)
  return {...(await loadRegistry(tx, org)), version}
}
