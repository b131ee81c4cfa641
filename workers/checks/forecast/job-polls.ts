/** The pauses between the polls of a job: the first, the growth, and the longest. */
const [firstPollSeconds, growth, longestPollSeconds] = [5, 1.5, 60] as const
/** A job may take longer than its usual time by so many polls. */
const latePolls = 2

/** Returns the most polls of a job of the CRM that usually takes so many seconds. The first poll follows its start at once. */
export const mostPolls = (seconds: number): number => {
  let polls = 1
  for (let [at, pause] = [0, firstPollSeconds as number]; at < seconds; at += pause, pause = Math.min(longestPollSeconds, pause * growth))
    polls++
  return polls + latePolls
}
