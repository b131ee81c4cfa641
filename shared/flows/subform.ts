import {z} from 'zod'
import type {DiscoveredModule} from '../crm/discovered.ts'
import type {Flow} from './flow.ts'
import {isParentBefore, keyIssues, type Parent, ParentKey} from './parent.ts'
import {type Issue, issue} from './value-issues.ts'

/**
 * The flow's rows are rows of a subform: of the record that the row's parent in `parentFlow` came to, they replace what its `field` holds.
 * `child`: the subform's own module, which is the flow's. Without a key a row's parent is the row of the same number, of the same file.
 */
export const Subform = z.strictObject({
  field: z.string().min(1).describe('API name of the subform’s field in the parents’ module: what it holds is replaced'),
  child: z.string().min(1).describe('API name of the subform’s own module, which is the flow’s'),
  parentFlow: z.string().min(1).describe('Id of the flow whose records have the subform; it stands before this one'),
  key: ParentKey.nullish().describe('Null: a row’s parent is the row of the same number, of the same file'),
})
export type Subform = z.output<typeof Subform>

/** As rows of a flow are linked to those of another. A parent without a record leaves its rows out. */
export const parentOf = ({parent, subform}: Pick<Flow, 'parent' | 'subform'>): Parent | undefined =>
  subform ? {field: subform.field, flow: subform.parentFlow, key: subform.key, onMissing: 'skip'} : parent

type Known = {sources: {id: string; columns: string[]}[]; modules: Map<string, DiscoveredModule>}

/** What is wrong with the subform of the flow at `at`. */
export const subformIssues = (flows: Flow[], at: number, {sources, modules}: Known): Issue[] => {
  const flow = flows[at]!
  const {subform} = flow
  if (!subform) return []
  const of = flows.find(({id}) => id === subform.parentFlow)
  const place = (name: keyof Subform, message: string) => issue(['subform', name], message)
  return [
    ...(subform.child === flow.module ? [] : [place('child', `The flow writes ${flow.module}: its module is the subform's own`)]),
    ...shapeIssues(flow),
    ...(of ? parentIssues(flows, at, of).map(message => place('parentFlow', message)) : []),
    ...(of ? fieldIssues(flows, at, of, modules).map(message => place('field', message)) : []),
    ...(of ? keyIssues({...flow, key: subform.key}, of, sources).map(message => place('key', message)) : []),
    ...(of ? [] : [place('parentFlow', `There is no flow ${subform.parentFlow}`)]),
  ]
}

/** Rows of a subform are replaced with their parent's others: none of them is met, linked or written again by itself. */
const shapeIssues = ({match, parent, fields}: Flow): Issue[] => [
  ...(match ? [issue(['match'], 'Rows of a subform are replaced, not matched: leave match out')] : []),
  ...(parent ? [issue(['parent'], 'Rows of a subform belong to those of its parentFlow: leave parent out')] : []),
  ...fields.flatMap(({patch}, at) =>
    patch ? [issue(['fields', at, 'patch'], 'A row of a subform is written once, with its parent: leave patch out')] : [],
  ),
]

const parentIssues = (flows: Flow[], at: number, of: Flow): string[] => {
  if (of.subform) return [`Flow ${of.id} writes rows of a subform, which have none of their own`]
  return isParentBefore(flows, at, {flow: of.id}) ? [] : [`Put flow ${of.id} first: its records are there before their rows are`]
}

/** Two flows over one field would each take away the other's rows. */
const fieldIssues = (flows: Flow[], at: number, of: Flow, modules: Known['modules']): string[] => {
  const {field: name, child} = flows[at]!.subform!
  const field = modules.get(of.module)?.fields.find(({apiName}) => apiName === name)
  if (field?.subform?.module !== child) return [`${of.module} has no field ${name} that holds rows of ${child}`]
  const moduleOf = (flow: Flow) => flows.find(({id}) => id === flow.subform?.parentFlow)?.module
  const other = flows.slice(0, at).find(flow => flow.subform?.field === name && moduleOf(flow) === of.module)
  return other ? [`Flow ${other.id} replaces the rows of ${name} already`] : []
}
