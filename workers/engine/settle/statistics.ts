import type {Log} from '../../../shared/telemetry/log.ts'
import type {Hot} from '../../../sql/database.ts'
import {refreshStatistics} from '../../../sql/statistics.ts'

const marks = [2_000, 20_000, 200_000]
/** The queue of refreshes. This process makes one at a time, because all runs fill the same tables. */
let line: Promise<unknown> = Promise.resolve()

/** Waits until the refreshes in progress have ended, so that a shutdown does not close their connections. */
export const waitForStatistics = async (): Promise<void> => void (await line)

/**
 * Returns a function to call with the number of log entries that were just stored. When the total passes a number in `marks`, the function
 * refreshes the table statistics in the background. Leaves out tables for which the statistics already show that many rows.
 */
export const openStatistics = ({hot, log}: {hot: Hot; log: Log}) => {
  let written = 0
  return (rows: number): void => {
    const before = written
    written += rows
    const mark = marks.findLast(mark => before < mark && written >= mark)
    if (mark !== undefined)
      line = line.then(() => refreshStatistics(hot, {fewerThan: mark})).catch(err => log.warn({err}, 'could not refresh statistics'))
  }
}
