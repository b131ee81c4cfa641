/**
 * Returns a signal that aborts after `seconds` or with the caller's signal. Call `stop` when the work ends. `name`: the beginning of the time-out's
 * message.
 */
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
