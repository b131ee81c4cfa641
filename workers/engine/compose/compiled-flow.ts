import type {RecordOptions} from '../../../shared/crm/crm.ts'
import {FLOW_AUTOMATIONS} from '../../../shared/crm/record-calls.ts'
import {deletes} from '../../../shared/mapping/flows/delete.ts'
import type {Flow, Mapping} from '../../../shared/mapping/flows/flow.ts'
import type {SnapshotLookup} from '../../../shared/mapping/flows/lookups.ts'
import {splitMappings} from '../../../shared/mapping/flows/patch.ts'
import {rulesOf} from '../../../shared/mapping/flows/rules.ts'
import type {Snapshot, SnapshotFlow, SnapshotSource} from '../../../shared/mapping/flows/snapshot.ts'
import {parentOf} from '../../../shared/mapping/flows/subform.ts'
import {valueMapOf} from '../../../shared/mapping/flows/value-map.ts'
import {isComparable} from '../match/compare-values.ts'
import {listComparable} from '../match/unchanged-records.ts'
import type {CompiledFlow, CompileFlowInput, EditRules, FieldMapping, FlowField, Link} from '../model.ts'
import type {CompiledSubformFlow} from '../subform/record-order.ts'
import {compileProgram, searchName} from './flow-program.ts'
import {compileParentLink} from './parents.ts'

/** Compiles all flows in their order. A flow gets the subform flows whose rows its creates send (`nestedFlows`). */
export const compileFlows = (input: CompileFlowInput & Pick<Snapshot, 'flows'>): CompiledFlow[] => {
  const compiledFlows = input.flows.map(flow => compileFlow(flow, input))
  for (const compiled of compiledFlows) {
    const nests = compiledFlows.filter(
      (one): one is CompiledSubformFlow => Boolean(one.subform?.nested) && one.subform!.link.flow.no === compiled.no,
    )
    if (nests.length) compiled.nestedFlows = nests
  }
  return compiledFlows
}

export const compileFlow = (snapshotFlow: SnapshotFlow, input: CompileFlowInput): CompiledFlow => {
  const {no, sourceNo, moduleNo, flow, searches} = snapshotFlow
  const {sources, modules, lookups = [], flows = []} = input
  const source = sources.find(source => source.no === sourceNo)!
  const module = modules.find(module => module.no === moduleNo)!
  const fieldOf = (name: string) => module.fields.find(({apiName}) => apiName === name)!
  const lookupOf = ({field}: Mapping) => lookups.find(({no}) => no === searches[field])
  const {written: mapped, patched} = splitMappings(flow.fields)
  // Leaves out fields that the flow's layout lacks. The CRM would drop them without an error, and a later comparison would find a difference.
  const written = mapped.filter(({field}) => !snapshotFlow.layout?.drops.includes(field))
  const fillers = written.map(mapping => compileMapping(mapping, {source, field: fieldOf(mapping.field), lookup: lookupOf(mapping)}))
  const relations = compileRelations(snapshotFlow, input)
  const writtenFields = [...fillers.map(({field}) => field), ...(relations.parent ? [fieldOf(relations.parent.field)] : [])]
  const edits = compileEdits(snapshotFlow, writtenFields)
  return {
    no,
    id: flow.id,
    source,
    module,
    mappings: fillers,
    program: compileProgram({...flow, fields: written}, source.columns, input),
    matchFields: (flow.match?.by ?? []).map(fieldOf),
    uniqueFields: fillers.map(({field}) => field).filter(({unique}) => unique),
    onOne: flow.match?.onOne ?? 'create',
    onMany: flow.match?.onMany ?? 'skip',
    comparedFields: edits ? [...edits.fields.values()] : flow.match?.unchanged === 'skip' ? listComparable(writtenFields) : null,
    ...(deletes(flow) && {deletes: true}),
    addsTags: (flow.tags ?? []).length > 0,
    imageFields: deletes(flow) ? [] : writtenFields.filter(isComparable),
    edits,
    ...relations,
    options: optionsOf(flow),
    routes: {matchBy: flow.matchBy, writeBy: flow.writeBy},
    ...(snapshotFlow.layout && {layout: snapshotFlow.layout}),
    isReferenced: patched.length > 0 || relations.parent?.order === 'after' || flows.some(one => parentOf(one.flow)?.flow === flow.id),
  }
}

const optionsOf = ({automations, layout, assignmentRule}: Flow): RecordOptions => ({
  ...(automations && {automations: FLOW_AUTOMATIONS}),
  ...(layout != null && {layout}),
  ...(assignmentRule != null && {assignmentRule}),
})

/** Returns the flow without its layout, for a pass over records that have their layout already. */
export const withoutLayout = (snapshotFlow: SnapshotFlow): SnapshotFlow => ({
  ...snapshotFlow,
  layout: undefined,
  flow: {...snapshotFlow.flow, layout: null},
})
/** Compiles the rules about edited values of these fields. Null: edited values are overwritten. */
export const compileEdits = ({flow: {match}, edits}: SnapshotFlow, writtenFields: FlowField[]): EditRules | null =>
  edits && match
    ? {
        fields: new Map(writtenFields.filter(isComparable).map(field => [field.apiName, field])),
        choices: new Map(Object.entries(edits.fields)),
        onUnknown: edits.onUnknown,
        skipsUnchanged: match.unchanged === 'skip',
      }
    : null

const compileRelations = (
  snapshotFlow: SnapshotFlow,
  {sources, modules, flows = []}: CompileFlowInput,
): Pick<CompiledFlow, 'parent' | 'subform'> => {
  const link = compileParentLink(snapshotFlow, {sources, flows})
  if (!snapshotFlow.flow.subform || !link) return {parent: link}
  const {apiName: module} = modules.find(({no}) => no === link.flow.moduleNo)!
  return {parent: null, subform: {link, field: snapshotFlow.flow.subform.field, module, nested: snapshotFlow.nested}}
}

const compileMapping = (
  mapping: Mapping,
  {source, field, lookup}: {source: SnapshotSource; field: FlowField; lookup: SnapshotLookup | undefined},
): FieldMapping => {
  const {mode, source: column, staticValue, empty} = mapping
  const expression = expressionOf(mapping)
  const reads = mode !== 'static' && column != null
  const reading = reads && !expression ? (source.readings?.[column] ?? {}) : undefined
  return {
    field,
    column: reads ? source.columns.indexOf(column) : null,
    text: mode === 'static' ? (staticValue ?? '') : '',
    clears: empty === 'clear',
    rules: rulesOf(mapping, reading),
    values: valueMapOf(mapping),
    ...(expression && {expression}),
    ...(lookup && {link: compileLink(mapping, lookup)}),
  }
}

const expressionOf = ({field, mode, transform, searchExpression}: Mapping) => {
  if (mode === 'search') return searchExpression ? searchName(field) : undefined
  return transform && (mode === 'column' || mode === 'expression') ? field : undefined
}

/**
 * Compiles a link. Without a search, a value that finds no user, or several users, fails the row. By default, a search that finds several users skips
 * the row, and a search that finds several records asks a person.
 */
const compileLink = ({mode, onNone, onMany}: Mapping, lookup: SnapshotLookup): Link => {
  const always = mode === 'search'
  const usual = lookup.module === null ? 'skip' : 'ask'
  return {lookup, always, onNone: always ? (onNone ?? 'leave') : 'fail', onMany: always ? (onMany ?? usual) : 'fail'}
}
