import {Refusal} from './errors.ts'

/** Work of which a process does only so much at once; more of it waits its turn, and what is too many is refused as BUSY. */
export const openLine = ({atOnce, mostWaiting, says}: {atOnce: number; mostWaiting: number; says: string}) => {
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
