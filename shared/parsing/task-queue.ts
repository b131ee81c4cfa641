/** Tasks that wait for a thread, by org. */
export type Waiting = {org: string; start(): void}

/** How many tasks run at once: of all orgs, and of one. */
type Limits = {running: number; runningPerOrg: number}

/**
 * Starts the tasks of the org that was served longest ago, each org's in their order, so an org that sends many files delays its own alone.
 * `release` tells that a task of the org ended.
 */
export const openTaskQueue = (limits: Limits) => {
  const waiting: Waiting[] = []
  const running = new Map<string, number>()
  const served = new Map<string, number>()
  let [turn, total] = [0, 0]
  const runningOf = (org: string) => running.get(org) ?? 0
  const servedAt = (org: string) => served.get(org) ?? 0
  const remove = (task: Waiting) => {
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
    add: (task: Waiting) => void waiting.push(task),
    remove,
    /** Of all orgs, or of one. */
    count: (org?: string) => (org === undefined ? waiting.length : waiting.filter(task => task.org === org).length),
    /** As many as the limits allow. */
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
