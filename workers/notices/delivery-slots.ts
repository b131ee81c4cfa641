import type {WorkerDeps} from '../deps.ts'

type DeliverySlots<T> = {most: number; claim(): Promise<T | null>; work(claimed: T): Promise<void>}

/**
 * Processes claimable work with up to `most` claims at the same time. Each successful claim starts a further attempt to claim. `look` starts
 * an attempt to claim and returns immediately. `ended` waits for all claims in progress.
 */
export const openDeliverySlots = <T>({drain, log}: Pick<WorkerDeps, 'drain' | 'log'>, {most, claim, work}: DeliverySlots<T>) => {
  const open = new Set<Promise<void>>()

  const look = () => {
    if (drain.aborted || open.size >= most) return
    const lane = run().catch(err => {
      if (!drain.aborted) log.warn({err}, 'a delivery lane failed; the next round opens another')
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
