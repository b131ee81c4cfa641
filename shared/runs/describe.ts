import {
  countAt,
  filteredAt,
  isDeletedAt,
  isKeptEditsAt,
  isKeptRowsAt,
  isStaleAt,
  isUnchangedAt,
  type OutcomeName,
  outcomeNo,
  outcomeNoAt,
} from '../../sql/run-log.ts'
import type {Run} from '../../sql/runs.ts'
import {countsCredits} from '../crm/limits/quota-report.ts'
import {deletes} from '../mapping/flows/delete.ts'
import {rowsToRead, type Snapshot} from '../mapping/flows/snapshot.ts'
import {describeVerify} from './describe-verify.ts'
import type {FoundRun} from './find.ts'
import {Forecast} from './forecast/forecast.ts'

const FINAL: OutcomeName[] = ['created', 'updated', 'refused', 'unanswered', 'inherited', 'failed', 'skipped', 'planned']

/**
 * `counts`: rows per module and current outcome. `rows` and `progress`: null without a snapshot, as for an expired or an external run. Without one,
 * `deletes` says whether the run deleted a record.
 */
export const describeRun = ({run, importId, snapshot, names}: FoundRun) => {
  const deleted = sumOf(run, isDeletedAt)
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
    retriedBy: run.retriedBy,
    begunUndo: run.begunUndo,
    undoOf: run.undoOf,
    planOf: run.planOf,
    undo: run.undoOf === null ? null : undoOf(run),
    rows: snapshot?.rows ?? null,
    declaredRows: run.declaredRows,
    rowsPerRun: run.rowsLimit,
    rowsWritten: run.counted,
    overageRows: run.overageRows,
    counts,
    mayExistTwice: mayExistTwiceOf(run),
    linksEmpty: run.emptyLinks.map(({flow, field, rows}) => ({flowId: names.flows.find(({no}) => no === flow)?.id ?? null, field, rows})),
    unmapped: run.unmapped.map(({flow, field, cells}) => ({flowId: names.flows.find(({no}) => no === flow)?.id ?? '', field, cells})),
    deletes: snapshot?.flows.some(({flow}) => deletes(flow)) ?? (run.undoOf === null && deleted > 0),
    deleted,
    unchanged: sumOf(run, isUnchangedAt),
    planStale: sumOf(run, isStaleAt),
    keptEdits: sumOf(run, isKeptEditsAt),
    keptRows: sumOf(run, isKeptRowsAt),
    creditsSaved: countsCredits(run.connectorKind) ? Math.floor(sumOf(run, isUnchangedAt) / recordsPerCredit) : null,
    verify: describeVerify(run),
    routes: run.routes.map(({flow, ...route}) => ({flowId: names.flows.find(({no}) => no === flow)?.id ?? '', ...route})),
    forecast: forecastOf(run),
    cost: costOf(run),
    questions: run.questions,
    questionsAnswered: run.questionsAnswered,
    stale: run.stale,
    progress: snapshot && progressOf(run, snapshot),
    stop: run.stop,
    pause: run.pause,
    held: run.pause?.code === 'GUARD' ? run.held : null,
    stoppedBy: run.stoppedBy,
    outcome: run.outcome,
    authorisedAt: run.authorisedAt,
    startedAt: run.startedAt,
    endedAt: run.endedAt,
    expiredAt: run.expiredAt,
  }
}

/** `filtered`: the rows that a flow's filter excluded; the run log has no entries for them. */
const countsOf = ({counts}: Run, module: number) => ({
  ...Object.fromEntries(FINAL.map(outcome => [outcome, counts[countAt(module, outcome)] ?? 0])),
  filtered: counts[filteredAt(module)] ?? 0,
})

const TWICE = outcomeNo('made_after_no_answer')

/** Counts the rows whose record may exist twice, because a create got no answer and a later create was answered. */
const mayExistTwiceOf = ({counts}: Run) => counts.reduce((sum, count, at) => sum + (outcomeNoAt(at) === TWICE ? count : 0), 0)

/**
 * Returns how many rows an undo restored, deleted, or left because their record was changed since. For a dry run, returns the planned numbers. A row
 * is counted as restored if its record was written and not deleted.
 */
const undoOf = (run: Run) => {
  const deleted = sumOf(run, isDeletedAt)
  const written = sumOf(run, place => [outcomeNo('updated'), outcomeNo('planned')].includes(outcomeNoAt(place)))
  return {restored: written - deleted, deleted, changedSince: sumOf(run, isKeptRowsAt), strict: run.undoStrict}
}

/**
 * Returns the forecast that was stored when the run started, for comparison with `cost`. If all flows took one route that the forecast contains,
 * returns the numbers of that route, else the general numbers. Null if the run has no forecast.
 */
const forecastOf = ({forecast, routes: [first, ...others]}: Run) => {
  const {data} = Forecast.safeParse(forecast)
  if (!data) return null
  const isShared = others.every(({match, write}) => match === first!.match && write === first!.write)
  const taken = isShared && data.routes.find(({match, write}) => match === first?.match && write === (first.write ?? 'records'))
  const {credits, seconds} = taken || data
  return {credits: {min: credits.min, max: credits.max}, seconds}
}

const costOf = ({cost, connectorKind}: Run) => {
  const byKind = Object.fromEntries(Object.entries(cost).map(([kind, {credits}]) => [kind, credits]))
  return {
    calls: Object.values(cost).reduce((sum, {calls}) => sum + calls, 0),
    credits: countsCredits(connectorKind) ? Object.values(byKind).reduce((sum, credits) => sum + credits, 0) : null,
    byKind,
  }
}

/** Number of records that one CRM credit updates. Source: zoho.com/crm/developer/docs/api/v8/api-limits.html. */
const recordsPerCredit = 10

const sumOf = ({counts}: Run, isCounted: (place: number) => boolean) =>
  counts.reduce((sum, count, at) => sum + (isCounted(at) ? count : 0), 0)

/**
 * `etaSeconds`: the remaining time at the average rate since the start. Null unless the run is writing and has done a row. `total`: for an undo or a
 * row range, the most rows it may have. The exact number is known once such a run ends without a stop.
 */
const progressOf = (run: Run, {flows, sources, rows}: Pick<Snapshot, 'flows' | 'sources' | 'rows'>) => {
  const {state, counts, startedAt, endedAt} = run
  const done = counts.reduce((sum, count, at) => sum + (isCountedElsewhere(at) ? 0 : count), 0)
  const most = flows.reduce((sum, {sourceNo}) => sum + rowsToRead(sources.find(({no}) => no === sourceNo)!, rows), 0)
  const total = state === 'ended' && !run.stop && (run.undoOf !== null || rows) ? done : most
  const seconds = startedAt ? ((endedAt ? Date.parse(endedAt) : Date.now()) - Date.parse(startedAt)) / 1000 : 0
  const rowsPerSecond = seconds > 0 && done > 0 ? done / seconds : null
  const etaSeconds = rowsPerSecond === null || state !== 'writing' ? null : Math.max(0, total - done) / rowsPerSecond
  return {done, total, unit: 'rows', rowsPerSecond: rounded(rowsPerSecond), etaSeconds: rounded(etaSeconds)}
}

/** Whether the progress leaves out the count at this position, because it counts values, or rows that another position counts too. */
const isCountedElsewhere = (at: number) =>
  outcomeNoAt(at) === TWICE || isUnchangedAt(at) || isKeptEditsAt(at) || isKeptRowsAt(at) || isDeletedAt(at) || isStaleAt(at)

const rounded = (value: number | null) => (value === null ? null : Math.round(value * 10) / 10)
