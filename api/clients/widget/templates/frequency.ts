/** Returns advice if the plan does not allow so frequent a schedule, or null for other codes. */
export const adviceFor = (code: string | null): string | null =>
  code === 'FEATURE_FREQUENT_SCHEDULES'
    ? 'Your plan allows a schedule to run at most every five minutes, for example “*/5 * * * *”. Choose a longer interval, or a plan that allows every minute.'
    : null
