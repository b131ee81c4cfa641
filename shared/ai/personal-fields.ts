import {listAcceptedMappings} from '../../sql/accepted-mappings.ts'
import type {Db} from '../../sql/database.ts'
import {findDiscoveredModule} from '../../sql/discoveries.ts'
import type {DiscoveredField} from '../crm/discovered.ts'
import type {Registry} from '../registry/document.ts'
import type {Target} from './targets.ts'

/** `sources`: the columns that usually fill it, by its own default, its module's, and what members of the org took before. */
export type PersonalField = Target & {sources: string[]}

/**
 * Every field of the org that is annotated as personal, whichever modules a question is about: a file's columns may go to any of them. Those the CRM
 * has no more are among them, since files still have their columns.
 */
export const readPersonalFields = async (db: Db, org: string, registry: Registry): Promise<PersonalField[]> => {
  const found: PersonalField[] = []
  for (const {key, connectorId, apiName: module, seedMappings} of registry.modules) {
    const annotated = (registry.fields[key] ?? []).filter(({pii}) => pii === true)
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

/** What is left of a field is its name. */
const gone = (apiName: string): DiscoveredField => ({
  ...{apiName, label: apiName, type: 'text', jsonType: 'string', length: null, decimalPlaces: null, required: false, layoutRequired: false},
  ...{unique: null, creatable: false, updatable: false, readOnly: true, visible: false, picklist: [], lookup: null, subform: null},
})
