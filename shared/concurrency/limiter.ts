import {Refusal} from '../errors.ts'

/**
 * Limits concurrent work in this process to `atOnce`. Further work waits and starts in order, also after a failure. With `bound`, further work is
 * refused as BUSY while `mostWaiting` calls wait.
 */
export const openLimiter = (atOnce: number, bound?: {mostWaiting: number; says: string}) => {
  let running = 0
  const line: (() => void)[] = []
  return async <T>(work: () => Promise<T>): Promise<T> => {
    if (running >= atOnce) {
      if (bound && line.length >= bound.mostWaiting) throw new Refusal('BUSY', bound.says, {retryAfterMs: 2_000})
      await new Promise<void>(resolve => line.push(resolve))
    } else running++
    try {
      return await work()
    } finally {
      const next = line.shift()
      if (next) next()
      else running--
    }
  }
}
