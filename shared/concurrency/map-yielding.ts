import {setImmediate} from 'node:timers/promises'

const longestMs = 8

/** Maps items one by one and yields to the event loop every 8 ms. One call of `map` should take far less. */
export const mapYielding = async <T, U>(items: readonly T[], map: (item: T, at: number) => U): Promise<U[]> => {
  const mapped: U[] = []
  let since = performance.now()
  for (const [at, item] of items.entries()) {
    mapped.push(map(item, at))
    if (performance.now() - since < longestMs) continue
    await setImmediate()
    since = performance.now()
  }
  return mapped
}
