/** Runs `each` over the items, at most `width` at once, and answers in their order. After the first failure none is begun. */
export const inLanes = async <T, R>(items: readonly T[], width: number, each: (item: T) => Promise<R>): Promise<R[]> => {
  const results: R[] = []
  let next = 0
  const lane = async () => {
    while (next < items.length) {
      const index = next++
      try {
        results[index] = await each(items[index]!)
      } catch (error) {
        next = items.length
        throw error
      }
    }
  }
  await Promise.all(Array.from({length: Math.min(width, items.length)}, lane))
  return results
}

/** A gate that lets `width` pieces of work through at once, first come, first served. */
export const openGate = (width: number) => {
  const waiting: (() => void)[] = []
  let inside = 0
  return async <R>(work: () => Promise<R>): Promise<R> => {
    if (inside === width) await new Promise<void>(resolve => waiting.push(resolve))
    else inside++
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next) next()
      else inside--
    }
  }
}
