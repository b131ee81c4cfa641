import type {Mapping} from '../../../shared/mapping/flows/flow.ts'
import {type Patch, splitMappings} from '../../../shared/mapping/flows/patch.ts'
import type {SnapshotFlow} from '../../../shared/mapping/flows/snapshot.ts'
import {HOW} from '../../../sql/chain-rows.ts'
import {compileEdits, compileFlow, withoutLayout} from '../compose/compiled-flow.ts'
import type {ParentLink} from '../compose/parents.ts'
import {listComparable} from '../match/unchanged-records.ts'
import type {CompiledFlow, CompileFlowInput} from '../model.ts'

/**
 * What a patch pass writes to the records of a flow's rows, after all flows. `rules`: by field. `parent`: the late link to parents, or
 * null. `repair`: the flow that also fills links which an earlier run of the chain left empty. It is null if the run is no retry, if the
 * flow is a subform flow, or if it has no links. `compileFor`: returns the flow with the mappings of these fields only. `planned`: the
 * `if-absent` fields that a dry run plans to fill, as "record field".
 */
export type PatchPlan = {
  rules: Map<string, Rule>
  parent: ParentLink | null
  repair: CompiledFlow | null
  compileFor(fields: readonly string[]): CompiledFlow
  planned: Set<string>
}

type Rule = {hows: Set<number>; onlyAbsent: boolean}

/** The codes of a row whose record existed and was not written. */
const MET = [HOW.matched]
const HOWS: Partial<Record<Patch['when'][number], number[]>> = {
  created: [HOW.made, HOW.taken],
  updated: [HOW.updated, HOW.unchanged],
  exists: MET,
  skipped: MET,
}

/**
 * Compiles the flow's patch pass, which reads the flow's file again. Returns null if the flow patches nothing. `isRetry`: whether the pass
 * also fills links that an earlier run left empty.
 */
export const compilePatchPlan = (
  snapshotFlow: SnapshotFlow,
  input: CompileFlowInput,
  isRetry = false,
): (CompiledFlow & {patchPlan: PatchPlan}) | null => {
  const {patched: mapped, written} = splitMappings(snapshotFlow.flow.fields)
  // Leaves out fields that the flow's layout lacks, as `compileFlow` does.
  const patched = mapped.filter(({field}) => !snapshotFlow.layout?.drops.includes(field))
  const rules = new Map(patched.map(({field, patch}) => [field, ruleOf(patch!)]))
  const {parent, ...flow} = compileFields(snapshotFlow, patched, input)
  const late = parent && parent.order !== 'before' ? parent : null
  if (late) rules.set(late.field, usual)
  const links = written.filter(({mode}) => mode === 'search')
  const mayRepair = isRetry && !snapshotFlow.flow.subform && (links.length > 0 || parent)
  const repair = mayRepair ? compileFields(snapshotFlow, [...patched, ...links], input) : null
  const lateField = flow.module.fields.filter(({apiName}) => apiName === late?.field)
  const comparedFields =
    snapshotFlow.flow.match?.unchanged === 'skip' ? listComparable([...flow.mappings.map(({field}) => field), ...lateField]) : null
  const linkFields = [...lateField, ...(repair?.mappings ?? []).flatMap(({field, link}) => (link ? [field] : []))]
  const isKept = linkFields.some(({apiName}) => snapshotFlow.edits?.fields[apiName])
  const edits = isKept ? compileEdits(snapshotFlow, [...flow.mappings.map(({field}) => field), ...linkFields]) : null
  const compiled = new Map<string, CompiledFlow>()
  const compileFor = (fields: readonly string[]) => {
    const name = fields.join()
    const mappings = [...patched, ...links].filter(({field}) => fields.includes(field))
    const narrowed = compiled.get(name) ?? compileFields(snapshotFlow, mappings, input)
    compiled.set(name, narrowed)
    return narrowed
  }
  return rules.size || repair
    ? {...flow, comparedFields, edits, patchPlan: {rules, parent: late, repair, compileFor, planned: new Set()}}
    : null
}

/** Compiles the flow with these fields only, for rows whose records exist. */
const compileFields = (snapshotFlow: SnapshotFlow, mappings: Mapping[], input: CompileFlowInput): CompiledFlow => {
  const fields = mappings.map(mapping => ({...mapping, patch: undefined}))
  const flow = {...snapshotFlow.flow, fields, filter: null, guard: null, match: undefined}
  return compileFlow(withoutLayout({...snapshotFlow, flow}), input)
}

const ruleOf = ({when, overwrite}: Patch): Rule => ({
  hows: new Set(when.flatMap(status => HOWS[status] ?? [])),
  onlyAbsent: overwrite === 'if-absent',
})

const usual = ruleOf({when: ['created', 'updated'], overwrite: 'always'})
