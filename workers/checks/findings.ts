import {type CheckProblem, SEVERITIES} from '../../shared/checks/problem.ts'
import type {SnapshotSource} from '../../shared/flows/snapshot.ts'
import {fixOf} from './fixes.ts'

/** Where something was found: the same place and kind are one problem. */
export type Spot = Pick<CheckProblem, 'severity' | 'kind'> &
  Partial<Pick<CheckProblem, 'flow' | 'module' | 'field' | 'column' | 'place'>> & {source?: Pick<SnapshotSource, 'no' | 'id'> | null}

/** `cell` as the file has it. `fix` where the kind alone does not say it. */
type Found = {message: string; row?: number; cell?: string | undefined; fix?: string; count?: number}
type Group = {order: number; problem: CheckProblem}

const mostRows = 20
const mostSamples = 5
const longestSample = 200
const longestMessage = 1_000
/** Flows may have 25,000 mappings; nobody reads so many problems, and memory has an end. */
const mostProblems = 2_000

/** Gathers what is found. Memory grows with the kinds and places of problems, up to 2,000 of them, never with the rows. */
export const openFindings = () => {
  const groups = new Map<string, Group>()
  const open = (key: string, {source, severity, kind, ...at}: Spot, {fix = fixOf(kind), message}: Found): Group => {
    const of = {source: source?.id ?? null, flow: null, module: null, field: null, column: null, place: null, ...at}
    const problem = {severity, kind, ...of, count: 0, rows: [], samples: [], message: message.slice(0, longestMessage), fix}
    const group = {order: source?.no ?? 0, problem}
    groups.set(key, group)
    return group
  }
  const note = (spot: Spot, found: Found): CheckProblem => {
    const {severity, kind, source, flow, module, field, column, place} = spot
    const key = JSON.stringify([severity, kind, source?.no, flow, module, field, column, place?.line, place?.column])
    const known = groups.get(key)
    if (!known && groups.size >= mostProblems) return note({severity: 'error', kind: 'more'}, {message: more})
    const {problem} = known ?? open(key, spot, found)
    problem.count += found.count ?? 1
    if (found.row !== undefined) addRow(problem, found.row, found.message)
    if (found.cell) addSample(problem, found.cell)
    return problem
  }
  return {note, list: () => [...groups.values()].sort(inOrder).map(({problem}) => problem)}
}
export type Findings = ReturnType<typeof openFindings>

const more = `There are more than ${mostProblems.toLocaleString('en')} problems: these places are counted and not listed`

/** The smallest row numbers, whichever order they come in; the first row's message is the problem's. */
const addRow = (problem: CheckProblem, row: number, message: string) => {
  const {rows} = problem
  if (rows.length === mostRows && row >= rows.at(-1)!) return
  if (rows.length && row < rows[0]!) problem.message = message.slice(0, longestMessage)
  rows.push(row)
  rows.sort((a, b) => a - b)
  if (rows.length > mostRows) rows.pop()
}

export const addSample = ({samples}: CheckProblem, cell: string) => {
  // Postgres takes no NUL and no half of a character.
  const sample = cell.slice(0, longestSample).replaceAll('\0', '\ufffd').toWellFormed()
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
