export type QueuedTask = {org: string; start(): void}

/** The maximum number of running tasks: of all orgs together, and of one org. */
type Limits = {running: number; runningPerOrg: number}

/**
 * The next task is one of the org whose last task started longest ago, so an org with many files mainly delays its own tasks. Tasks of one org start
 * in order. Call `release` when a task of the org ends.
 */
export const openTaskQueue = (limits: Limits) => {
  const waiting: QueuedTask[] = []
  const running = new Map<string, number>()
  const served = new Map<string, number>()
  let [turn, total] = [0, 0]
  const runningOf = (org: string) => running.get(org) ?? 0
  const servedAt = (org: string) => served.get(org) ?? 0
  const remove = (task: QueuedTask) => {
    const at = waiting.indexOf(task)
    if (at >= 0) waiting.splice(at, 1)
    return at >= 0
  }
  const findNext = () => {
    if (total >= limits.running) return undefined
    const [first, ...others] = waiting.filter(({org}) => runningOf(org) < limits.runningPerOrg)
    return first && others.reduce((best, task) => (servedAt(task.org) < servedAt(best.org) ? task : best), first)
  }
  return {
    add: (task: QueuedTask) => void waiting.push(task),
    remove,
    count: (org?: string) => (org === undefined ? waiting.length : waiting.filter(task => task.org === org).length),
    startNext: () => {
      for (;;) {
        const next = findNext()
        if (!next) return
        remove(next)
        total++
        running.set(next.org, runningOf(next.org) + 1)
        served.set(next.org, ++turn)
        next.start()
      }
    },
    release: (org: string) => {
      total--
      running.set(org, runningOf(org) - 1)
      if (runningOf(org) > 0 || waiting.some(task => task.org === org)) return
      running.delete(org)
      served.delete(org)
    },
  }
}
