/**
 * Waits until every promise has settled, then resolves or rejects like `Promise.all`. A caller that fails thus leaves no pending calls behind.
 */
export const settleAll = async <T>(promises: Promise<T>[]): Promise<T[]> => {
  await Promise.allSettled(promises)
  return Promise.all(promises)
}
