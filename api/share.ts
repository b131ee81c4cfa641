import {Refusal} from '../shared/errors.ts'

/** How much of a process one of many may hold at once: a share is held while the work goes on, and the one too many is refused as BUSY. */
export const openShares = ({most, says}: {most: number; says: string}) => {
  const held = new Map<string, number>()
  return async <T>(whose: string, work: () => Promise<T>): Promise<T> => {
    const before = held.get(whose) ?? 0
    if (before >= most) throw new Refusal('BUSY', says, {retryAfterMs: 2_000})
    held.set(whose, before + 1)
    try {
      return await work()
    } finally {
      const left = held.get(whose)! - 1
      if (left > 0) held.set(whose, left)
      else held.delete(whose)
    }
  }
}

/** Of expressions an org tries, by whichever way: every org waits for the same few threads. */
export const holdTrial = openShares({most: 4, says: 'The org tries four expressions already: ask again in a moment'})
