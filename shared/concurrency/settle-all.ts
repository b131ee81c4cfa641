/**
 * Waits until every promise has settled, then resolves or rejects like `Promise.all`. So no call is still pending when the caller handles a failure.
 */
export const settleAll = async <T>(promises: Promise<T>[]): Promise<T[]> => {
  await Promise.allSettled(promises)
  return Promise.all(promises)
}
