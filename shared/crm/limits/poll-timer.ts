/** Repeats a step, never two at once. Each step returns the milliseconds until the next one. `soon` starts the next step earlier. */
type PollTimer = {soon(): void; idle(): Promise<void>; stop(): Promise<void>}

/** At most five steps in a quarter of a second. Several changes that follow one another are thus handled at once, but never more often on average. */
const [mostSteps, inMs] = [5, 250]
const leastMs = 10

/** Opens a timer. `step` must not throw. The first step waits for `soon`, as does the step after one that returned `Infinity`. */
export const openPollTimer = (step: () => Promise<number>): PollTimer => {
  let timer: NodeJS.Timeout | undefined
  let under: Promise<void> | null = null
  const begun: number[] = new Array(mostSteps).fill(Number.NEGATIVE_INFINITY)
  let dueAt = Number.POSITIVE_INFINITY
  let stopped = false

  const plan = (ms: number) => {
    dueAt = Math.min(dueAt, Math.max(performance.now() + ms, begun.at(-1)! + leastMs, begun[0]! + inMs))
    if (under || stopped || dueAt === Number.POSITIVE_INFINITY) return
    clearTimeout(timer)
    timer = setTimeout(begin, Math.max(0, dueAt - performance.now()))
  }
  const begin = () => {
    begun.push(performance.now())
    begun.shift()
    dueAt = Number.POSITIVE_INFINITY
    under = step().then(ms => {
      under = null
      plan(ms)
    })
  }
  const idle = async () => {
    await under
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
