import {countAt, filteredAt, type Outcome, outcomeNo, outcomeNoAt} from '../../sql/run-log.ts'
import type {Run} from '../../sql/runs.ts'
import {rowsToRead, type Snapshot} from '../flows/snapshot.ts'
import type {FoundRun} from './find.ts'

/** Outcomes that can be a row's last word. */
const FINAL: Outcome[] = ['created', 'updated', 'refused', 'unanswered', 'inherited', 'failed', 'skipped', 'planned']

/**
 * A run as the API answers it. `counts` are rows by module and by what has become of them so far. `progress` is null where an outside
 * engine carries it: how many rows there are is known to that engine alone.
 */
export const describeRun = ({run, importId, snapshot, names}: FoundRun) => {
  const counts = Object.fromEntries(names.modules.map(({no, apiName}) => [apiName, countsOf(run, no)]))
  return {
    id: run.id,
    importId,
    connectorId: run.connectorId,
    templateId: run.templateId,
    state: run.state,
    engine: run.engine,
    dryRun: run.dryRun,
    retryOf: run.retryOf,
    rows: snapshot?.rows ?? null,
    declaredRows: run.declaredRows,
    rowsPerRun: run.rowsLimit,
    rowsWritten: run.counted,
    overageRows: run.overageRows,
    counts,
    mayExistTwice: mayExistTwiceOf(run),
    questions: run.questions,
    progress: snapshot && progressOf(run, snapshot),
    stop: run.stop,
    pause: run.pause,
    stoppedBy: run.stoppedBy,
    outcome: run.outcome,
    authorisedAt: run.authorisedAt,
    startedAt: run.startedAt,
    endedAt: run.endedAt,
    expiredAt: run.expiredAt,
  }
}

/** `filtered`: rows that a flow's filter kept back; the log says nothing of them. */
const countsOf = ({counts}: Run, module: number) => ({
  ...Object.fromEntries(FINAL.map(outcome => [outcome, counts[countAt(module, outcome)] ?? 0])),
  filtered: counts[filteredAt(module)] ?? 0,
})

const TWICE = outcomeNo('made_after_no_answer')

/** Rows whose record may exist twice: a create of theirs was never answered, and another one was. */
const mayExistTwiceOf = ({counts}: Run) => counts.reduce((sum, count, at) => sum + (outcomeNoAt(at) === TWICE ? count : 0), 0)

/** Rows of all flows together. `etaSeconds` uses the average rate since the start; it is null unless the run is writing. */
const progressOf = ({state, counts, startedAt, endedAt}: Run, {flows, sources, rows}: Pick<Snapshot, 'flows' | 'sources' | 'rows'>) => {
  const done = counts.reduce((sum, count, at) => sum + (outcomeNoAt(at) === TWICE ? 0 : count), 0)
  const total = flows.reduce((sum, {sourceNo}) => sum + rowsToRead(sources.find(({no}) => no === sourceNo)!, rows), 0)
  const seconds = startedAt ? ((endedAt ? Date.parse(endedAt) : Date.now()) - Date.parse(startedAt)) / 1000 : 0
  const rowsPerSecond = seconds > 0 && done > 0 ? done / seconds : null
  const etaSeconds = rowsPerSecond === null || state !== 'writing' ? null : Math.max(0, total - done) / rowsPerSecond
  return {done, total, unit: 'rows', rowsPerSecond: rounded(rowsPerSecond), etaSeconds: rounded(etaSeconds)}
}

const rounded = (value: number | null) => (value === null ? null : Math.round(value * 10) / 10)
