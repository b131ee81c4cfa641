import {settleAll} from './settle-all.ts'

/**
 * Runs `each` over the items, at most `width` at once, and returns the results in order. After the first failure, no further item starts. Rejects
 * once the items in progress have ended.
 */
export const mapConcurrent = async <T, R>(items: readonly T[], width: number, each: (item: T) => Promise<R>): Promise<R[]> => {
  const results: R[] = []
  let next = 0
  const lane = async () => {
    while (next < items.length) {
      const index = next++
      try {
        results[index] = await each(items[index]!)
      } catch (error) {
        next = items.length
        throw error
      }
    }
  }
  await settleAll(Array.from({length: Math.min(width, items.length)}, lane))
  return results
}
