/** Maps items in order, with up to `count` further items in progress while the caller handles a result. */
export async function* mapAhead<T, R>(source: AsyncIterable<T>, count: number, map: (item: T) => Promise<R>): AsyncGenerator<R> {
  const pending: Promise<R>[] = []
  try {
    for await (const item of source) {
      const mapped = map(item)
      mapped.catch(() => {})
      pending.push(mapped)
      if (pending.length > count) yield await pending.shift()!
    }
    while (pending.length) yield await pending.shift()!
  } finally {
    await Promise.allSettled(pending)
  }
}
