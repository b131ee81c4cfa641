import {z} from 'zod'
import type {DiscoveredField, DiscoveredModule} from '../crm/discovered.ts'
import {type Namespaces, parseExpression} from '../expressions/parse.ts'
import {type Flow, Flows, findIssues, type Issue} from '../flows/flow.ts'
import {findColumnDrift} from './column-drift.ts'
import {findExpressionIssues} from './expressions.ts'
import {fieldsOf, type KnownField, KnownThen, shapeField} from './known.ts'
import {Slot} from './template.ts'

type DriftKind =
  | ('column_missing' | 'column_new' | 'column_moved')
  | ('module_gone' | 'module_closed' | 'field_gone' | 'field_changed' | 'field_closed' | 'value_gone')
  | ('required_unmapped' | 'match_not_unique' | 'library_gone' | 'expression_refused' | 'flow_refused')

/**
 * One thing that is not as it was when the template was saved. `stops`: rows would be refused, or written otherwise than meant; nothing is to
 * be written before a person has looked. The others are worth knowing. `path`: where in the template's flows.
 */
export type Drift = {
  kind: DriftKind
  slot?: string
  flow?: string
  module?: string
  field?: string
  column?: string
  path?: (string | number)[]
  stops: boolean
  message: string
}

type Drifting = {sources: readonly unknown[]; flows: readonly unknown[]; known?: unknown}
type Seen = {
  /** The columns of the files there are, as they stand in them; a slot left out has those it expects. */
  sources: {slot: string; columns: readonly string[]}[]
  /** Of the connection's newest discovery. Null: nothing is said of modules and fields. */
  modules: Map<string, DiscoveredModule> | null
  /** The org's; left out, nothing is said of them. */
  libraries?: Namespaces
}

/** All that no longer holds of a template, the files first. Empty when a run of it would be what it was when it was saved. */
export const findDrift = (template: Drifting, {sources: files, modules, libraries: found}: Seen): Drift[] => {
  const [slots, flows] = [z.array(Slot).parse(template.sources), Flows.parse(template.flows)]
  const known = KnownThen.parse(template.known ?? {})
  const libraries = found ?? known.libraries
  const columns = slots.flatMap(slot =>
    findColumnDrift(slot, columnsOf(slot, files), {flows, namespaces: {...libraries, ...known.libraries}}),
  )
  const sources = slots.map(slot => ({id: slot.slot, columns: columnsAfter(slot)}))
  const issues = modules ? findIssues(flows, {sources, modules, libraries}) : findExpressionIssues(flows, {sources, libraries})
  return [
    ...columns,
    ...issues.map(found => tell(found, {flows, modules: modules ?? new Map(), known, columns: sources, libraries})),
    ...(modules ? flows.flatMap(flow => fieldDrift(flow, modules, known)) : []),
  ]
}

const columnsOf = ({slot: name}: Slot, files: Seen['sources']) => files.find(({slot}) => slot === name)?.columns

/** What flows can read: the file's own columns, and those that cleaning makes. */
const columnsAfter = ({columns, cleaning}: Slot) => [...columns, ...cleaning.flatMap(step => (step.step === 'split' ? step.into : []))]

const isOfExpression = ({line}: Issue) => line !== undefined

type Place = {
  flows: Flow[]
  modules: Map<string, DiscoveredModule>
  known: KnownThen
  columns: {id: string; columns: string[]}[]
  libraries: Namespaces
}

/** An issue of the flows by what has become of the template's ground. Each of them would stop a run. */
const tell = (found: Issue, place: Place): Drift => {
  const flow = place.flows[found.path[0] as number]!
  const mapping = found.path[1] === 'fields' ? flow.fields[found.path[2] as number] : undefined
  const field = mapping?.field ?? (found.path[1] === 'match' ? flow.match?.by[found.path[3] as number] : undefined)
  const at = {slot: flow.sourceId, flow: flow.id, module: flow.module, ...(field !== undefined && {field})}
  return {kind: kindOf(found, flow, place, field), ...at, path: found.path, stops: true, message: found.message}
}

