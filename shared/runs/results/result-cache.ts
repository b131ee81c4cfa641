import type {Readable} from 'node:stream'
import {Refusal} from '../../errors.ts'
import {type SpooledFile, spool} from './spool.ts'

type Limits = {mostAtOnce?: number; mostKept?: number; keepMs?: number; directory?: string}
/** Calls `onNext` with the first row of the file's next part, if there is one. */
type MakeResult = (onNext: (row: number) => void) => AsyncIterable<Uint8Array>
type CachedResult = SpooledFile & {next: number | null}

/** `body`: must be read to its end or destroyed. `next`: the first row of the next part; null if there is none. */
export type ResultStream = {bytes: number; body: Readable; next: number | null}

type ResultCache = {
  /** A file with a `key` is cached, and shared with all callers of that key even while it is being made. */
  take(key: string | null, make: MakeResult): Promise<ResultStream>
}

/**
 * Makes and caches result files. A file takes up to 64 MB of disk and a CPU core for seconds, so at most `mostAtOnce` files are made at a
 * time; further calls throw BUSY. At most `mostKept` files are cached, each for `keepMs`, so that several downloads of one file make it once.
 */
export const openResultCache = ({mostAtOnce = 4, mostKept = 8, keepMs = 600_000, ...place}: Limits = {}): ResultCache => {
  const kept = new Map<string, Promise<CachedResult>>()
  let making = 0

  const begin = async (make: MakeResult): Promise<CachedResult> => {
    if (making >= mostAtOnce)
      throw new Refusal('BUSY', 'Too many result files are being made at the moment. Try again in a few seconds', {retryAfterMs: 5_000})
    making++
    try {
      let next: number | null = null
      const spooled = await spool(
        make(row => {
          next = row
        }),
        place,
      )
      return {...spooled, next}
    } finally {
      making--
    }
  }
  const drop = (key: string, spooling: Promise<CachedResult>) => {
    if (kept.get(key) === spooling) kept.delete(key)
    void spooling.then(spooled => spooled.close()).catch(() => {})
  }
  const keep = (key: string, make: MakeResult) => {
    const spooling = begin(make)
    kept.set(key, spooling)
    spooling.then(
      () => setTimeout(() => drop(key, spooling), keepMs).unref(),
      () => drop(key, spooling),
    )
    if (kept.size > mostKept) {
      const [oldest, spooled] = kept.entries().next().value!
      drop(oldest, spooled)
    }
    return spooling
  }
  const takeOnce = async (make: MakeResult): Promise<ResultStream> => {
    const spooled = await begin(make)
    const body = spooled.open()!
    await spooled.close()
    return {bytes: spooled.bytes, body, next: spooled.next}
  }
  return {
    async take(key, make) {
      if (key === null) return takeOnce(make)
      const spooled = await (kept.get(key) ?? keep(key, make))
      const body = spooled.open()
      // The cache may have dropped the file just after the file was complete. Then the file is made again.
      return body ? {bytes: spooled.bytes, body, next: spooled.next} : takeOnce(make)
    },
  }
}
