import type {Stop} from '../../sql/run-heads.ts'
import type {Run} from '../../sql/runs.ts'

/** A second run of a flow without a match would write its first rows again; a retry passes over what its chain has written. */
export const carriesOn = ({dryRun, engine}: Pick<Run, 'dryRun' | 'engine'>): string => {
  if (dryRun) return 'Nothing was written: start another dry run, or the run itself'
  return engine === 'worker'
    ? 'Retry this run to carry on: rows it has written are not written again'
    : 'To carry on, authorise another run for the rows that are left'
}

export const cancelled = (run: Pick<Run, 'dryRun' | 'engine'>): Stop => ({
  stopped: 'CANCELLED',
  message: `Somebody cancelled the run. ${carriesOn(run)}`,
})

type Limited = Pick<Run, 'dryRun' | 'engine' | 'rowsLimit' | 'limitBy' | 'counted'>

/** A run that has written all the rows it may, or a dry one that has planned them. */
export const limitStop = ({rowsLimit, limitBy, counted, ...run}: Limited): Stop => {
  const why = limitBy === 'plan' ? `The plan lets this run write ${rowsLimit} rows` : `The run was declared to write ${rowsLimit} rows`
  return {
    stopped: 'LIMIT_ROWS_PER_RUN',
    message: run.dryRun ? `A run would stop here: ${why.charAt(0).toLowerCase()}${why.slice(1)}` : `${why}. ${carriesOn(run)}`,
    rowsPerRun: rowsLimit,
    stoppedBy: limitBy,
    rowsWrittenTotal: counted,
  }
}
