/** Combines a time-out and the caller's signal. `stop` clears the time-out and removes the listener from the caller's signal. */
export const startClock = (seconds: number, signal: AbortSignal | undefined, name = 'No complete answer') => {
  const controller = new AbortController()
  const abort = () => controller.abort(signal?.reason)
  if (signal?.aborted) abort()
  const timer = setTimeout(() => controller.abort(new DOMException(`${name} in ${seconds} s`, 'TimeoutError')), seconds * 1000)
  signal?.addEventListener('abort', abort, {once: true})
  return {
    signal: controller.signal,
    stop: () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', abort)
    },
  }
}
