import {z} from 'zod'
import type {DiscoveredModule} from '../crm/discovered.ts'
import type {Flow} from './flow.ts'
import {type Issue, issue} from './value-issues.ts'

/** Rows belong together where the one column, of the parent's file, says what the other does. */
export const ParentKey = z
  .strictObject({
    parentColumn: z.string().min(1).describe('A column of the parent flow’s file'),
    childColumn: z.string().min(1).describe('A column of this flow’s file, whose cell says the same as that one’s'),
  })
  .meta({id: 'ParentKey', description: 'The columns by which a row and its parent belong together'})
export type ParentKey = z.output<typeof ParentKey>

/**
 * Each row of the flow belongs to a row of another one, or of the same: `field` is filled with that row's record. Without a key it is the
 * row of the same number, of the same file; with one, the row whose `parentColumn` says what `childColumn` says here.
 */
export const Parent = z.strictObject({
  field: z.string().min(1).describe('API name of the lookup that is filled with the parent’s record'),
  flow: z.string().min(1).describe('Id of the flow whose rows are the parents; may be this one'),
  key: ParentKey.nullish().describe('Null: the parent is the row of the same number, of the same file'),
  onMissing: z
    .enum(['fail', 'leave', 'skip'])
    .default('fail')
    .describe('The parent has no record: fail the row, leave the field empty, or skip the row. A row whose key is empty has no parent'),
})
export type Parent = z.output<typeof Parent>

type Known = {sources: {id: string; columns: string[]}[]; modules: Map<string, DiscoveredModule>}

/** Whether the parent's rows have their records before the first row of the flow is written. */
export const isParentBefore = (flows: Pick<Flow, 'id'>[], at: number, {flow}: Pick<Parent, 'flow'>): boolean =>
  flows.slice(0, at).some(({id}) => id === flow)

/** What is wrong with the parent of the flow at `at`. */
export const parentIssues = (flows: Flow[], at: number, {sources, modules}: Known): Issue[] => {
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

const linkIssues = ({parent, fields, module: name}: Flow, module: DiscoveredModule | undefined, of: Flow): string[] => {
  if (of.subform) return [`Flow ${of.id} writes rows of a subform, which nothing links to`]
  const field = module?.fields.find(({apiName}) => apiName === parent!.field)
  if (!field) return [`${name} has no field ${parent!.field}`]
  if (field.type !== 'lookup' || field.lookup?.module !== of.module) return [`${field.apiName} is no link to ${of.module}`]
  if (!field.creatable || field.readOnly) return [`${field.apiName} is read only`]
  return fields.some(mapping => mapping.field === field.apiName) ? ['A mapping writes this field'] : []
}

type Keyed = Pick<Flow, 'id' | 'sourceId'> & {key?: ParentKey | null | undefined}

/** What keeps rows and their parents from being brought together. */
export const keyIssues = ({id, sourceId, key}: Keyed, of: Flow, sources: Known['sources']): string[] => {
  if (!key) {
    if (of.id === id) return ['Say by which columns a row and its parent in the same flow belong together']
    return of.sourceId === sourceId ? [] : ['The two flows read different files: say by which columns their rows belong together']
  }
  const has = (source: string, column: string) => sources.find(one => one.id === source)?.columns.includes(column) ?? true
  return [
    ...(has(of.sourceId, key.parentColumn) ? [] : [`The parent's file has no column "${key.parentColumn}"`]),
    ...(has(sourceId, key.childColumn) ? [] : [`The file has no column "${key.childColumn}"`]),
  ]
}

/** The record is not there yet when the row is written. */
const laterIssues = ({parent, match}: Flow, module: DiscoveredModule | undefined): string[] => {
  const field = module?.fields.find(({apiName}) => apiName === parent!.field)
  return [
    ...(match?.by.includes(parent!.field) ? [`Rows cannot be matched by ${parent!.field}: it is written after them`] : []),
    ...(field?.required ? [`${parent!.field} is required, and its record is written after the row: put flow ${parent!.flow} first`] : []),
  ]
}
