import type {DiscoveredField, DiscoveredModule} from '../../crm/discovered.ts'
import type {Namespaces} from '../../expressions/parse.ts'
import {isZone} from '../../expressions/zone-offset.ts'
import {dateFormatOf} from './date-format.ts'
import {expressionIssues} from './expression-issues.ts'
import {conversionTypeOf, whyNotWritable} from './field-types.ts'
import type {Mapping} from './flow.ts'
import {findChoice} from './picklist.ts'
import {rulesOf} from './rules.ts'
import {searchOf, USER_FIELDS} from './search.ts'
import {CLEAR, convert, LINKS, USERS} from './value.ts'
import {mapValue, valueMapOf} from './value-map.ts'
import {valueMapIssues} from './value-map-issues.ts'

/** `line` and `column`: the position in the source of an expression, from 1, if the issue is in an expression. */
export type FlowIssue = {path: (string | number)[]; message: string; line?: number; column?: number}
/** `columns`: the columns of the file. Null: the file is unknown, so any column name is accepted. */
export type ValuePlace = {columns: string[] | null; modules: Map<string, DiscoveredModule>; libraries: Namespaces}

export const issue = (path: FlowIssue['path'], message: string): FlowIssue => ({path, message})

export const valueIssues = (mapping: Mapping, field: DiscoveredField, valuePlace: ValuePlace): FlowIssue[] => {
  if (mapping.mode === 'skip') return []
  if (!field.creatable || field.readOnly || COMPUTED.has(field.type)) return [issue(['field'], `${mapping.field} is read only`)]
  const why = whyNotWritable(field)
  if (why) return [issue(['field'], `${mapping.field} is of type ${field.type}, which a column cannot fill: ${why}`)]
  const options = [...formatIssues(mapping, field), ...picklistIssues(mapping, field), ...valueMapIssues(mapping, field)]
  return [...modeIssues(mapping, field, valuePlace), ...options]
}

/**
 * Types of fields that the CRM computes. The CRM ignores a write to them and still reports success. Source:
 * zoho.com/crm/developer/docs/api/v8/field-meta.html.
 */
const COMPUTED = new Set(['formula', 'rollup_summary', 'autonumber'])

export const isFillable = (field: DiscoveredField): boolean =>
  field.creatable && !field.readOnly && !COMPUTED.has(field.type) && whyNotWritable(field) === null

const modeIssues = (mapping: Mapping, field: DiscoveredField, valuePlace: ValuePlace): FlowIssue[] => {
  const {mode, transform} = mapping
  if (mode === 'static') return staticIssues(mapping, field)
  if (mode === 'search')
    return [...sourceIssues(mapping, valuePlace, !mapping.searchExpression), ...searchIssues(mapping, field, valuePlace)]
  const transformed = transform ? expressionIssues(transform, ['transform'], {...valuePlace, hasValue: mapping.source != null}) : []
  if (mode === 'expression')
    return transform
      ? [...sourceIssues(mapping, valuePlace, false), ...transformed]
      : [issue(['transform'], 'An expression mapping needs an expression as its transform')]
  return [...sourceIssues(mapping, valuePlace, true), ...transformed]
}

const staticIssues = ({field: name, staticValue, ...mapping}: Mapping, field: DiscoveredField): FlowIssue[] => {
  if (staticValue == null) return [issue(['staticValue'], 'A static mapping needs a value')]
  const isUserByMail = USERS.has(field.type) && staticValue.includes('@')
  if (staticValue.trim() === '' || staticValue === CLEAR || isUserByMail) return []
  const shape = {...field, type: conversionTypeOf(field)}
  const map = valueMapOf({...mapping, field: name})
  const {value} = map ? mapValue(staticValue, shape, map) : {value: staticValue}
  const converted = convert(String(value), shape, rulesOf({...mapping, field: name}))
  return converted.ok ? [] : [issue(['staticValue'], converted.message)]
}

