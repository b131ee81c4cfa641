import type {DiscoveredField, DiscoveredModule} from '../crm/discovered.ts'
import type {Mapping} from './flow.ts'
import {USERS} from './value.ts'

/** What users are searched by. */
export const USER_FIELDS = ['email', 'full_name']

/** What a mapping looks for: the module, null for the CRM's users; the field, null where the module has none to be called by. */
type Search = {module: string | null; name: string | null; type: string; method: 'equals' | 'word'}

/**
 * The search a mapping makes; null for one that makes none. A user that another mode names may be an e-mail address, so it is a search as
 * well.
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
