import {Refusal} from '../shared/errors.ts'

type Limits = {most: number; mostInAll?: number; says: string; retryAfterMs?: number}

/**
 * Limits concurrent work per key and in total. Work beyond a limit is refused with BUSY. `take` starts one unit of work and returns the function that
 * ends it. `hold` runs `work` as one such unit.
 */
export const openKeyedLimiter = ({most, mostInAll = Number.POSITIVE_INFINITY, says, retryAfterMs = 2_000}: Limits) => {
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

/** Limits concurrent expression tests per org, because all orgs share a few threads. */
export const {hold: holdTrial} = openKeyedLimiter({most: 4, says: 'The org is already testing four expressions. Try again in a moment'})