const sourceIssues = ({mode, source}: Mapping, {columns}: ValuePlace, needed: boolean): FlowIssue[] => {
  if (source == null) return needed ? [issue(['source'], `A ${mode} mapping needs a source column`)] : []
  return columns === null || columns.includes(source) ? [] : [issue(['source'], `The file has no column "${source}"`)]
}

const searchIssues = (mapping: Mapping, field: DiscoveredField, valuePlace: ValuePlace): FlowIssue[] => {
  const {searchExpression, source} = mapping
  const expression = searchExpression
    ? expressionIssues(searchExpression, ['searchExpression'], {...valuePlace, hasValue: source != null})
    : []
  if (!LINKS.has(field.type))
    return [...expression, issue(['mode'], `${field.apiName} is not a lookup field, so it cannot be searched. Use another mode`)]
  return [...expression, ...targetIssues(mapping, field, valuePlace)]
}

const targetIssues = (mapping: Mapping, field: DiscoveredField, {modules}: ValuePlace): FlowIssue[] => {
  if (USERS.has(field.type)) {
    const {searchField, searchMethod, onMany} = mapping
    if (onMany === 'ask') return [issue(['onMany'], 'Questions about users are not supported. Use leave, first or skip')]
    if (searchField && !USER_FIELDS.includes(searchField))
      return [issue(['searchField'], `A user is searched for by ${USER_FIELDS.join(' or ')}`)]
    return searchMethod === 'word' ? [issue(['searchMethod'], 'Users can be searched only with equals')] : []
  }
  const target = field.lookup && modules.get(field.lookup.module)
  if (!target) return [issue(['field'], `The connection's discovery has no module that ${field.apiName} links to`)]
  const {name} = searchOf(mapping, field, modules)!
  if (name === null) return [issue(['searchField'], `${target.apiName} has no naming field. Set the field to search`)]
  const searched = target.fields.find(({apiName}) => apiName === name)
  if (!searched) return [issue(['searchField'], `${target.apiName} has no field ${name}`)]
  return searched.unqueryable || UNSEARCHABLE.has(conversionTypeOf(searched)) || !isSearchable(searched)
    ? [
        issue(
          ['searchField'],
          `${name} is ${searched.unqueryable === 'encrypted' ? 'encrypted' : `of type ${searched.type}`}, which cannot be searched`,
        ),
      ]
    : []
}

const UNSEARCHABLE = new Set(['textarea', 'richtext', 'richtextarea', 'multiselectpicklist', 'boolean', 'tag'])
const isSearchable = (field: DiscoveredField) => COMPUTED.has(field.type) || whyNotWritable(field) === null

const formatIssues = ({format, zone}: Mapping, {apiName, type}: DiscoveredField): FlowIssue[] => {
  const isDate = type === 'date' || type === 'datetime'
  const wrong = format != null && (isDate ? dateFormatOf(format) : `${apiName} is not a date`)
  const wrongZone =
    zone != null && (type === 'datetime' ? !isZone(zone) && `The time zone ${zone} is unknown` : `${apiName} has no time of day`)
  return [
    ...(typeof wrong === 'string' ? [issue(['format'], wrong)] : []),
    ...(typeof wrongZone === 'string' ? [issue(['zone'], wrongZone)] : []),
  ]
}

const picklistIssues = ({picklist, map}: Mapping, field: DiscoveredField): FlowIssue[] => {
  if (picklist == null) return map == null ? [] : [issue(['map'], 'A map is used only if picklist is "map"')]
  if (field.type !== 'picklist' && field.type !== 'multiselectpicklist') return [issue(['picklist'], `${field.apiName} has no picklist`)]
  if (picklist !== 'map') return []
  if (map == null) return [issue(['map'], 'Set the picklist values of the words')]
  const strangers = Object.entries(map).filter(([, value]) => findChoice(value, field) === undefined)
  return strangers.map(([word]) => issue(['map', word], `${field.apiName} does not list the value for this word`))
}
