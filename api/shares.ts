import {Refusal} from '../shared/errors.ts'

type Limits = {most: number; mostInAll?: number; says: string; retryAfterMs?: number}

/**
 * How much of this process one of many may hold at once, and all of them together: the one too many is refused as BUSY. `take` answers what gives
 * it back; `hold` does so when the work is over.
 */
export const openShares = ({most, mostInAll = Number.POSITIVE_INFINITY, says, retryAfterMs = 2_000}: Limits) => {
  const held = new Map<string, number>()
  let all = 0
  const take = (whose: string): (() => void) => {
    const before = held.get(whose) ?? 0
    if (before >= most || all >= mostInAll) throw new Refusal('BUSY', says, {retryAfterMs})
    held.set(whose, before + 1)
    all++
    return () => {
      const left = held.get(whose)! - 1
      if (left > 0) held.set(whose, left)
      else held.delete(whose)
      all--
    }
  }
  const hold = async <T>(whose: string, work: () => Promise<T>): Promise<T> => {
    const giveBack = take(whose)
    try {
      return await work()
    } finally {
      giveBack()
    }
  }
  return {take, hold}
}

/** Of expressions an org tries, by whichever way: every org waits for the same few threads. */
export const {hold: holdTrial} = openShares({most: 4, says: 'The org tries four expressions already: ask again in a moment'})
