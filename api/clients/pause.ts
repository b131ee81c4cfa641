export type Pause = (ms: number, signal?: AbortSignal) => Promise<void>

/** Waits for `ms` milliseconds. Rejects with the signal's reason if the signal aborts first. */
export const pause: Pause = (ms, signal) => {
  const {promise, resolve, reject} = Promise.withResolvers<void>()
  const end = () => reject(signal!.reason)
  const timer = setTimeout(resolve, ms)
  if (signal?.aborted) end()
  else signal?.addEventListener('abort', end, {once: true})
  return promise.finally(() => {
    clearTimeout(timer)
    signal?.removeEventListener('abort', end)
  })
}
