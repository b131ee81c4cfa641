/** Takes a step again and again, never two at once. Each says in how many ms the next is due; it comes sooner when asked for. */
type Rhythm = {soon(): void; idle(): Promise<void>; stop(): Promise<void>}

/** Between the beginnings of two steps, however often one is asked for. */
const leastMs = 50

/** `step` never throws. None is taken before the first is asked for, nor after one that answered `Infinity` until the next is. */
export const openRhythm = (step: () => Promise<number>): Rhythm => {
  let timer: NodeJS.Timeout | undefined
  let under: Promise<void> | null = null
  let beganAt = Number.NEGATIVE_INFINITY
  let dueAt = Number.POSITIVE_INFINITY
  let stopped = false

  const plan = (ms: number) => {
    dueAt = Math.min(dueAt, Math.max(performance.now() + ms, beganAt + leastMs))
    if (under || stopped || dueAt === Number.POSITIVE_INFINITY) return
    clearTimeout(timer)
    timer = setTimeout(begin, Math.max(0, dueAt - performance.now()))
  }
  const begin = () => {
    beganAt = performance.now()
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
