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
  /** The run that it undoes. Earlier versions of Lading do not send it. */
  undoOf?: string | null
  /** Whether the run deletes records. Earlier versions of Lading do not send it. */
  deletes?: boolean
  /** Rows whose record was deleted. Earlier versions of Lading do not send it. */
  deleted?: number
  /** Rows by what the undo did with their records. */
  undo?: {restored: number; deleted: number; changedSince: number} | null
  rows: {from?: number; to?: number} | null
  declaredRows: number
  rowsPerRun: number
  rowsWritten: number
  overageRows: number
  counts: Counts
  /** Skipped rows whose record already held every value. Earlier versions of Lading do not send it. */
  unchanged?: number
  /** Rows written without a link, by flow and field. Earlier versions of Lading do not send it. */
  linksEmpty?: {flowId: string | null; field: string; rows: number}[]
  creditsSaved?: number | null
  /** Cells without an entry in a value map. Earlier versions of Lading do not send it. */
  unmapped?: {flowId: string; field: string; cells: number}[]
  keptEdits?: number
  /** What was found when written rows were read back. Earlier versions of Lading do not send it. */
  verify?: VerifyCounts
  /** Skipped rows whose values people changed in the CRM. Earlier versions of Lading do not send it. */
  keptRows?: number
  questions: number
  /** Questions that were answered since. Earlier versions of Lading do not send it. */
  questionsAnswered?: number
  /** The run that retries it. Earlier versions of Lading do not send it. */
  retriedBy?: string | null
  /** Whether the plan of an ended dry run is out of date. Earlier versions of Lading do not send it. */
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

/** Merges an event into a run. A field that the event lacks keeps its value. */
export const withEvent = (run: Run, {event, data}: {event: string; data: unknown}): Run => {
  if (event === 'end' || event === 'asked') return {...run, ...(data as {run: Run}).run}
  return event === 'state' || event === 'progress' ? {...run, ...(data as Partial<Run>)} : run
}

export const isOver = ({state}: Pick<Run, 'state'>): boolean => state === 'ended'
export const isUnderWay = ({state}: Pick<Run, 'state'>): boolean => state !== 'ended' && state !== 'authorised'

/** Returns the label of a run's state, with its colour. */
export const sayState = (run: Run) => describeRunState(run, count, t.states)

export const kindOf = ({dryRun, retryOf, undoOf}: Pick<Run, 'dryRun' | 'retryOf' | 'undoOf'>): string => {
  if (undoOf) return dryRun ? t.previewOfAnUndo : t.undo
  if (dryRun) return retryOf ? t.dryRunOfARetry : t.dryRunKind
  return retryOf ? t.retry : t.run
}

/** Returns how many questions of a run wait for an answer. A retry has those of the run that it retries. */
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

/** Maps the id of each retried run to the run that retries it. */
export const laterOf = (runs: Run[]): Map<string, Run> =>
  new Map(runs.flatMap(run => (run.retryOf && !run.dryRun ? [[run.retryOf, run]] : [])))

/** Groups runs into retry chains, newest first. A dry run forms a separate chain. */
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
