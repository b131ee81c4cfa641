import {type CheckProblem, SEVERITIES} from '../../shared/mapping/checks/problem.ts'
import type {SnapshotSource} from '../../shared/mapping/flows/snapshot.ts'
import {storableText} from '../../shared/schema/storable-text.ts'
import {fixOf} from './fixes.ts'

/** The kind of a problem, and where it occurs. Findings with the same spot are one problem. */
export type Spot = Pick<CheckProblem, 'severity' | 'kind'> &
  Partial<Pick<CheckProblem, 'flow' | 'module' | 'field' | 'column' | 'place'>> & {source?: Pick<SnapshotSource, 'no' | 'id'> | null}

/**
 * A finding to note. `cell`: the cell as in the file. `fix`: what a person can do, if the kind alone does not determine that. `count`: the
 * number of cases, 1 by default.
 */
type NewFinding = {message: string; row?: number; cell?: string | undefined; fix?: string; count?: number}
type Group = {order: number; problem: CheckProblem}

const mostRows = 20
const mostSamples = 5
const longestSample = 200
const longestMessage = 1_000
/** The limit on listed problems. Flows may have 25,000 mappings, so the limit saves memory and keeps the list readable. */
const mostProblems = 2_000

/** Collects problems. Memory grows with the number of different problems, up to 2,000, not with the number of rows. */
export const openFindings = () => {
  const groups = new Map<string, Group>()
  const open = (key: string, {source, severity, kind, ...at}: Spot, {fix = fixOf(kind), message}: NewFinding): Group => {
    const of = {source: source?.id ?? null, flow: null, module: null, field: null, column: null, place: null, ...at}
    const problem = {severity, kind, ...of, count: 0, rows: [], samples: [], message: storableText(message, longestMessage), fix}
    const group = {order: source?.no ?? 0, problem}
    groups.set(key, group)
    return group
  }
  const note = (spot: Spot, newFinding: NewFinding): CheckProblem => {
    const {severity, kind, source, flow, module, field, column, place} = spot
    const key = JSON.stringify([severity, kind, source?.no, flow, module, field, column, place?.line, place?.column])
    const known = groups.get(key)
    if (!known && groups.size >= mostProblems) return note({severity: 'error', kind: 'more'}, {message: more})
    const {problem} = known ?? open(key, spot, newFinding)
    problem.count += newFinding.count ?? 1
    if (newFinding.row !== undefined) addRow(problem, newFinding.row, newFinding.message)
    if (newFinding.cell) addSample(problem, newFinding.cell)
    return problem
  }
  return {note, list: () => [...groups.values()].sort(inOrder).map(({problem}) => problem)}
}
export type CheckFindings = ReturnType<typeof openFindings>

const more = `There are more than ${mostProblems.toLocaleString('en')} problems. The others are counted here and not listed`

/** Adds a row to a problem. The problem keeps the smallest row numbers, in any order of arrival, and the message of the smallest. */
const addRow = (problem: CheckProblem, row: number, message: string) => {
  const {rows} = problem
  if (rows.length === mostRows && row >= rows.at(-1)!) return
  if (rows.length && row < rows[0]!) problem.message = storableText(message, longestMessage)
  rows.push(row)
  rows.sort((a, b) => a - b)
  if (rows.length > mostRows) rows.pop()
}

export const addSample = ({samples}: CheckProblem, cell: string) => {
  const sample = storableText(cell, longestSample)
  if (samples.length < mostSamples && !samples.includes(sample)) samples.push(sample)
}

const inOrder = (one: Group, other: Group) =>
  SEVERITIES.indexOf(one.problem.severity) - SEVERITIES.indexOf(other.problem.severity) ||
  one.order - other.order ||
  (['module', 'field', 'kind', 'flow', 'column'] as const).reduce((sum, name) => sum || compare(one.problem[name], other.problem[name]), 0)

const compare = (one: string | null, other: string | null) => {
  const [a, b] = [one ?? '', other ?? '']
  return a < b ? -1 : a > b ? 1 : 0
}
