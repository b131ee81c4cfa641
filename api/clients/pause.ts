export type Pause = (ms: number, signal?: AbortSignal) => Promise<void>

/** Waits for `ms` milliseconds. Rejects with the signal's reason if the signal aborts first. */
export const pause: Pause = (ms, signal) =>
  new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
      if (signal?.aborted) reject(signal.reason)
      else resolve()
    }
    const timer = setTimeout(end, ms)
    if (signal?.aborted) end()
    else signal?.addEventListener('abort', end, {once: true})
  })
