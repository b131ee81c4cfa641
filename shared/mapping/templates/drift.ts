import {z} from 'zod'
import type {Settings} from '../../configuration/settings.ts'
import type {DiscoveredField, DiscoveredModule} from '../../crm/discovered.ts'
import {type Namespaces, parseExpression} from '../../expressions/parse.ts'
import {type Flow, Flows, findIssues, type Issue} from '../flows/flow.ts'
import {findColumnDrift} from './column-drift.ts'
import {findExpressionIssues} from './expressions.ts'
import {TemplateSlot} from './template.ts'
import {fieldsOf, KnownAtSave, shapeField, type TemplateField} from './template-fields.ts'

type DriftKind =
  | ('column_missing' | 'column_new' | 'column_moved')
  | ('module_gone' | 'module_closed' | 'field_gone' | 'field_changed' | 'field_closed' | 'value_gone')
  | ('required_unmapped' | 'match_not_unique' | 'library_gone' | 'expression_refused' | 'flow_refused')

/**
 * A difference from the state when the template was saved. `stops`: rows would be refused or written differently than intended, so a user must decide
 * before a run. `path`: the position in the template's flows.
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

type DriftInput = {sources: readonly unknown[]; flows: readonly unknown[]; known?: unknown}
type SeenModules = {
  /** The columns of the files, in file order. Slots that are not listed are not compared. */
  sources: {slot: string; columns: readonly string[]}[]
  /** Modules of the connection's newest discovery. Null: modules and fields are not checked. */
  modules: Map<string, DiscoveredModule> | null
  /** The org's libraries. Default: the libraries stored with the template. */
  libraries?: Namespaces
  /** The settings of the org, with which its runs read dates. */
  settings?: Pick<Settings, 'timezone'>
}

/** Order: differences of columns, then of flows, then of fields. */
export const findDrift = (template: DriftInput, {sources: files, modules, libraries: issue, settings}: SeenModules): Drift[] => {
  const [slots, flows] = [z.array(TemplateSlot).parse(template.sources), Flows.parse(template.flows)]
  const known = KnownAtSave.parse(template.known ?? {})
  const libraries = issue ?? known.libraries
  const columns = slots.flatMap(slot =>
    findColumnDrift(slot, columnsOf(slot, files), {flows, namespaces: {...libraries, ...known.libraries}}),
  )
  const sources = slots.map(slot => ({id: slot.slot, columns: columnsAfter(slot)}))
  const issues = modules ? findIssues(flows, {sources, modules, libraries, settings}) : findExpressionIssues(flows, {sources, libraries})
  return [
    ...columns,
    ...issues.map(issue => describeDrift(issue, {flows, modules: modules ?? new Map(), known, columns: sources, libraries})),
    ...(modules ? flows.flatMap(flow => fieldDrift(flow, modules, known)) : []),
  ]
}

const columnsOf = ({slot: name}: TemplateSlot, files: SeenModules['sources']) => files.find(({slot}) => slot === name)?.columns

const columnsAfter = ({columns, cleaning}: TemplateSlot) => [
  ...columns,
  ...cleaning.flatMap(step => (step.step === 'split' ? step.into : [])),
]

const isOfExpression = ({line}: Issue) => line !== undefined

type DriftPlace = {
  flows: Flow[]
  modules: Map<string, DiscoveredModule>
  known: KnownAtSave
  columns: {id: string; columns: string[]}[]
  libraries: Namespaces
}

const describeDrift = (issue: Issue, driftPlace: DriftPlace): Drift => {
  const flow = driftPlace.flows[issue.path[0] as number]!
  const mapping = issue.path[1] === 'fields' ? flow.fields[issue.path[2] as number] : undefined
  const field = mapping?.field ?? (issue.path[1] === 'match' ? flow.match?.by[issue.path[3] as number] : undefined)
  const at = {slot: flow.sourceId, flow: flow.id, module: flow.module, ...(field !== undefined && {field})}
  return {kind: kindOf(issue, flow, driftPlace, field), ...at, path: issue.path, stops: true, message: issue.message}
}

