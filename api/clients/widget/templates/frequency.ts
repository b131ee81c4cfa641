/** What to do where the plan does not allow a schedule as frequent as this one; null for any other code. */
export const adviceFor = (code: string | null): string | null =>
  code === 'FEATURE_FREQUENT_SCHEDULES'
    ? 'Your plan allows a schedule every five minutes at most, such as “*/5 * * * *”. Choose a longer interval, or a plan that allows every minute.'
    : null
