import type {DiscoveredModule} from '../crm/discovered.ts'
import type {Namespaces} from '../expressions/parse.ts'
import {expressionIssues} from './expression-issues.ts'
import type {Flow} from './flow.ts'
import {parentIssues} from './parent.ts'
import {patchIssues} from './patch.ts'
import {subformIssues} from './subform.ts'
import {type Issue, issue, type Place, valueIssues} from './value-issues.ts'

export type {Issue} from './value-issues.ts'

type Known = {
  sources: {id: string; columns: string[]}[]
  modules: Map<string, DiscoveredModule>
  /** The org's libraries with the names of their functions. */
  libraries?: Namespaces
}

/** What of the flows does not fit the files, the libraries and the newest discovery: one issue a place, empty when everything does. */
export const findIssues = (flows: Flow[], known: Known): Issue[] => [
  ...repeated(flows.map(({id}) => id)).map(at => issue([at, 'id'], 'Another flow has this id')),
  ...flows.flatMap((flow, at) =>
    [
      ...issuesOf(flow, known),
      ...parentIssues(flows, at, known),
      ...subformIssues(flows, at, known),
      ...patchIssues(flow, known.modules.get(flow.module)),
    ].map(({path, ...rest}) => ({path: [at, ...path], ...rest})),
  ),
]

const issuesOf = (flow: Flow, {sources, modules, libraries = {}}: Known): Issue[] => {
  const source = sources.find(({id}) => id === flow.sourceId)
  const module = modules.get(flow.module)
  if (!source) return [issue(['sourceId'], `The import has no source ${flow.sourceId}`)]
  if (!module) return [issue(['module'], `The connection's discovery has no module ${flow.module}`)]
  if (!module.creatable && !flow.subform) return [issue(['module'], `${flow.module} cannot be written directly`)]
  const place = {columns: source.columns, modules, libraries}
  return [
    ...(flow.filter ? expressionIssues(flow.filter, ['filter'], place) : []),
    ...(flow.guard ? expressionIssues(flow.guard, ['guard'], place) : []),
    ...mappingIssues(flow, module, place),
    ...matchIssues(flow, module),
    ...requiredIssues(flow, module),
  ]
}

const mappingIssues = ({fields}: Flow, module: DiscoveredModule, place: Place): Issue[] => [
  ...repeated(fields.map(({field}) => field)).map(at => issue(['fields', at, 'field'], 'Another mapping writes this field')),
  ...fields.flatMap((mapping, at) => {
    const field = module.fields.find(({apiName}) => apiName === mapping.field)
    const found = field ? valueIssues(mapping, field, place) : [issue(['field'], `${module.apiName} has no field ${mapping.field}`)]
    return found.map(({path, ...rest}) => ({path: ['fields', at, ...path], ...rest}))
  }),
]

const matchIssues = ({match, fields, parent}: Flow, module: DiscoveredModule): Issue[] =>
  (match?.by ?? []).flatMap((name, at) => {
    const path = ['match', 'by', at]
    if (!module.fields.some(({apiName}) => apiName === name)) return [issue(path, `${module.apiName} has no field ${name}`)]
    return name === parent?.field || fields.some(({field, mode}) => field === name && mode !== 'skip')
      ? []
      : [issue(path, `${name} is matched by and not mapped`)]
  })

const requiredIssues = ({fields, parent}: Flow, module: DiscoveredModule): Issue[] => {
  const mapped = new Set(fields.filter(({mode}) => mode !== 'skip').map(({field}) => field))
  if (parent) mapped.add(parent.field)
  return module.fields
    .filter(({required, creatable, readOnly, apiName}) => required && creatable && !readOnly && !mapped.has(apiName))
    .map(({apiName}) => issue(['fields'], `${module.apiName} cannot be created without ${apiName}`))
}

const repeated = (names: string[]) => names.flatMap((name, at) => (names.indexOf(name) < at ? [at] : []))