const kindOf = (issue: Issue, flow: Flow, driftPlace: DriftPlace, name: string | undefined): DriftKind => {
  const [, part, , last] = issue.path
  const module = driftPlace.modules.get(flow.module)
  if (isOfExpression(issue)) return isLibraryGone(issue, flow, driftPlace) ? 'library_gone' : 'expression_refused'
  if (part === 'module') return module ? 'module_closed' : 'module_gone'
  const field = module?.fields.find(({apiName}) => apiName === name)
  if (name !== undefined && !field) return 'field_gone'
  if (part === 'fields' && name === undefined) return 'required_unmapped'
  if (last === 'field' && field) return isOpen(field) ? 'field_changed' : 'field_closed'
  if (last === 'map' || ((last === 'staticValue' || last === 'values') && LISTS.has(field!.type))) return 'value_gone'
  if (part === 'parent') return parentKind(flow, module)
  if (issue.path[2] === 'field' && flow.subform) return subformKind(flow.subform, driftPlace)
  return OF_FIELD.has(last) ? 'field_changed' : 'flow_refused'
}

const LISTS = new Set(['picklist', 'multiselectpicklist'])

/** Parts of a mapping that may become invalid when the field changes. */
const OF_FIELD = new Set<unknown>(['mode', 'staticValue', 'searchField', 'format', 'zone', 'picklist', 'values'])

const isOpen = ({creatable, readOnly}: DiscoveredField) => creatable && !readOnly

const parentKind = ({parent}: Flow, module: DiscoveredModule | undefined): DriftKind => {
  const field = module?.fields.find(({apiName}) => apiName === parent?.field)
  if (!field) return 'field_gone'
  return isOpen(field) ? 'flow_refused' : 'field_closed'
}

/** The field of a subform belongs to the module of the parent flow. */
const subformKind = ({field: name, parentFlow}: NonNullable<Flow['subform']>, {flows, modules}: DriftPlace): DriftKind => {
  const parents = modules.get(flows.find(({id}) => id === parentFlow)?.module ?? '')
  return parents?.fields.some(({apiName}) => apiName === name) ? 'field_changed' : 'field_gone'
}

/** Whether the expression was valid with the libraries that existed when the template was saved. */
const isLibraryGone = ({path}: Issue, flow: Flow, {known, columns, libraries}: DriftPlace): boolean => {
  const source = path.slice(1).reduce<unknown>((at, step) => (at as Record<string | number, unknown> | undefined)?.[step], flow)
  const then = {...libraries, ...known.libraries}
  return (
    typeof source === 'string' &&
    parseExpression(source, {namespaces: then, columns: columns.find(({id}) => id === flow.sourceId)!.columns}).ok
  )
}

/** Lists changes of fields that still exist. `findIssues` reports removed fields. */
const fieldDrift = (flow: Flow, modules: Map<string, DiscoveredModule>, {modules: known}: KnownAtSave): Drift[] =>
  fieldsOf(flow).flatMap((name): Drift[] => {
    const [field, then] = [modules.get(flow.module)?.fields.find(({apiName}) => apiName === name), known[flow.module]?.[name]]
    if (!field || !then) return []
    const at = {slot: flow.sourceId, flow: flow.id, module: flow.module, field: name}
    return changesOf(flow, name, then, shapeField(field)).map(change => ({...change, ...at}))
  })

type DriftChange = Pick<Drift, 'kind' | 'stops' | 'message'>

const changesOf = ({module, match}: Flow, name: string, then: TemplateField, now: TemplateField): DriftChange[] => {
  const field = `${module}.${name}`
  const changed = (stops: boolean, message: string): DriftChange => ({kind: 'field_changed', stops, message})
  const isShorter = now.length !== null && (then.length === null || now.length < then.length)
  return [
    ...(now.type === then.type ? [] : [changed(true, `${field} changed from type ${then.type} to ${now.type}. Check its mapping`)]),
    ...(now.type !== then.type || now.lookup === then.lookup
      ? []
      : [changed(true, `${field} linked to ${then.lookup} and now links to ${now.lookup}. Check its search`)]),
    ...(now.type === then.type && isShorter
      ? [changed(false, `${field} now takes at most ${now.length} characters. Longer values are refused`)]
      : []),
    ...(match?.by.includes(name) && match.by.length === 1 && then.unique && !now.unique
      ? [
          {
            kind: 'match_not_unique' as const,
            stops: true,
            message: `${field} is no longer unique. Rows matched by it may find several records`,
          },
        ]
      : []),
  ]
}
