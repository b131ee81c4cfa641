import type {Stop} from '../../sql/run-heads.ts'

/** A new run of a flow without a match would write its first rows again, so nobody is told to just start one. */
export const carriesOn = 'Rows without a result in results.csv were not reached: import those'

export const cancelled: Stop = {stopped: 'CANCELLED', message: `Somebody cancelled the run. ${carriesOn}`}

/** A run that has written all the rows it may. */
export const limitStop = ({rowsLimit, limitBy, counted}: {rowsLimit: number; limitBy: 'plan' | 'declaration'; counted: number}): Stop => ({
  stopped: 'LIMIT_ROWS_PER_RUN',
  message:
    limitBy === 'plan'
      ? `The plan lets one run write ${rowsLimit} rows. ${carriesOn}`
      : `The run was declared to write ${rowsLimit} rows. ${carriesOn}`,
  rowsPerRun: rowsLimit,
  stoppedBy: limitBy,
  rowsWrittenTotal: counted,
})
