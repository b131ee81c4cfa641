/**
 * Keeps a promise of the batch in `inFlight` from the moment at which `send` calls `leaving`. The promise resolves when `send` ends, after
 * the settlement.
 */
export const trackInFlight = async <T>(inFlight: Set<Promise<void>>, send: (leaving: () => void) => Promise<T>): Promise<T> => {
  const {promise, resolve} = Promise.withResolvers<void>()
  try {
    return await send(() => void inFlight.add(promise))
  } finally {
    inFlight.delete(promise)
    resolve()
  }
}
