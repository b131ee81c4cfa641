import {z} from 'zod'
import type {DiscoveredModule} from '../../crm/discovered.ts'
import type {Flow} from './flow.ts'
import {isParentBefore, keyIssues, type Parent, ParentKey} from './parent.ts'
import {type FlowIssue, issue} from './value-issues.ts'

export const Subform = z.strictObject({
  field: z
    .string()
    .min(1)
    .describe(
      'API name of the subform field in the parents’ module. Its rows are replaced. If the subform is mandatory, a new parent is created with its rows',
    ),
  child: z.string().min(1).describe('API name of the subform’s own module, which is the flow’s'),
  parentFlow: z.string().min(1).describe('Id of the flow whose records have the subform; it must come before this flow'),
  key: ParentKey.nullish().describe('Null: the parent is the row with the same number in the same file'),
})
export type Subform = z.output<typeof Subform>

/** Returns the parent link of a flow or subform flow. Subform rows whose parent has no record are skipped. */
export const parentOf = ({parent, subform}: Pick<Flow, 'parent' | 'subform'>): Parent | undefined =>
  subform ? {field: subform.field, flow: subform.parentFlow, key: subform.key, onMissing: 'skip'} : parent

type SubformContext = {sources: {id: string; columns: string[]}[]; modules: Map<string, DiscoveredModule>}

export const subformIssues = (flows: Flow[], at: number, {sources, modules}: SubformContext): FlowIssue[] => {
  const flow = flows[at]!
  const {subform} = flow
  if (!subform) return []
  const of = flows.find(({id}) => id === subform.parentFlow)
  const place = (name: keyof Subform, message: string) => issue(['subform', name], message)
  return [
    ...(subform.child === flow.module
      ? []
      : [place('child', `The flow writes ${flow.module}. Its module must be the subform's own module`)]),
    ...shapeIssues(flow),
    ...(of ? parentIssues(flows, at, of).map(message => place('parentFlow', message)) : []),
    ...(of ? fieldIssues(flows, at, of, modules).map(message => place('field', message)) : []),
    ...(of ? orderIssues(flows, at, of, modules).map(message => place('parentFlow', message)) : []),
    ...(of ? keyIssues({...flow, key: subform.key}, of, sources).map(message => place('key', message)) : []),
    ...(of ? [] : [place('parentFlow', `There is no flow ${subform.parentFlow}`)]),
  ]
}

/** Subform rows are replaced together, so they cannot be matched, linked or patched one by one. */
const shapeIssues = ({match, parent, fields}: Flow): FlowIssue[] => [
  ...(match ? [issue(['match'], 'Subform rows are replaced, not matched. Leave match out')] : []),
  ...(parent ? [issue(['parent'], 'Subform rows belong to the rows of their parentFlow. Leave parent out')] : []),
  ...fields.flatMap(({patch}, at) =>
    patch ? [issue(['fields', at, 'patch'], 'A subform row is written once, with its parent. Leave patch out')] : [],
  ),
]

const parentIssues = (flows: Flow[], at: number, flow: Flow): string[] => {
  if (flow.subform) return [`Flow ${flow.id} writes subform rows, which cannot have a subform. Choose another flow`]
  return isParentBefore(flows, at, {flow: flow.id}) ? [] : [`Put flow ${flow.id} first, because its records must exist before their rows`]
}

/** Two flows cannot write one subform field, because each would remove the other's rows. */
const fieldIssues = (flows: Flow[], at: number, of: Flow, modules: SubformContext['modules']): string[] => {
  const {field: name, child} = flows[at]!.subform!
  const field = modules.get(of.module)?.fields.find(({apiName}) => apiName === name)
  if (field?.subform?.module !== child) return [`${of.module} has no subform field ${name} with rows of ${child}`]
  const moduleOf = (flow: Flow) => flows.find(({id}) => id === flow.subform?.parentFlow)?.module
  const other = flows.slice(0, at).find(flow => flow.subform?.field === name && moduleOf(flow) === of.module)
  return other ? [`Flow ${other.id} already replaces the rows of ${name}`] : []
}

/** If subform rows are sent in the create of their parent, the records that the rows look up must exist before. */
const orderIssues = (flows: Flow[], at: number, of: Flow, modules: SubformContext['modules']): string[] => {
  const {module, fields, subform} = flows[at]!
  const held = modules.get(of.module)?.fields.find(({apiName}) => apiName === subform!.field)
  if (!held?.required && !held?.layoutRequired) return []
  const known = modules.get(module)?.fields ?? []
  const searched = new Set(
    fields.flatMap(({field, mode}) => (mode === 'search' ? known.find(one => one.apiName === field)?.lookup?.module : [])),
  )
  return flows
    .slice(flows.indexOf(of) + 1, at)
    .filter(flow => searched.has(flow.module))
    .map(
      flow =>
        `Put flow ${flow.id} before flow ${of.id}, because rows of ${module} are sent with its records and look up records of ${flow.module}`,
    )
}
