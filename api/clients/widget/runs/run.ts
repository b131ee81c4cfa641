import {deletesRecords, describeRunState} from '../../run-state.ts'
import {t} from '../text/runs.ts'
import {count} from '../ui/format.ts'

/**
 * A run, as `GET /orgs/{org}/imports/{id}/runs/{run}` returns it. Only the org's list of runs has `importName`. Earlier versions of Lading do not
 * return the other optional fields.
 */
export type Run = {
  id: string
  importId: string | null
  importName?: string | null
  connectorId: string | null
  state: 'authorised' | 'queued' | 'writing' | 'paused' | 'closing' | 'ended'
  engine: 'worker' | 'outside' | null
  dryRun: boolean
  retryOf: string | null
  /** The run that this run undoes. */
  undoOf?: string | null
  deletes?: boolean
  /** Rows whose record was deleted or, in a dry run, would be deleted. */
  deleted?: number
  /** The rows of an undo, by what it did with their records, or in a dry run would do. Null if the run undoes nothing. */
  undo?: {restored: number; deleted: number; changedSince: number} | null
  rows: {from?: number; to?: number} | null
  declaredRows: number
  rowsPerRun: number
  rowsWritten: number
  overageRows: number
  counts: Counts
  unchanged?: number
  /** Rows written without a link, by flow and field. */
  linksEmpty?: {flowId: string | null; field: string; rows: number}[]
  creditsSaved?: number | null
  unmapped?: {flowId: string; field: string; cells: number}[]
  keptEdits?: number
  verify?: VerifyCounts
  /** Rows that were skipped because people changed every value that differs in the CRM. */
  keptRows?: number
  questions: number
  questionsAnswered?: number
  /** The run that retries this run. */
  retriedBy?: string | null
  /** The undo of this run that is queued, is in progress or has run. If it is set, the API refuses a retry. */
  begunUndo?: string | null
  /** Whether the plan of an ended dry run is out of date. */
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
  patchesCoerced: number
  patchesChanged: number
}
export type Counts = Record<string, Record<string, number>>
type Progress = {done: number; total: number; rowsPerSecond: number | null; etaSeconds: number | null}
type Stop = {stopped: string; message: string; rowsPerRun?: number; stoppedBy?: 'plan' | 'declaration'; rowsWrittenTotal?: number}

/** Merges a run event into a run. Fields that the event lacks keep their values. Unknown events change nothing. */
export const withEvent = (run: Run, {event, data}: {event: string; data: unknown}): Run => {
  if (event === 'end' || event === 'asked') return {...run, ...(data as {run: Run}).run}
  return event === 'state' || event === 'progress' ? {...run, ...(data as Partial<Run>)} : run
}

export const isOver = ({state}: Pick<Run, 'state'>): boolean => state === 'ended'
export const isUnderWay = ({state}: Pick<Run, 'state'>): boolean => state !== 'ended' && state !== 'authorised'

/** Whether the run can be retried once it has ended. Dry runs, undos, external runs, unstarted runs and runs whose undo has begun cannot. */
export const isRetriable = ({dryRun, undoOf, begunUndo, engine}: Pick<Run, 'dryRun' | 'undoOf' | 'begunUndo' | 'engine'>): boolean =>
  !dryRun && !undoOf && !begunUndo && engine === 'worker'

/** Returns the undos of the run. Leaves out dry runs and undos that were themselves undone. */
const undosOf = (runs: readonly Run[], {id}: Run): Run[] => runs.filter(run => run.undoOf === id && !run.dryRun && !isUndone(runs, run))

/** Whether an undo of the run ended without a stop. `runs`: all runs of the import. */
export const isUndone = (runs: readonly Run[], run: Run): boolean => undosOf(runs, run).some(({endedAt, stop}) => endedAt !== null && !stop)

/** Whether this undo is still in progress. `runs`: the newest runs of the import. An undo that they do not include ended long ago. */
export const isUndoActive = (runs: readonly Pick<Run, 'id' | 'endedAt'>[], undo: string): boolean =>
  runs.some(({id, endedAt}) => id === undo && endedAt === null)

/**
 * Whether an ended dry run stopped before it had all rows that a run may write. A dry run that stopped at the plan's rows per run has all of them.
 */
export const isPartial = ({stop}: Pick<Run, 'stop'>): boolean => stop !== null && stop.stopped !== 'LIMIT_ROWS_PER_RUN'

export const sayState = (run: Run) => describeRunState(run, count, t.states)

export const kindOf = ({dryRun, retryOf, undoOf}: Pick<Run, 'dryRun' | 'retryOf' | 'undoOf'>): string => {
  if (undoOf) return dryRun ? t.previewOfAnUndo : t.undo
  if (dryRun) return retryOf ? t.dryRunOfARetry : t.dryRunKind
  return retryOf ? t.retry : t.run
}

/** Says what stays after the run is cancelled, and how to continue. */
export const sayCancelEffect = (run: Pick<Run, 'dryRun' | 'undoOf' | 'deletes' | 'deleted' | 'engine'>): string => {
  if (run.dryRun) return t.nothingWasWrittenThePlanSoFar
  if (run.undoOf) return t.undoneRowsStayUndone
  if (run.engine !== 'worker') return t.rowsOfTheEngineStayInTheCrm
  return deletesRecords(run) ? t.deletedRecordsStayDeleted : t.rowsAlreadyWrittenStayInTheCrm
}

/** Returns how many questions of a run wait for an answer. A dry run waits for none. A retried run has none, because the retry takes them over. */
export const openQuestionsOf = ({
  dryRun,
  questions,
  questionsAnswered = 0,
  retriedBy = null,
}: Pick<Run, 'dryRun' | 'questions' | 'questionsAnswered' | 'retriedBy'>): number =>
  !dryRun && retriedBy === null ? questions - questionsAnswered : 0

/** Describes the row range of a run. Returns null for all rows. */
export const sayRange = (rows: Run['rows']): string | null => {
  if (!rows || (rows.from === undefined && rows.to === undefined)) return null
  const {from = 1, to} = rows
  if (to === undefined) return t.fromRowOn(count(from))
  return from === to ? t.rowOne(count(from)) : t.rowsTo(count(from), count(to))
}

/** Maps the id of each retried run to its retry. Dry runs are ignored. */
const laterOf = (runs: Run[]): Map<string, Run> => new Map(runs.flatMap(run => (run.retryOf && !run.dryRun ? [[run.retryOf, run]] : [])))

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
