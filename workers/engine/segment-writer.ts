import {randomUUID} from 'node:crypto'
import {Readable} from 'node:stream'
import {setTimeout as sleep} from 'node:timers/promises'
import {packLines, SEGMENT_FORMAT} from '../../shared/runs/segment.ts'
import {sqlStateOf, type Tx} from '../../sql/database.ts'
import {findLastLine, insertLoose, insertSegments, lockSegments, nameLoose} from '../../sql/segments.ts'
import type {LedgerContext} from './context.ts'
import {LeaseLost, RunPaused} from './run-endings.ts'

/** A writer of a run's values to file storage. The values never enter the database. */
export type SegmentWriter<T> = {
  /** Resolves when the items are stored. */
  keep(items: T[]): Promise<void>
}

/**
 * `list`: the number of the list of segments. `what`: the plural noun for the values in log entries and in the message of a pause. `seal`:
 * encrypts an object.
 */
export type SegmentOptions = {
  list: number
  what: string
  nameObject(id: string): string
  seal?(packed: Buffer): Buffer
}

const tries = 3

type SegmentContext = Pick<LedgerContext, 'db' | 'storage' | 'run' | 'log'>

/** Opens a writer that stores the items of concurrent callers together. `gatherMs`: for how many ms items are collected into one object. */
export const openSegmentWriter = <T extends object>(
  ctx: SegmentContext,
  options: SegmentOptions & {gatherMs: number},
): SegmentWriter<T> => {
  let waiting: T[] = []
  let next: Promise<void> | null = null
  let last: Promise<unknown> = Promise.resolve()
  const begin = async () => {
    await sleep(options.gatherMs)
    await last.catch(() => {})
    const items = waiting
    waiting = []
    next = null
    last = storeSegment(ctx, options, items)
    await last
  }
  return {
    keep: async items => {
      if (items.length === 0) return
      waiting.push(...items)
      await (next ??= begin())
    },
  }
}

/**
 * Stores the items as one object, and adds the object to the list of segments in a transaction. `within`: further statements of that
 * transaction; if `within` returns false, the object is not added. A try with an unknown result is repeated, so `within` must notice an
 * earlier commit. Without `within`, and after a takeover, items may be stored twice: readers of such a list use the later ones. Pauses the run
 * after three failed tries.
 */
export const storeSegment = async (
  {db, storage, run, log}: SegmentContext,
  {list, what, nameObject, seal = same}: SegmentOptions,
  items: readonly object[],
  within: (tx: Tx) => Promise<boolean> = async () => true,
) => {
  const {packed, ...lines} = await packLines(items)
  for (let tried = 1; ; tried++) {
    const key = `${run.org}/runs/${run.id}/${nameObject(randomUUID())}`
    try {
      await insertLoose(db, key)
      await storage.put(key, Readable.from([seal(packed)]))
      return await db.transaction(async tx => {
        if (!(await within(tx))) return
        await lockSegments(tx, {run: run.no, list})
        const first = (await findLastLine(tx, {run: run.no, list})) + 1
        const segment = {list, first, last: first + lines.rows - 1, ...lines, format: SEGMENT_FORMAT, storage: storage.kind, key}
        await insertSegments(tx, {run: run.no, segments: [segment]})
        await nameLoose(tx, [key])
      })
    } catch (error) {
      if (error instanceof LeaseLost) throw error
      log.warn({err: error, state: sqlStateOf(error)}, `could not store values: ${what}`)
      if (tried === tries)
        throw new RunPaused('UNAVAILABLE', `The ${what} cannot be stored at the moment. The run resumes automatically`, 30)
      await sleep(200 * tried)
    }
  }
}

const same = (packed: Buffer) => packed
