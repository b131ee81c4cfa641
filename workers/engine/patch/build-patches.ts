import {type Patch, splitMappings} from '../../../shared/mapping/flows/patch.ts'
import type {SnapshotFlow} from '../../../shared/mapping/flows/snapshot.ts'
import {HOW} from '../../../sql/chain-rows.ts'
import {compileFlow, withoutLayout} from '../compose/compiled-flow.ts'
import type {ParentLink} from '../compose/parents.ts'
import {listComparable} from '../match/unchanged-records.ts'
import type {CompiledFlow, CompileFlowInput} from '../model.ts'

/** Fields that are written to the records of a flow's rows after all rows of all flows. */
export type PatchPlan = {rules: Map<string, Rule>; parent: ParentLink | null}

type Rule = {hows: Set<number>; onlyAbsent: boolean}

/** The ways in which a record existed and was not changed. */
const MET = [HOW.matched]
const HOWS: Partial<Record<Patch['when'][number], number[]>> = {
  created: [HOW.made, HOW.taken],
  updated: [HOW.updated, HOW.unchanged],
  exists: MET,
  skipped: MET,
}

/** Compiles the flow's patch pass over the same file. Returns null if the flow patches nothing. */
export const compilePatchPlan = (snapshotFlow: SnapshotFlow, input: CompileFlowInput): (CompiledFlow & {patchPlan: PatchPlan}) | null => {
  const {patched} = splitMappings(snapshotFlow.flow.fields)
  const rules = new Map(patched.map(({field, patch}) => [field, ruleOf(patch!)]))
  const fields = patched.map(mapping => ({...mapping, patch: undefined}))
  const {parent, ...flow} = compileFlow(
    withoutLayout({...snapshotFlow, flow: {...snapshotFlow.flow, fields, filter: null, guard: null, match: undefined}}),
    input,
  )
  const late = parent && parent.order !== 'before' ? parent : null
  if (late) rules.set(late.field, usual)
  const lateField = flow.module.fields.filter(({apiName}) => apiName === late?.field)
  const comparedFields =
    snapshotFlow.flow.match?.unchanged === 'skip' ? listComparable([...flow.mappings.map(({field}) => field), ...lateField]) : null
  return rules.size ? {...flow, comparedFields, patchPlan: {rules, parent: late}} : null
}

const ruleOf = ({when, overwrite}: Patch): Rule => ({
  hows: new Set(when.flatMap(status => HOWS[status] ?? [])),
  onlyAbsent: overwrite === 'if-absent',
})

const usual = ruleOf({when: ['created', 'updated'], overwrite: 'always'})
