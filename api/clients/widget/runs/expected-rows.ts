import type {ImportProgress} from '../imports/steps.ts'
import {type Run, sayRange} from './run.ts'
import {sumCounts} from './tally.ts'

/**
 * The expected numbers of rows of the next run, from the last dry run or check. `isExact`: false if more rows may need attention or be skipped.
 */
export type ExpectedRows = {ready: number; attention: number; skipped: number; isExact: boolean}

/**
 * Returns what a run over all rows would do, from an up-to-date dry run, else from an up-to-date check. Null if neither exists. A dry run is used
 * only if no other run ended after it, because a later run may have written the rows.
 */
export const expectRows = ({checks, runs}: Pick<ImportProgress, 'checks' | 'runs'>, rows: number): ExpectedRows | null => {
  const isOther = ({dryRun, rows, retryOf, undoOf}: Run) => dryRun && (sayRange(rows) !== null || retryOf !== null || Boolean(undoOf))
  const tried = (runs as unknown as Run[]).find(run => run.endedAt !== null && !isOther(run))
  if (tried?.dryRun && tried.stale === false && !tried.stop) return rowsOfPreview(tried)
  return checks && checks.checks.endedAt !== null && !checks.checks.stale ? fromCheck(checks, rows) : null
}

export const rowsOfPreview = ({counts}: Pick<Run, 'counts'>): ExpectedRows => {
  const {planned, failed, refused, unanswered, skipped} = sumCounts(counts)
  return {ready: planned, attention: failed + refused + unanswered, skipped, isExact: true}
}

/** Counts the rows with errors. A check lists only the first rows of a problem, so the count may be a lower limit. */
const fromCheck = ({problems, nextCursor}: NonNullable<ImportProgress['checks']>, rows: number): ExpectedRows | null => {
  const errors = problems.filter(({severity}) => severity === 'error')
  // An error without row numbers concerns the whole import, so no count of its rows would be correct.
  if (errors.some(one => one.rows.length === 0)) return null
  const wrong = new Set(errors.flatMap(({source, flow, rows: numbers}) => numbers.map(number => `${source} ${flow} ${number}`)))
  const largest = Math.max(0, ...errors.map(({count}) => count))
  const isWhole = !nextCursor && errors.every(({count, rows: numbers}) => count === numbers.length)
  const attention = isWhole ? wrong.size : Math.max(wrong.size, largest)
  // If a filter or guard excludes rows, the check lists a problem that is no error, has a flow and has no field.
  const isExact = isWhole && !problems.some(({severity, flow, field}) => severity !== 'error' && flow !== null && field === null)
  return {ready: Math.max(0, rows - attention), attention, skipped: 0, isExact}
}
