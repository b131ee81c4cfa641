/** Repeats a step, never two at once. `soon` starts the next step as early as the limits below allow. `idle` waits for the step in progress. */
type PollTimer = {soon(): void; idle(): Promise<void>; stop(): Promise<void>}

/** At most five steps begin in 250 ms. Thus a few changes in a row cause immediate steps, and the average is at most 20 steps a second. */
const [mostSteps, inMs] = [5, 250]
const minGapMs = 10

/**
 * Opens a timer. `step` returns the milliseconds until the next step and must not throw. Before the first step, and after a step that returns
 * `Infinity`, the timer waits for `soon`.
 */
export const openPollTimer = (step: () => Promise<number>): PollTimer => {
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> | null = null
  const begun: number[] = new Array(mostSteps).fill(Number.NEGATIVE_INFINITY)
  let dueAt = Number.POSITIVE_INFINITY
  let stopped = false

  const plan = (ms: number) => {
    dueAt = Math.min(dueAt, Math.max(performance.now() + ms, begun.at(-1)! + minGapMs, begun[0]! + inMs))
    if (running || stopped || dueAt === Number.POSITIVE_INFINITY) return
    clearTimeout(timer)
    timer = setTimeout(begin, Math.max(0, dueAt - performance.now()))
  }
  const begin = () => {
    begun.push(performance.now())
    begun.shift()
    dueAt = Number.POSITIVE_INFINITY
    running = step().then(ms => {
      running = null
      plan(ms)
    })
  }
  const idle = async () => {
    await running
  }
  return {
    soon: () => plan(0),
    idle,
    stop: () => {
      stopped = true
      clearTimeout(timer)
      return idle()
    },
  }
}
