import type {Json} from '../../http.ts'
import {bytes, count} from '../ui/format.ts'

/** Describes the limits of a plan in one line. */
export const describeLimits = ({limits}: Json): string =>
  [
    `${count(limits.rowsPerPeriod)} rows a month`,
    `${count(limits.modules)} modules`,
    `${count(limits.schedules)} schedules`,
    `files to ${bytes(limits.fileBytes)}`,
    `${count(limits.historyDays)} days of history`,
    ...(limits.undoDays > 0 ? [`${count(limits.undoDays)} days to undo a run`] : []),
    `${count(limits.aiCredits)} AI credits`,
  ].join(' · ')
