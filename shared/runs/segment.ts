import {createHash} from 'node:crypto'
import {buffer} from 'node:stream/consumers'
import {promisify} from 'node:util'
import {gunzip, gzip} from 'node:zlib'
import type {Segment} from '../../sql/segments.ts'
import {Refusal} from '../errors.ts'
import type {Storage} from '../storage.ts'

/** Of the lines in it. Another build's is refused above our own (`FROM_FUTURE`). */
export const SEGMENT_FORMAT = 1
export const linesPerSegment = 10_000
/** Far more than so many lines take, their words cut as they are. */
const mostBytes = 256 * 1024 ** 2
const askAgainMs = 60_000
const lineFeed = 10

const pack = promisify(gzip)
const unpack = promisify(gunzip)

/** Lines of JSON, packed. What is said of them is said of the lines. */
export const packLines = async (items: readonly object[]) => {
  const lines = Buffer.from(items.map(item => `${JSON.stringify(item)}\n`).join(''))
  return {packed: await pack(lines), rows: items.length, bytes: lines.length, sha256: digest(lines)}
}

/** The lines of a stored segment, compared with what was written down of them. Throws what hinders it. */
export const unpackLines = async (storage: Storage, {key, bytes, sha256}: Pick<Segment, 'key' | 'bytes' | 'sha256'>): Promise<Buffer> => {
  const lines = await unpack(await buffer(await storage.read(key)), {maxOutputLength: mostBytes})
  if (lines.length !== bytes || digest(lines) !== sha256) throw new Error(`What is stored as ${key} is not what was put there`)
  return lines
}

/** As `unpackLines`, for somebody who asks: what cannot be read now is asked for again, what another deployment keeps is not here. */
export const readLines = async (storage: Storage, segment: Segment): Promise<Buffer> => {
  if (segment.format > SEGMENT_FORMAT)
    throw new Refusal('FROM_FUTURE', "A newer version of this service wrote the run's records: this one cannot read them. Update it")
  if (segment.storage !== storage.kind)
    throw new Refusal(
      'NOT_CONFIGURED',
      `The run's records are in a storage of the kind "${segment.storage}", which this deployment is not set up for. Its operator can set it up`,
    )
  try {
    return await unpackLines(storage, segment)
  } catch (cause) {
    const moving = new Refusal('RECORDS_MOVING', "The run's records cannot be read from storage just now: ask again in a minute", {
      retryAfterMs: askAgainMs,
    })
    moving.cause = cause
    throw moving
  }
}

/**
 * At most `count` items, from the first that is not `before` on; without it from the first line. Halves its way there, so that the lines'
 * end costs what their beginning does: no item may be `before` behind one that is not.
 */
export const itemsOf = <T>(
  lines: Buffer,
  {before, count = Number.POSITIVE_INFINITY}: {before?: (item: T) => boolean; count?: number} = {},
): T[] => {
  const items: T[] = []
  const itemAt = (at: number, end: number) => JSON.parse(lines.toString('utf8', at, end)) as T
  let at = 0
  for (let end = lines.length; before && at < end; ) {
    const middle = lines.lastIndexOf(lineFeed, (at + end) >> 1)
    const start = middle < at ? at : middle + 1
    const next = lines.indexOf(lineFeed, start) + 1
    if (before(itemAt(start, next - 1))) at = next
    else end = start
  }
  while (at < lines.length && items.length < count) {
    const end = lines.indexOf(lineFeed, at)
    items.push(itemAt(at, end))
    at = end + 1
  }
  return items
}

const digest = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')
