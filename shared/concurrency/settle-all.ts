/** Waits until every promise has settled, then resolves or rejects like `Promise.all`. So a caller that fails leaves no pending calls behind. */
export const settleAll = async <T>(promises: Promise<T>[]): Promise<T[]> => {
  await Promise.allSettled(promises)
  return Promise.all(promises)
}
