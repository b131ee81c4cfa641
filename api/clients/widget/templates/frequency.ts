import {t} from '../text/schedules.ts'
/** Returns advice if the code says that the plan does not allow a schedule this frequent. Null for other codes. */
export const adviceFor = (code: string | null): string | null =>
  code === 'FEATURE_FREQUENT_SCHEDULES' ? t.yourPlanAllowsAScheduleToRun : null
