import type {DiscoveredField, DiscoveredModule} from '../../crm/discovered.ts'
import type {Namespaces} from '../../expressions/parse.ts'
import {addZones, type DateSettings} from './date-defaults.ts'
import {deleteIssues, deletes} from './delete.ts'
import {editIssues} from './edits.ts'
import {expressionIssues} from './expression-issues.ts'
import {conversionTypeOf} from './field-types.ts'
import type {Flow} from './flow.ts'
import {parentIssues} from './parent.ts'
import {patchIssues} from './patch.ts'
import {subformIssues} from './subform.ts'
import {type FlowIssue, issue, type ValuePlace, valueIssues} from './value-issues.ts'
import {findLayoutLimits, optionIssues} from './write-options.ts'

export type {FlowIssue as Issue} from './value-issues.ts'

type IssuesInput = {
  /** The files of the import. Null: the files are unknown, so column names are not checked. */
  sources: {id: string; columns: string[]}[] | null
  modules: Map<string, DiscoveredModule>
  libraries?: Namespaces
  /** The settings of the org, with which its runs read dates. */
  settings?: Pick<DateSettings, 'timezone'> | undefined
}

/** Lists the issues of flows that do not fit the files, the libraries or the newest discovery. */
export const findIssues = (given: Flow[], input: IssuesInput): FlowIssue[] => {
  const flows = input.settings ? addZones(given, input.modules, input.settings) : given
  return [
    ...repeated(flows.map(({id}) => id)).map(at => issue([at, 'id'], 'Another flow has this id')),
    ...flows.flatMap((flow, at) =>
      [
        ...issuesOf(flow, flows, input),
        ...(deletes(flow) ? deleteIssues(flow, flows, input.modules.get(flow.module)) : writeIssues(flows, at, input)),
      ].map(({path, ...rest}) => ({path: [at, ...path], ...rest})),
    ),
  ]
}

const writeIssues = (flows: Flow[], at: number, {modules, ...input}: IssuesInput): FlowIssue[] => {
  const flow = flows[at]!
  const module = modules.get(flow.module)
  const places = {...input, modules, sources: input.sources ?? []}
  return [
    ...parentIssues(flows, at, places),
    ...subformIssues(flows, at, places),
    ...patchIssues(flow, module),
    ...optionIssues(flow, module),
    ...editIssues(flow, module),
  ]
}

const issuesOf = (flow: Flow, flows: Flow[], {sources, modules, libraries = {}}: IssuesInput): FlowIssue[] => {
  const source = sources?.find(({id}) => id === flow.sourceId)
  const module = modules.get(flow.module)
  if (sources && !source) return [issue(['sourceId'], `The import has no source ${flow.sourceId}`)]
  if (!module) return [issue(['module'], `The connection's discovery has no module ${flow.module}`)]
  if (!module.creatable && !flow.subform) return [issue(['module'], `${flow.module} cannot be written directly`)]
  const valuePlace = {columns: source?.columns ?? null, modules, libraries}
  return [
    ...(flow.filter ? expressionIssues(flow.filter, ['filter'], valuePlace) : []),
    ...(flow.guard ? expressionIssues(flow.guard, ['guard'], valuePlace) : []),
    ...mappingIssues(flow, module, valuePlace),
    ...matchIssues(flow, module),
    ...(deletes(flow) ? [] : requiredIssues(flow, module, flows)),
  ]
}

const mappingIssues = ({fields}: Flow, module: DiscoveredModule, valuePlace: ValuePlace): FlowIssue[] => [
  ...repeated(fields.map(({field}) => field)).map(at => issue(['fields', at, 'field'], 'Another mapping writes this field')),
  ...fields.flatMap((mapping, at) => {
    const field = module.fields.find(({apiName}) => apiName === mapping.field)
    const found = field ? valueIssues(mapping, field, valuePlace) : [issue(['field'], `${module.apiName} has no field ${mapping.field}`)]
    return found.map(({path, ...rest}) => ({path: ['fields', at, ...path], ...rest}))
  }),
]

const matchIssues = ({match, fields, parent}: Flow, module: DiscoveredModule): FlowIssue[] =>
  (match?.by ?? []).flatMap((name, at) => {
    const path = ['match', 'by', at]
    const field = module.fields.find(({apiName}) => apiName === name)
    if (!field) return [issue(path, `${module.apiName} has no field ${name}`)]
    const why = whyNotMatched(field)
    if (why) return [issue(path, `The CRM finds no record by ${name}: ${why}. Match by another field`)]
    return name === parent?.field || fields.some(({field, mode}) => field === name && mode !== 'skip')
      ? []
      : [issue(path, `${name} is a match field but is not mapped. Map it`)]
  })

/** Returns a reason in words that follow "the CRM finds no record by it:". Null if rows can be matched by the field. */
const whyNotMatched = (field: DiscoveredField): string | null => {
  if (field.unqueryable === 'encrypted') return 'it is encrypted'
  if (field.unqueryable === 'multiline') return 'it holds text of several lines'
  if (field.type === 'multiselectpicklist') return 'it holds several values'
  return conversionTypeOf(field) === 'tag' ? 'it is a list of tags' : null
}

const requiredIssues = (flow: Flow, module: DiscoveredModule, flows: Flow[]): FlowIssue[] => {
  const {id, fields, parent} = flow
  const limits = findLayoutLimits(flow, module)
  const mapped = new Set(fields.filter(({mode}) => mode !== 'skip').map(({field}) => field))
  if (parent) mapped.add(parent.field)
  for (const {subform} of flows) if (subform?.parentFlow === id) mapped.add(subform.field)
  const unmapped = module.fields
    .filter(({required, creatable, readOnly, apiName}) => required && creatable && !readOnly && !mapped.has(apiName))
    .map(({apiName, subform}) => issue(['fields'], `${module.apiName} cannot be created without ${apiName}${subform ? ROWS_REMEDY : ''}`))
  const missing = (limits?.requires ?? []).filter(name => !mapped.has(name))
  return [
    ...unmapped,
    ...missing.map(name => issue(['fields'], `The layout ${limits!.name} requires ${name}. Map it, or choose another layout`)),
  ]
}

const ROWS_REMEDY = ". Add the rows' sheet as a subform flow"

const repeated = (names: string[]) => names.flatMap((name, at) => (names.indexOf(name) < at ? [at] : []))
