import type {DiscoveredModule} from '../../shared/crm/discovered.ts'
import type {Flow, Issue} from '../../shared/mapping/flows/flow.ts'
import type {SnapshotSource} from '../../shared/mapping/flows/snapshot.ts'
import {parentOf} from '../../shared/mapping/flows/subform.ts'
import type {CheckFindings} from './findings.ts'

type IssueContext = {sources: SnapshotSource[]; modules: ReadonlyMap<string, DiscoveredModule>}

/** Notes the issues that prevent flows from being run, and the flows whose parent flow has issues. Returns the other flows. */
export const noteIssues = (findings: CheckFindings, flows: Flow[], issues: Issue[], issueContext: IssueContext): Flow[] => {
  for (const {path, message, line, column} of issues) {
    const flow = flows[path[0] as number]!
    const mapping = path[1] === 'fields' ? flow.fields[path[2] as number] : undefined
    const source = issueContext.sources.find(({id}) => id === flow.sourceId) ?? null
    const place = line === undefined || column === undefined ? null : {line, column}
    const kind = kindOf(path.slice(1), {flow, module: issueContext.modules.get(flow.module), isExpression: place !== null})
    const spot = {severity: 'error' as const, kind, source, flow: flow.id, module: flow.module, place}
    findings.note({...spot, field: mapping?.field ?? fieldOf(flow, path.slice(1)), column: mapping?.source ?? null}, {message})
  }
  const broken = new Set(issues.map(({path}) => flows[path[0] as number]!.id))
  for (let left = flows.length; left > 0; left--) for (const flow of flows) if (isOrphan(flow, broken)) noteOrphan(findings, flow, broken)
  return flows.filter(({id}) => !broken.has(id))
}

/** Notes the mappings whose values a run omits, because the flow's layout lacks the field. */
export const noteWarnings = (findings: CheckFindings, flows: Flow[], warnings: Issue[], {sources}: IssueContext): void => {
  for (const {path, message} of warnings) {
    const flow = flows[path[0] as number]!
    const {field, source} = flow.fields[path[2] as number]!
    const file = sources.find(({id}) => id === flow.sourceId) ?? null
    const spot = {severity: 'warning' as const, kind: 'not_on_layout', source: file, flow: flow.id, module: flow.module}
    findings.note({...spot, field, column: source ?? null}, {message})
  }
}

/** Whether the flow has no issue itself, but its rows belong to rows of a flow that cannot be run. */
const isOrphan = (flow: Flow, broken: Set<string>) => broken.has(parentOf(flow)?.flow ?? '') && !broken.has(flow.id)

const noteOrphan = (findings: CheckFindings, flow: Flow, broken: Set<string>) => {
  const {id, module} = flow
  broken.add(id)
  findings.note(
    {severity: 'error', kind: 'parent_flow', flow: id, module},
    {message: `Its parent rows come from flow ${parentOf(flow)!.flow}, which has errors`},
  )
}

type About = {flow: Flow; module: DiscoveredModule | undefined; isExpression: boolean}

const kindOf = ([first, at, last]: Issue['path'], {flow, module, isExpression}: About): string => {
  if (isExpression) return 'expression_syntax'
  if (first === 'sourceId') return 'source_missing'
  if (first === 'module') return !module ? 'module_missing' : module.creatable || flow.subform ? 'module_disabled' : 'read_only'
  if (first === 'fields' && at === undefined) return 'required'
  if (first === 'layout' || first === 'assignmentRule') return 'option_missing'
  if (last === 'source') return 'column_missing'
  if (first !== 'fields' || last !== 'field') return 'flow'
  const field = module?.fields.find(({apiName}) => apiName === flow.fields[at as number]!.field)
  if (!field) return 'field_missing'
  return field.readOnly || !field.creatable ? 'read_only' : 'flow'
}

const fieldOf = ({match, parent, subform}: Flow, [first, , at]: Issue['path']) => {
  if (first === 'parent') return parent?.field ?? null
  if (first === 'subform') return subform?.field ?? null
  return first === 'match' ? (match?.by[at as number] ?? null) : null
}
