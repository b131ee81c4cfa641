import type {DiscoveredField, DiscoveredModule} from '../crm/discovered.ts'
import type {Namespaces} from '../expressions/parse.ts'
import {isZone} from '../expressions/zone-offset.ts'
import {dateFormatOf} from './date-format.ts'
import {expressionIssues} from './expression-issues.ts'
import type {Mapping} from './flow.ts'
import {findChoice} from './picklist.ts'
import {rulesOf} from './rules.ts'
import {searchOf, USER_FIELDS} from './search.ts'
import {CLEAR, convert, isWritable, LINKS, USERS} from './value.ts'

/** Line and column, from 1, where the place is one in an expression's own source. */
export type Issue = {path: (string | number)[]; message: string; line?: number; column?: number}
export type Place = {columns: string[]; modules: Map<string, DiscoveredModule>; libraries: Namespaces}

export const issue = (path: Issue['path'], message: string): Issue => ({path, message})

/** What is wrong with how one field is filled. */
export const valueIssues = (mapping: Mapping, field: DiscoveredField, place: Place): Issue[] => {
  if (mapping.mode === 'skip') return []
  if (!field.creatable || field.readOnly || COMPUTED.has(field.type)) return [issue(['field'], `${mapping.field} is read only`)]
  if (!isWritable(field)) return [issue(['field'], `${mapping.field} is of type ${field.type}, which a column cannot fill`)]
  return [...modeIssues(mapping, field, place), ...formatIssues(mapping, field), ...picklistIssues(mapping, field)]
}

/** The CRM computes these; a write is ignored and still answered as done. Source: wire reference 4.3. */
const COMPUTED = new Set(['formula', 'rollup_summary', 'autonumber'])

/** Whether a column can fill it at all. */
export const isFillable = (field: DiscoveredField): boolean =>
  field.creatable && !field.readOnly && !COMPUTED.has(field.type) && isWritable(field)

const modeIssues = (mapping: Mapping, field: DiscoveredField, place: Place): Issue[] => {
  const {mode, transform} = mapping
  if (mode === 'static') return staticIssues(mapping, field)
  if (mode === 'search') return [...sourceIssues(mapping, place, !mapping.searchExpression), ...searchIssues(mapping, field, place)]
  const transformed = transform ? expressionIssues(transform, ['transform'], {...place, hasValue: mapping.source != null}) : []
  if (mode === 'expression')
    return transform
      ? [...sourceIssues(mapping, place, false), ...transformed]
      : [issue(['transform'], 'An expression mapping needs an expression as its transform')]
  return [...sourceIssues(mapping, place, true), ...transformed]
}

const staticIssues = ({field: name, staticValue, ...mapping}: Mapping, field: DiscoveredField): Issue[] => {
  if (staticValue == null) return [issue(['staticValue'], 'A static mapping needs a value')]
  const isUserByMail = USERS.has(field.type) && staticValue.includes('@')
  if (staticValue.trim() === '' || staticValue === CLEAR || isUserByMail) return []
  const converted = convert(staticValue, field, rulesOf({...mapping, field: name}))
  return converted.ok ? [] : [issue(['staticValue'], converted.message)]
}

const sourceIssues = ({mode, source}: Mapping, {columns}: Place, needed: boolean): Issue[] => {
  if (source == null) return needed ? [issue(['source'], `A ${mode} mapping needs a source column`)] : []
  return columns.includes(source) ? [] : [issue(['source'], `The file has no column "${source}"`)]
}

const searchIssues = (mapping: Mapping, field: DiscoveredField, place: Place): Issue[] => {
  const {searchExpression, source} = mapping
  const expression = searchExpression ? expressionIssues(searchExpression, ['searchExpression'], {...place, hasValue: source != null}) : []
  if (!LINKS.has(field.type))
    return [...expression, issue(['mode'], `${field.apiName} is no link to another record: it cannot be searched for`)]
  return [...expression, ...targetIssues(mapping, field, place)]
}

const targetIssues = (mapping: Mapping, field: DiscoveredField, {modules}: Place): Issue[] => {
  if (USERS.has(field.type)) {
    const {searchField, searchMethod, onMany} = mapping
    if (onMany === 'ask') return [issue(['onMany'], 'Nobody is asked which user is meant: leave, first or skip')]
    if (searchField && !USER_FIELDS.includes(searchField))
      return [issue(['searchField'], `A user is searched for by ${USER_FIELDS.join(' or ')}`)]
    return searchMethod === 'word' ? [issue(['searchMethod'], 'Users are searched for by equals alone')] : []
  }
  const target = field.lookup && modules.get(field.lookup.module)
  if (!target) return [issue(['field'], `The connection's discovery has no module that ${field.apiName} links to`)]
  const {name} = searchOf(mapping, field, modules)!
  if (name === null) return [issue(['searchField'], `${target.apiName} has no naming field: say which field is searched`)]
  const searched = target.fields.find(({apiName}) => apiName === name)
  if (!searched) return [issue(['searchField'], `${target.apiName} has no field ${name}`)]
  return UNSEARCHABLE.has(searched.type) || !isSearchable(searched)
    ? [issue(['searchField'], `${name} is of type ${searched.type}, which cannot be searched`)]
    : []
}

const UNSEARCHABLE = new Set(['textarea', 'richtext', 'richtextarea', 'multiselectpicklist', 'boolean'])
const isSearchable = (field: DiscoveredField) => COMPUTED.has(field.type) || isWritable(field)

const formatIssues = ({format, zone}: Mapping, {apiName, type}: DiscoveredField): Issue[] => {
  const isDate = type === 'date' || type === 'datetime'
  const wrong = format != null && (isDate ? dateFormatOf(format) : `${apiName} is no date`)
  const wrongZone = zone != null && (type === 'datetime' ? !isZone(zone) && `There is no zone ${zone}` : `${apiName} has no time of day`)
  return [
    ...(typeof wrong === 'string' ? [issue(['format'], wrong)] : []),
    ...(typeof wrongZone === 'string' ? [issue(['zone'], wrongZone)] : []),
  ]
}

const picklistIssues = ({picklist, map}: Mapping, field: DiscoveredField): Issue[] => {
  if (picklist == null) return map == null ? [] : [issue(['map'], 'A map is read where picklist is "map"')]
  if (field.type !== 'picklist' && field.type !== 'multiselectpicklist') return [issue(['picklist'], `${field.apiName} has no picklist`)]
  if (picklist !== 'map') return []
  if (map == null) return [issue(['map'], 'Say which values the words stand for')]
  const strangers = Object.entries(map).filter(([, value]) => findChoice(value, field) === undefined)
  return strangers.map(([word]) => issue(['map', word], `${field.apiName} does not list the value this word stands for`))
}
