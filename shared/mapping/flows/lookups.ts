import {z} from 'zod'
import type {DiscoveredModule} from '../../crm/discovered.ts'
import type {Flow} from './flow.ts'
import type {Lineage} from './lineage.ts'
import {searchOf} from './search.ts'

/**
 * `module`: null for the CRM's users. `ownModule`: the number of the searched module, if the run searches its own records before it queries the CRM.
 * The run does so for an `equals` search if a flow of the run writes the module and matches only by the searched field.
 */
export const SnapshotLookup = z.object({
  no: z.number(),
  module: z.string().nullable(),
  ownModule: z.number().nullable(),
  field: z.object({apiName: z.string(), type: z.string()}),
  method: z.enum(['equals', 'word']),
})
export type SnapshotLookup = z.infer<typeof SnapshotLookup>

type KnownModules = {modules: ReadonlyMap<string, DiscoveredModule>; lineage: Pick<Lineage, 'modules'>}

/**
 * Returns the lookups of a run and, per flow, the lookup of each field. Equal searches share one lookup, so each value is looked up once. If a flow
 * between two equal searches writes the searched module, they get separate lookups, because their results may differ.
 */
export const compileLookups = (flows: Flow[], {modules, lineage}: KnownModules) => {
  const lookups = new Map<string, SnapshotLookup>()
  const searches = flows.map((flow, at) => {
    const found: Record<string, number> = {}
    for (const mapping of flow.fields) {
      const field = modules.get(flow.module)!.fields.find(({apiName}) => apiName === mapping.field)
      const search = field && searchOf(mapping, field, modules)
      if (!search || search.name === null) continue
      const {module, name, type, method} = search
      const earlier = mapping.patch ? flows : flows.slice(0, at)
      const key = JSON.stringify([module, name, method, earlier.filter(one => one.module === module).length])
      const isOwn = flows.some(({module: written, match}) => written === module && match?.by.length === 1 && match.by[0] === name)
      const ownModule = isOwn && method === 'equals' ? lineage.modules.indexOf(module!) + 1 : null
      const lookup = lookups.get(key) ?? {no: lookups.size + 1, module, ownModule, field: {apiName: name, type}, method}
      lookups.set(key, lookup)
      found[mapping.field] = lookup.no
    }
    return found
  })
  return {lookups: [...lookups.values()], searches}
}
