import {describeRunState} from '../../run-state.ts'
import {t} from '../text/runs.ts'
import {count} from '../ui/format.ts'

/** A run, as `GET /orgs/{org}/imports/{id}/runs/{run}` returns it. */
export type Run = {
  id: string
  importId: string | null
  importName?: string | null
  connectorId: string | null
  state: 'authorised' | 'queued' | 'writing' | 'paused' | 'closing' | 'ended'
  engine: 'worker' | 'outside' | null
  dryRun: boolean
  retryOf: string | null
  /** The run that this run undoes. Absent in earlier versions of Lading. */
  undoOf?: string | null
  /** Whether the run deletes records. Absent in earlier versions of Lading. */
  deletes?: boolean
  /** Rows whose record was deleted or, in a dry run, would be deleted. Absent in earlier versions of Lading. */
  deleted?: number
  /** The rows of an undo, by what it did with their records, or in a dry run would do. Null if the run undoes nothing. */
  undo?: {restored: number; deleted: number; changedSince: number} | null
  rows: {from?: number; to?: number} | null
  declaredRows: number
  rowsPerRun: number
  rowsWritten: number
  overageRows: number
  counts: Counts
  /** Unchanged rows. Absent in earlier versions of Lading. */
  unchanged?: number
  /** Rows written without a link, by flow and field. Absent in earlier versions of Lading. */
  linksEmpty?: {flowId: string | null; field: string; rows: number}[]
  creditsSaved?: number | null
  /** Unmapped cells, by flow and field. Absent in earlier versions of Lading. */
  unmapped?: {flowId: string; field: string; cells: number}[]
  keptEdits?: number
  /** The result of the verification. Absent in earlier versions of Lading. */
  verify?: VerifyCounts
  /** Rows that were skipped because people changed every value that differs in the CRM. Absent in earlier versions of Lading. */
  keptRows?: number
  questions: number
  /** Questions of the run that now have an answer. Absent in earlier versions of Lading. */
  questionsAnswered?: number
  /** The run that retries this run. Absent in earlier versions of Lading. */
  retriedBy?: string | null
  /** Whether the plan of an ended dry run is out of date. Absent in earlier versions of Lading. */
  stale?: boolean | null
  progress: Progress | null
  stop: Stop | null
  pause: {code: string; message: string} | null
  stoppedBy: 'allowance' | null
  outcome: string | null
  authorisedAt: string
  startedAt: string | null
  endedAt: string | null
  expiredAt: string | null
}
export type VerifyCounts = {
  mode: string
  rows: number
  coerced: number
  changed: number
  missing: number
  unread: number
  waiting: number
  unverified: number
}
export type Counts = Record<string, Record<string, number>>
type Progress = {done: number; total: number; rowsPerSecond: number | null; etaSeconds: number | null}
type Stop = {stopped: string; message: string; rowsPerRun?: number; stoppedBy?: 'plan' | 'declaration'; rowsWrittenTotal?: number}

/** Merges an event into a run. A field that the event lacks keeps its value. Events of other kinds change nothing. */
export const withEvent = (run: Run, {event, data}: {event: string; data: unknown}): Run => {
  if (event === 'end' || event === 'asked') return {...run, ...(data as {run: Run}).run}
  return event === 'state' || event === 'progress' ? {...run, ...(data as Partial<Run>)} : run
}

export const isOver = ({state}: Pick<Run, 'state'>): boolean => state === 'ended'
export const isUnderWay = ({state}: Pick<Run, 'state'>): boolean => state !== 'ended' && state !== 'authorised'

/** Returns the label and the colour of a run's state. */
export const sayState = (run: Run) => describeRunState(run, count, t.states)

export const kindOf = ({dryRun, retryOf, undoOf}: Pick<Run, 'dryRun' | 'retryOf' | 'undoOf'>): string => {
  if (undoOf) return dryRun ? t.previewOfAnUndo : t.undo
  if (dryRun) return retryOf ? t.dryRunOfARetry : t.dryRunKind
  return retryOf ? t.retry : t.run
}

/** Returns how many questions of a run wait for an answer. A retried run has none, because the retry takes them over. */
export const openQuestionsOf = ({
  questions,
  questionsAnswered = 0,
  retriedBy = null,
}: Pick<Run, 'questions' | 'questionsAnswered' | 'retriedBy'>): number => (retriedBy === null ? questions - questionsAnswered : 0)

/** Describes the row range of a run. Returns null for all rows. */
export const sayRange = (rows: Run['rows']): string | null => {
  if (!rows || (rows.from === undefined && rows.to === undefined)) return null
  const {from = 1, to} = rows
  if (to === undefined) return t.fromRowOn(from)
  return from === to ? t.rowOne(from) : t.rowsTo(from, to)
}

/** Maps the id of each retried run to the run that retries it. Dry runs of retries do not count. */
export const laterOf = (runs: Run[]): Map<string, Run> =>
  new Map(runs.flatMap(run => (run.retryOf && !run.dryRun ? [[run.retryOf, run]] : [])))

/**
 * Groups runs into retry chains, each from its first to its last run. The chain with the newest last run comes first. A dry run is a separate
 * chain.
 */
export const chainsOf = (runs: Run[]): Run[][] => {
  const later = laterOf(runs)
  const known = new Set(runs.map(({id}) => id))
  const firsts = runs.filter(({retryOf, dryRun}) => dryRun || retryOf === null || !known.has(retryOf))
  const follow = (run: Run): Run[] => {
    const chain = [run]
    for (let next = later.get(run.id); next && !run.dryRun && chain.length < runs.length; next = later.get(next.id)) chain.push(next)
    return chain
  }
  return firsts.map(follow).toSorted((a, b) => (b.at(-1)!.authorisedAt < a.at(-1)!.authorisedAt ? -1 : 1))
}
