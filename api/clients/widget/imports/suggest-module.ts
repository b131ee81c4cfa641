import {sampleOf} from '../../sample.ts'
import {type Loaded, useLoad} from '../state/load.ts'
import {client, inOrg, may} from '../state/session.ts'
import type {Module} from './fields.ts'
import type {Imported, Source} from './import.ts'
import {bestModule, findNamed} from './module-fit.ts'

/** The order in which modules are compared with a file. Enabled modules come first, and the API compares at most five. */
const usual = ['Leads', 'Contacts', 'Accounts', 'Deals', 'Products', 'Vendors', 'Cases', 'Campaigns']
const mostCompared = 5
/**
 * Suggests the module that fits a file best, by the file's name, else by the columns. Null if none fits. If the person may not use AI credits,
 * only the name is compared.
 */
export const useSuggestedModule = ({id, connectorId}: Imported, source: Source, modules: Module[]): Loaded<string | null> =>
  useLoad(
    async signal => {
      const open = modules.filter(({kind, creatable, enabled}) => kind !== 'subform' && creatable && enabled !== false)
      const named = findNamed(open, source.label)
      if (named) return named.apiName
      const compared = toCompare(open)
      if (compared.length === 0 || !may('operator', 'money')) return null
      const {columns, rows} = await client.get(inOrg(`/imports/${id}/sources/${source.id}/rows`), {limit: 50}, signal)
      const body = {connectorId, modules: compared, ...sampleOf(columns, rows), useModel: false}
      const {proposals} = await client.post('/ai/auto-map', body)
      return bestModule(compared, proposals)
    },
    [connectorId, source.id, JSON.stringify(source.columns.map(({name}) => name))],
  )

const toCompare = (modules: Module[]): string[] => {
  const rank = ({apiName, enabled}: Module) =>
    (enabled ? 0 : usual.length) + (usual.includes(apiName) ? usual.indexOf(apiName) : usual.length)
  return modules
    .toSorted((one, other) => rank(one) - rank(other))
    .slice(0, mostCompared)
    .map(({apiName}) => apiName)
}
