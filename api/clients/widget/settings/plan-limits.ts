import type {Json} from '../../http.ts'
import {t} from '../text/plan.ts'
import {bytes, count} from '../ui/format.ts'

export const describeLimits = ({limits}: Json): string =>
  [
    t.rowsAMonth(count(limits.rowsPerPeriod)),
    t.modules(count(limits.modules)),
    t.schedules(count(limits.schedules)),
    t.filesTo(bytes(limits.fileBytes)),
    t.daysOfHistory(count(limits.historyDays)),
    ...(limits.undoDays > 0 ? [t.daysToUndoARun(count(limits.undoDays))] : []),
    t.aiCreditsNamed(count(limits.aiCredits)),
  ].join(' · ')
