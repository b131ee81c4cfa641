import type {Tools} from '../tools.ts'

type Lanes<T> = {most: number; claim(): Promise<T | null>; work(claimed: T): Promise<void>}

/**
 * Works off what can be claimed in as many lanes as there is work for, at most `most`: a lane that has claimed something opens another
 * beside it, and one that finds nothing ends. Whoever looks waits for none of them.
 */
export const openLanes = <T>({drain, log}: Pick<Tools, 'drain' | 'log'>, {most, claim, work}: Lanes<T>) => {
  const open = new Set<Promise<void>>()

  const look = () => {
    if (drain.aborted || open.size >= most) return
    const lane = run().catch(err => {
      if (!drain.aborted) log.warn({err}, 'a lane broke off; another is opened at the next look')
    })
    open.add(lane)
    void lane.then(() => open.delete(lane))
  }

  const run = async () => {
    while (!drain.aborted) {
      const claimed = await claim()
      if (claimed === null) return
      look()
      await work(claimed)
    }
  }

  return {look, ended: async () => void (await Promise.all(open))}
}
