import type {Repeat, Repeats} from '../../shared/files/repeats.ts'
import type {FileDeps} from '../../shared/files/stored-file.ts'
import type {CheckProblem} from '../../shared/mapping/checks/problem.ts'
import type {CompiledFlow} from '../engine/model.ts'
import {readChunks} from '../engine/read/read-rows.ts'
import {addSample, type CheckFindings} from './findings.ts'
import type {KeySlot} from './flow-keys.ts'
import {cellAt, columnName, fillerOf} from './flow-rows.ts'

type ReportedRepeat = {problem: CheckProblem; flow: CompiledFlow; column: number | null}

/** Turns repeated keys into problems. Reads the file again for the cells of the first five rows of each problem. */
export const noteRepeats = async (deps: FileDeps, findings: CheckFindings, repeats: Repeats, slots: KeySlot[]): Promise<void> => {
  const byProblem = new Map<CheckProblem, ReportedRepeat>()
  for await (const repeat of repeats.find()) {
    const one = noteRepeat(findings, repeat, slots)
    if (one) byProblem.set(one.problem, one)
  }
  const left = repeats.left()
  if (left)
    findings.note(
      {severity: 'warning', kind: 'repeats_unchecked'},
      {count: left, message: 'Only the first 50,000,000 values are checked for repeats'},
    )
  for (const [flow, of] of Map.groupBy(
    [...byProblem.values()].filter(({column}) => column !== null),
    ({flow}) => flow,
  ))
    await addSamples(deps, flow, of)
}

const noteRepeat = (findings: CheckFindings, {row, slot, earlier, isSame}: Repeat, slots: KeySlot[]): ReportedRepeat | null => {
  const {flow, field} = slots[slot]!
  if (field && isSame) return null
  const isElsewhere = slots[earlier.slot]!.flow !== flow
  const name = field?.apiName ?? flow.matchFields[0]!.apiName
  const column = fillerOf(flow, name)?.column ?? null
  const spot = {
    severity: field && !isElsewhere ? ('error' as const) : ('warning' as const),
    kind: field ? 'duplicate_value' : 'duplicate_match',
    source: flow.source,
    flow: flow.id,
    module: flow.module.apiName,
    field: name,
    column: columnName(flow, column),
  }
  const before = isElsewhere ? `row ${earlier.row} of flow ${slots[earlier.slot]!.flow.id}` : `row ${earlier.row}`
  const problem = findings.note(spot, {
    row,
    message: field ? `The value is the same as in ${before}, and ${name} must be unique` : matched(flow, before),
  })
  return {problem, flow, column}
}

const matched = ({onOne}: CompiledFlow, before: string) =>
  onOne === 'skip'
    ? `The row has the same match value as ${before} and is skipped`
    : `The row has the same match value as ${before} and overwrites its record`

const shown = 5

const addSamples = async (deps: FileDeps, flow: CompiledFlow, sampled: ReportedRepeat[]) => {
  const wanted = sampled.flatMap(({problem, column}) => problem.rows.slice(0, shown).map(row => ({row, column, problem})))
  const last = Math.max(...wanted.map(({row}) => row))
  for await (const chunk of readChunks(deps, flow)) {
    for (const read of chunk)
      for (const {problem, column} of wanted.filter(({row}) => row === read.rowNumber)) addSample(problem, cellAt(read, column) ?? '')
    if (chunk.some(({rowNumber}) => rowNumber >= last)) return
  }
}
