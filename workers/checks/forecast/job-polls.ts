/**
 * The pauses between polls of a bulk write, as the engine makes them: the first pause, its growth factor, and the longest pause. An export is
 * polled more often (`export-module.ts`), so the forecast may be up to 20 credits too low for each export job.
 */
const [firstPollSeconds, growth, longestPollSeconds] = [5, 1.5, 60] as const
/** The extra polls of a job that takes longer than usual. */
const latePolls = 2

/** Returns the maximum number of polls of a job that usually takes `seconds`. The first poll follows the creation of the job at once. */
export const maxPollsOf = (seconds: number): number => {
  let polls = 1
  for (let [at, pause] = [0, firstPollSeconds as number]; at < seconds; at += pause, pause = Math.min(longestPollSeconds, pause * growth))
    polls++
  return polls + latePolls
}
