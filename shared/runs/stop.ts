import type {Stop} from '../../sql/run-heads.ts'

/** A new run of a flow without a match would write its first rows again, so nobody is told to just start one. */
export const carriesOn = 'Rows without a result in results.csv were not reached: import those'

export const cancelled: Stop = {stopped: 'CANCELLED', message: `Somebody cancelled the run. ${carriesOn}`}