const kindOf = (found: Issue, flow: Flow, place: Place, name: string | undefined): DriftKind => {
  const [, part, , last] = found.path
  const module = place.modules.get(flow.module)
  if (isOfExpression(found)) return isLibraryGone(found, flow, place) ? 'library_gone' : 'expression_refused'
  if (part === 'module') return module ? 'module_closed' : 'module_gone'
  const field = module?.fields.find(({apiName}) => apiName === name)
  if (name !== undefined && !field) return 'field_gone'
  if (part === 'fields' && name === undefined) return 'required_unmapped'
  if (last === 'field' && field) return isOpen(field) ? 'field_changed' : 'field_closed'
  if (last === 'map' || (last === 'staticValue' && LISTS.has(field!.type))) return 'value_gone'
  if (part === 'parent') return parentKind(flow, module)
  if (found.path[2] === 'field' && flow.subform) return subformKind(flow.subform, place)
  return OF_FIELD.has(last) ? 'field_changed' : 'flow_refused'
}

const LISTS = new Set(['picklist', 'multiselectpicklist'])

/** The parts of a mapping that are good or not by what the field is. */
const OF_FIELD = new Set<unknown>(['mode', 'staticValue', 'searchField', 'format', 'zone', 'picklist'])

const isOpen = ({creatable, readOnly}: DiscoveredField) => creatable && !readOnly

const parentKind = ({parent}: Flow, module: DiscoveredModule | undefined): DriftKind => {
  const field = module?.fields.find(({apiName}) => apiName === parent?.field)
  if (!field) return 'field_gone'
  return isOpen(field) ? 'flow_refused' : 'field_closed'
}

/** The field is one of the parents' module. */
const subformKind = ({field: name, parentFlow}: NonNullable<Flow['subform']>, {flows, modules}: Place): DriftKind => {
  const parents = modules.get(flows.find(({id}) => id === parentFlow)?.module ?? '')
  return parents?.fields.some(({apiName}) => apiName === name) ? 'field_changed' : 'field_gone'
}

/** With the libraries as they were the expression was good. */
const isLibraryGone = ({path}: Issue, flow: Flow, {known, columns, libraries}: Place): boolean => {
  const source = path.slice(1).reduce<unknown>((at, step) => (at as Record<string | number, unknown> | undefined)?.[step], flow)
  const then = {...libraries, ...known.libraries}
  return (
    typeof source === 'string' &&
    parseExpression(source, {namespaces: then, columns: columns.find(({id}) => id === flow.sourceId)!.columns}).ok
  )
}

/** What flows still fit and is not what it was. Fields that are gone are told of already. */
const fieldDrift = (flow: Flow, modules: Map<string, DiscoveredModule>, {modules: known}: KnownThen): Drift[] =>
  fieldsOf(flow).flatMap((name): Drift[] => {
    const [field, then] = [modules.get(flow.module)?.fields.find(({apiName}) => apiName === name), known[flow.module]?.[name]]
    if (!field || !then) return []
    const at = {slot: flow.sourceId, flow: flow.id, module: flow.module, field: name}
    return changesOf(flow, name, then, shapeField(field)).map(change => ({...change, ...at}))
  })

type Change = Pick<Drift, 'kind' | 'stops' | 'message'>

const changesOf = ({module, match}: Flow, name: string, then: KnownField, now: KnownField): Change[] => {
  const field = `${module}.${name}`
  const changed = (stops: boolean, message: string): Change => ({kind: 'field_changed', stops, message})
  const isShorter = now.length !== null && (then.length === null || now.length < then.length)
  return [
    ...(now.type === then.type
      ? []
      : [changed(true, `${field} was of type ${then.type} and is ${now.type} now: look at how it is filled`)]),
    ...(now.type !== then.type || now.lookup === then.lookup
      ? []
      : [changed(true, `${field} linked to ${then.lookup} and links to ${now.lookup} now: look at what is searched for`)]),
    ...(now.type === then.type && isShorter
      ? [changed(false, `${field} takes at most ${now.length} characters now: longer values are refused`)]
      : []),
    ...(match?.by.includes(name) && match.by.length === 1 && then.unique && !now.unique
      ? [
          {
            kind: 'match_not_unique' as const,
            stops: true,
            message: `${field} is not unique any more: rows matched by it may find several records`,
          },
        ]
      : []),
  ]
}
