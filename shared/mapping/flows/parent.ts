import {z} from 'zod'
import type {DiscoveredModule} from '../../crm/discovered.ts'
import type {Flow} from './flow.ts'
import {type FlowIssue, issue} from './value-issues.ts'

export const ParentKey = z
  .strictObject({
    parentColumn: z.string().min(1).describe('A column of the parent flow’s file'),
    childColumn: z.string().min(1).describe('A column of this flow’s file with the same value as `parentColumn` in the parent row'),
  })
  .meta({id: 'ParentKey', description: 'The columns that link a row to its parent'})
export type ParentKey = z.output<typeof ParentKey>

export const Parent = z.strictObject({
  field: z.string().min(1).describe('API name of the lookup field that gets the parent’s record'),
  flow: z.string().min(1).describe('Id of the flow of the parent rows; may be this flow'),
  key: ParentKey.nullish().describe('Null: the parent is the row with the same number in the same file'),
  onMissing: z
    .enum(['fail', 'leave', 'skip'])
    .default('fail')
    .describe('If the parent has no record: fail the row, leave the field empty, or skip the row. A row with an empty key has no parent'),
})
export type Parent = z.output<typeof Parent>

type ParentContext = {sources: {id: string; columns: string[]}[]; modules: Map<string, DiscoveredModule>}

/** Whether all parent records are written before the first row of the flow. */
export const isParentBefore = (flows: Pick<Flow, 'id'>[], at: number, {flow}: Pick<Parent, 'flow'>): boolean =>
  flows.slice(0, at).some(({id}) => id === flow)

export const parentIssues = (flows: Flow[], at: number, {sources, modules}: ParentContext): FlowIssue[] => {
  const flow = flows[at]!
  const {parent} = flow
  if (!parent) return []
  const of = flows.find(({id}) => id === parent.flow)
  const place = (name: keyof Parent, message: string) => issue(['parent', name], message)
  if (!of) return [place('flow', `There is no flow ${parent.flow}`)]
  return [
    ...linkIssues(flow, modules.get(flow.module), of).map(message => place('field', message)),
    ...keyIssues({...flow, key: parent.key}, of, sources).map(message => place('key', message)),
    ...(isParentBefore(flows, at, parent) ? [] : laterIssues(flow, modules.get(flow.module)).map(message => place('field', message))),
  ]
}

const linkIssues = ({parent, fields, module: name}: Flow, module: DiscoveredModule | undefined, flow: Flow): string[] => {
  if (flow.subform) return [`Flow ${flow.id} writes subform rows, which cannot be linked to. Choose another flow`]
  const field = module?.fields.find(({apiName}) => apiName === parent!.field)
  if (!field) return [`${name} has no field ${parent!.field}`]
  if (field.type !== 'lookup' || field.lookup?.module !== flow.module) return [`${field.apiName} is not a lookup to ${flow.module}`]
  if (!field.creatable || field.readOnly) return [`${field.apiName} is read only`]
  return fields.some(mapping => mapping.field === field.apiName) ? ['A mapping writes this field'] : []
}

type KeyedParent = Pick<Flow, 'id' | 'sourceId'> & {key?: ParentKey | null | undefined}

export const keyIssues = ({id, sourceId, key}: KeyedParent, flow: Flow, sources: ParentContext['sources']): string[] => {
  if (!key) {
    if (flow.id === id) return ['Set the key: the columns that link a row to its parent in the same flow']
    return flow.sourceId === sourceId ? [] : ['The two flows read different files. Set the key: the columns that link their rows']
  }
  const has = (source: string, column: string) => sources.find(one => one.id === source)?.columns.includes(column) ?? true
  return [
    ...(has(flow.sourceId, key.parentColumn) ? [] : [`The parent's file has no column "${key.parentColumn}"`]),
    ...(has(sourceId, key.childColumn) ? [] : [`The file has no column "${key.childColumn}"`]),
  ]
}

/** Returns the issues of a link to records that may not exist yet when the row is written. */
const laterIssues = ({parent, match}: Flow, module: DiscoveredModule | undefined): string[] => {
  const field = module?.fields.find(({apiName}) => apiName === parent!.field)
  return [
    ...(match?.by.includes(parent!.field) ? [`Rows cannot be matched by ${parent!.field}, because it is written after the rows`] : []),
    ...(field?.required ? [`${parent!.field} is required, but its record is written after the row. Put flow ${parent!.flow} first`] : []),
  ]
}
