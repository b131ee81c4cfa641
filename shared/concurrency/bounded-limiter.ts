import {Refusal} from '../errors.ts'

/** Limits concurrent work in this process. Further work waits in a queue. If more than `mostWaiting` would wait, the work is refused as BUSY. */
export const openBoundedLimiter = ({atOnce, mostWaiting, says}: {atOnce: number; mostWaiting: number; says: string}) => {
  let running = 0
  const line: (() => void)[] = []
  return async <T>(work: () => Promise<T>): Promise<T> => {
    if (running >= atOnce) {
      if (line.length >= mostWaiting) throw new Refusal('BUSY', says, {retryAfterMs: 2_000})
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
