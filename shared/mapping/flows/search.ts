import type {DiscoveredField, DiscoveredModule} from '../../crm/discovered.ts'
import type {Mapping} from './flow.ts'
import {USERS} from './value.ts'

export const USER_FIELDS = ['email', 'full_name']

/** `module`: null for the CRM's users. `name`: the searched field; null if no field is stated and the module has no naming field. */
type Search = {module: string | null; name: string | null; type: string; method: 'equals' | 'word'}

/**
 * Returns null if the mapping makes no search. User fields are searched in every mode except `skip`, because their value may be an e-mail address.
 */
export const searchOf = (
  {mode, searchField, searchMethod}: Mapping,
  field: Pick<DiscoveredField, 'type' | 'lookup'>,
  modules: ReadonlyMap<string, DiscoveredModule>,
): Search | null => {
  const isSearch = mode === 'search'
  if (mode === 'skip') return null
  if (USERS.has(field.type)) {
    const name = (isSearch && searchField) || 'email'
    return {module: null, name, type: name === 'email' ? 'email' : 'text', method: 'equals'}
  }
  const target = isSearch && field.lookup ? modules.get(field.lookup.module) : undefined
  if (!target) return null
  const name = searchField ?? target.namingField
  const type = target.fields.find(({apiName}) => apiName === name)?.type ?? 'text'
  return {module: target.apiName, name, type, method: searchMethod ?? 'equals'}
}
