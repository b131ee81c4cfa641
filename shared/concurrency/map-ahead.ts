type MapAheadOptions = {
  /** Maximum number of items in progress while the caller handles a result. */
  count: number
  /** Whether another item may start. Left out: only `count` is the limit. If no item is in progress, the next one starts in any case. */
  hasRoom?(): boolean
}

/** Maps items in order, with further items in progress while the caller handles a result. */
export async function* mapAhead<T, R>(
  source: AsyncIterable<T>,
  {count, hasRoom = () => true}: MapAheadOptions,
  map: (item: T) => Promise<R>,
): AsyncGenerator<R> {
  const pending: Promise<R>[] = []
  try {
    for await (const item of source) {
      const mapped = map(item)
      mapped.catch(() => {})
      pending.push(mapped)
      while (pending.length > count || (pending.length > 0 && !hasRoom())) yield await pending.shift()!
    }
    while (pending.length) yield await pending.shift()!
  } finally {
    await Promise.allSettled(pending)
  }
}
