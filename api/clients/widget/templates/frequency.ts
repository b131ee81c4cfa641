import {t} from '../text/schedules.ts'
/** Returns advice if the plan does not allow so frequent a schedule, or null for other codes. */
export const adviceFor = (code: string | null): string | null =>
  code === 'FEATURE_FREQUENT_SCHEDULES' ? t.yourPlanAllowsAScheduleToRun : null
