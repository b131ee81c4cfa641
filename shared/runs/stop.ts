import type {RunStop} from '../../sql/run-heads.ts'
import type {Run} from '../../sql/runs.ts'

type ContinuableRun = Pick<Run, 'dryRun' | 'engine'> & Partial<Pick<Run, 'undoOf'>>

/** Returns the advice for a stopped run. The advice is to retry, because a new run would write the first rows again if a flow has no match fields. */
export const adviseToContinue = ({dryRun, engine, undoOf}: ContinuableRun): string => {
  if (undoOf != null) return 'Undo the run again to continue'
  if (dryRun) return 'Nothing was written. Start another dry run, or start the run'
  return engine === 'worker'
    ? 'Retry this run to continue. Rows it has written are not written again'
    : 'To continue, authorise another run for the remaining rows'
}

export const makeCancelledStop = (run: ContinuableRun): RunStop => ({
  stopped: 'CANCELLED',
  message: `The run was cancelled. ${adviseToContinue(run)}`,
})

type LimitedRun = Pick<Run, 'dryRun' | 'engine' | 'rowsLimit' | 'limitBy' | 'counted'>

/** A run counts the rows that it writes. A dry run counts the rows that it plans. */
export const limitStop = ({rowsLimit, limitBy, counted, ...run}: LimitedRun): RunStop => {
  const why = limitBy === 'plan' ? `The plan lets this run write ${rowsLimit} rows` : `The run was declared to write ${rowsLimit} rows`
  return {
    stopped: 'LIMIT_ROWS_PER_RUN',
    message: run.dryRun ? `A run would stop here: ${why.charAt(0).toLowerCase()}${why.slice(1)}` : `${why}. ${adviseToContinue(run)}`,
    rowsPerRun: rowsLimit,
    stoppedBy: limitBy,
    rowsWrittenTotal: counted,
  }
}
