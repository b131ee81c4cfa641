import type {DiscoveredModule} from '../../crm/discovered.ts'
import type {Flow} from './flow.ts'
import {type FlowIssue, issue} from './value-issues.ts'

export const deletes = ({action}: Pick<Flow, 'action'>): boolean => action === 'delete'

export const deleteIssues = (flow: Flow, flows: Flow[], module: DiscoveredModule | undefined): FlowIssue[] => {
  if (module?.hasWriteOptions === false) return [issue(['action'], 'This destination cannot delete records. Leave action out')]
  const {match, fields} = flow
  const by = new Set(match?.by)
  return [
    ...(flows.every(deletes) ? [] : [issue(['action'], 'An import either deletes records or writes them. Use an import for each')]),
    ...(match ? [] : [issue(['match'], 'Name the fields by which rows find the records to delete')]),
    ...fields.flatMap((mapping, at) => fieldIssues(mapping, by).map(({path, ...rest}) => ({path: ['fields', at, ...path], ...rest}))),
    ...(['unchanged', 'onEdited', 'onUnknown'] as const)
      .filter(name => match?.[name] !== undefined)
      .map(name => issue(['match', name], `A flow that deletes writes no values. Leave ${name} out`)),
    ...WRITES.filter(name => isGiven(flow[name])).map(name => issue([name], `A flow that deletes writes no values. Leave ${name} out`)),
  ]
}

/** The options that only flows that write records can have. */
const WRITES = ['parent', 'subform', 'layout', 'assignmentRule', 'tags'] as const

const isGiven = (value: unknown) => value != null && !(Array.isArray(value) && value.length === 0)

const fieldIssues = ({field, mode, patch}: Flow['fields'][number], by: ReadonlySet<string>): FlowIssue[] => {
  if (mode === 'skip') return []
  if (!by.has(field)) return [issue(['field'], `A flow that deletes maps only its match fields. Remove ${field}`)]
  if (mode === 'search') return [issue(['mode'], `Records are not deleted by a link that is searched for. Match ${field} by its value`)]
  return patch ? [issue(['patch'], 'A flow that deletes writes no values. Leave patch out')] : []
}
