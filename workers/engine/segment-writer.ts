import {randomUUID} from 'node:crypto'
import {Readable} from 'node:stream'
import {setTimeout as sleep} from 'node:timers/promises'
import {packLines, SEGMENT_FORMAT} from '../../shared/runs/segment.ts'
import {sqlStateOf} from '../../sql/database.ts'
import {findLastLine, insertLoose, insertSegments, lockSegments, nameLoose} from '../../sql/segments.ts'
import type {LedgerContext} from './context.ts'
import {RunPaused} from './run-endings.ts'

/** Stores values of a running run in file storage, never in the database. */
export type SegmentWriter<T> = {
  /** Resolves when the items are stored. */
  keep(items: T[]): Promise<void>
}

/**
 * `list`: the list of segments. `what`: the noun for log and pause. `gatherMs`: the time in ms during which items are collected into one
 * object; every caller waits at least this long. `seal`: encrypts an object.
 */
type SegmentWriterOptions = {
  list: number
  what: string
  gatherMs: number
  nameObject(id: string): string
  seal?(packed: Buffer): Buffer
}

const tries = 3

type SegmentContext = Pick<LedgerContext, 'db' | 'storage' | 'run' | 'log'>

/** Opens a writer that stores the items of concurrent callers together. */
export const openSegmentWriter = <T extends object>(ctx: SegmentContext, options: SegmentWriterOptions): SegmentWriter<T> => {
  let waiting: T[] = []
  let next: Promise<void> | null = null
  let last: Promise<unknown> = Promise.resolve()
  const begin = async () => {
    await sleep(options.gatherMs)
    await last.catch(() => {})
    const items = waiting
    waiting = []
    next = null
    last = store(ctx, options, items)
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

const store = async (
  {db, storage, run, log}: SegmentContext,
  {list, what, nameObject, seal = same}: SegmentWriterOptions,
  items: readonly object[],
) => {
  const {packed, ...lines} = await packLines(items)
  for (let tried = 1; ; tried++) {
    const key = `${run.org}/runs/${run.id}/${nameObject(randomUUID())}`
    try {
      await insertLoose(db, key)
      await storage.put(key, Readable.from([seal(packed)]))
      return await db.transaction(async tx => {
        await lockSegments(tx, {run: run.no, list})
        const first = (await findLastLine(tx, {run: run.no, list})) + 1
        const segment = {list, first, last: first + lines.rows - 1, ...lines, format: SEGMENT_FORMAT, storage: storage.kind, key}
        await insertSegments(tx, {run: run.no, segments: [segment]})
        await nameLoose(tx, [key])
      })
    } catch (error) {
      log.warn({err: error, state: sqlStateOf(error)}, `could not store values: ${what}`)
      if (tried === tries)
        throw new RunPaused('UNAVAILABLE', `The ${what} cannot be stored at the moment. The run resumes automatically`, 30)
      await sleep(200 * tried)
    }
  }
}

const same = (packed: Buffer) => packed
