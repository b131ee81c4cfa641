import type {DiscoveredField} from '../../crm/discovered.ts'
import {conversionTypeOf} from './field-types.ts'
import type {Mapping} from './flow.ts'
import {rulesOf} from './rules.ts'
import {CLEAR, convert, LINKS, LISTS, USERS} from './value.ts'
import type {FlowIssue} from './value-issues.ts'

/** Values to search for are not checked, because only the CRM knows which records exist. */
export const valueMapIssues = (mapping: Mapping, field: DiscoveredField): FlowIssue[] => {
  const {mode, values, otherwise, map} = mapping
  if (values == null) return otherwise == null ? [] : [{path: ['otherwise'], message: 'otherwise needs values. Set the entries of the map'}]
  if (mode === 'static') return [{path: ['values'], message: 'A fixed value needs no value map. Change the fixed value'}]
  if (map != null) return [{path: ['values'], message: 'Use values or map, not both'}]
  // Composed and decomposed forms of a text are not compared, because stored flows may have an entry for each.
  const words = values.map(({from}) => from.trim().toLowerCase())
  const first = new Map(words.map((word, at) => [word, at] as const).reverse())
  return values.flatMap(({from, to}, at): FlowIssue[] => {
    if (from.trim() === CLEAR)
      return [{path: ['values', at, 'from'], message: `The cell ${CLEAR} always clears the field. Remove this entry`}]
    if (first.get(words[at]!) !== at) return [{path: ['values', at, 'from'], message: 'Another entry has this value'}]
    const why = whyNotTaken(to, mapping, field)
    return why === null ? [] : [{path: ['values', at, 'to'], message: why}]
  })
}

const whyNotTaken = (to: string, mapping: Mapping, field: DiscoveredField): string | null => {
  const shape = {...field, type: conversionTypeOf(field)}
  const isClear = to === CLEAR
  if (isClear && LISTS.has(shape.type)) return `${CLEAR} clears the whole field. Leave the value empty to drop one of several values`
  const isSearched = mapping.mode === 'search' || (USERS.has(shape.type) && to.includes('@'))
  if (isClear || to.trim() === '' || isSearched) return null
  const converted = convert(to, shape, rulesOf(mapping))
  if (converted.ok) return null
  return LINKS.has(shape.type) ? `${converted.message}. To find a record by this value, use the mode search` : converted.message
}
