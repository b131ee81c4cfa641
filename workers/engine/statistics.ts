import type {Log} from '../../shared/log.ts'
import type {Hot} from '../../sql/database.ts'
import {refreshStatistics} from '../../sql/statistics.ts'

const marks = [2_000, 20_000, 200_000]
/** One at a time in this process: all its runs fill the same tables. */
let line: Promise<unknown> = Promise.resolve()

/** Told how many rows a run has written down, it asks for statistics as the run passes each mark. Nothing waits for them. */
export const openStatistics = ({hot, log}: {hot: Hot; log: Log}) => {
  let written = 0
  return (rows: number): void => {
    const before = written
    written += rows
    const mark = marks.findLast(mark => before < mark && written >= mark)
    if (mark !== undefined)
      line = line.then(() => refreshStatistics(hot, {fewerThan: mark})).catch(err => log.warn({err}, 'statistics not asked for'))
  }
}
