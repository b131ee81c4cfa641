import type {Readable} from 'node:stream'
import {Refusal} from '../errors.ts'
import {type Spooled, spool} from './spool.ts'

type Limits = {mostAtOnce?: number; mostKept?: number; keepMs?: number; directory?: string}
/** `onNext`: hears of the row that the next part of the file begins at. */
type Make = (onNext: (row: number) => void) => AsyncIterable<Uint8Array>
type Made = Spooled & {next: number | null}

/** A file that is whole. `body` must be read to its end or destroyed. `next`: the row that the next part begins at. */
export type Taken = {bytes: number; body: Readable; next: number | null}

type Shelf = {
  /** With a `key` the file is kept a while and handed to whoever asks for it by that, also while it is being made. */
  take(key: string | null, make: Make): Promise<Taken>
}

/**
 * Files made on request. Each may take 64 MB of disk and a core for seconds, so at most `mostAtOnce` are made at one time, whoever asks;
 * and at most `mostKept` are kept, for `keepMs`: whoever fetches one in two halves, or with a colleague, has it made once.
 */
export const openShelf = ({mostAtOnce = 4, mostKept = 8, keepMs = 600_000, ...place}: Limits = {}): Shelf => {
  const kept = new Map<string, Promise<Made>>()
  let making = 0

  const begin = async (make: Make): Promise<Made> => {
    if (making >= mostAtOnce)
      throw new Refusal('BUSY', 'Other files of results are being made: ask again in a few seconds', {retryAfterMs: 5_000})
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
  const drop = (key: string, spooling: Promise<Made>) => {
    if (kept.get(key) === spooling) kept.delete(key)
    void spooling.then(spooled => spooled.close()).catch(() => {})
  }
  const keep = (key: string, make: Make) => {
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
  const takeOnce = async (make: Make): Promise<Taken> => {
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
      // Dropped in the very moment it was whole.
      return body ? {bytes: spooled.bytes, body, next: spooled.next} : takeOnce(make)
    },
  }
}
