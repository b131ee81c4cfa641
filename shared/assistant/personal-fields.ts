import {listAcceptedMappings} from '../../sql/accepted-mappings.ts'
import type {Db} from '../../sql/database.ts'
import {findDiscoveredModule} from '../../sql/discoveries.ts'
import {annotationsOf} from '../configuration/diff.ts'
import type {Registry} from '../configuration/document.ts'
import type {DiscoveredField} from '../crm/discovered.ts'
import type {MappingTarget} from './targets.ts'

/**
 * A field annotated as personal. `sources` has the names of columns that usually fill the field, from its default mapping, its module's seed mappings
 * and accepted mappings.
 */
export type PersonalField = MappingTarget & {sources: string[]}

/**
 * Lists every field of the org that is annotated as personal, in all modules, because a file's columns may be mapped to any of them. Fields that the
 * CRM no longer has are included, because files may still have columns for them.
 */
export const readPersonalFields = async (db: Db, org: string, registry: Registry): Promise<PersonalField[]> => {
  const found: PersonalField[] = []
  for (const {key, connectorId, apiName: module, seedMappings} of registry.modules) {
    const annotated = annotationsOf(registry, key).filter(({pii}) => pii === true)
    if (annotated.length === 0) continue
    const discovered = await findDiscoveredModule(db, {connector: connectorId, module})
    const taken = await listAcceptedMappings(db, {org, connector: connectorId, module})
    for (const annotation of annotated) {
      const {apiName, defaultMapping} = annotation
      const field = discovered?.fields.find(one => one.apiName === apiName) ?? gone(apiName)
      const seeds = seedMappings.filter(one => one.field === apiName).map(({source}) => source)
      const before = taken.filter(one => one.field === apiName).map(({column}) => column)
      const sources = [defaultMapping?.source, ...seeds, ...before].filter(source => typeof source === 'string')
      found.push({module, connectorId, field, annotation, sources})
    }
  }
  return found
}

/** Returns placeholder metadata for a field that the CRM no longer has. */
const gone = (apiName: string): DiscoveredField => ({
  apiName,
  label: apiName,
  type: 'text',
  jsonType: 'string',
  length: null,
  decimalPlaces: null,
  required: false,
  layoutRequired: false,
  unique: null,
  creatable: false,
  updatable: false,
  readOnly: true,
  visible: false,
  picklist: [],
  lookup: null,
  subform: null,
})
