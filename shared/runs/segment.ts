import {createHash} from 'node:crypto'
import {buffer} from 'node:stream/consumers'
import {promisify} from 'node:util'
import {gunzip, gzip} from 'node:zlib'
import type {Segment} from '../../sql/segments.ts'
import {Refusal} from '../errors.ts'
import type {Storage} from '../storage/storage.ts'

/** The newest format of a segment's lines. A segment of a newer format is refused (`FROM_FUTURE`). */
export const SEGMENT_FORMAT = 1
export const linesPerSegment = 10_000
/** Maximum number of bytes of a segment's uncompressed lines. 10,000 lines need far fewer, because their texts are truncated. */
const mostBytes = 256 * 1024 ** 2
const askAgainMs = 60_000
const lineFeed = 10

const pack = promisify(gzip)
const unpack = promisify(gunzip)

export const linesOf = (items: readonly object[]): Buffer => Buffer.from(items.map(item => `${JSON.stringify(item)}\n`).join(''))

/** Converts items to gzipped lines of JSON. `rows`, `bytes` and `sha256` describe the uncompressed lines. */
export const packLines = async (items: readonly object[]) => {
  const lines = linesOf(items)
  return {packed: await pack(lines), rows: items.length, bytes: lines.length, sha256: digest(lines)}
}

/**
 * Returns the uncompressed lines of a stored segment. Throws if they differ from the recorded size or hash, and rethrows errors of the
 * storage. `unseal`: decrypts the object.
 */
export const unpackLines = async (
  storage: Storage,
  {key, bytes, sha256}: Pick<Segment, 'key' | 'bytes' | 'sha256'>,
  unseal = (stored: Buffer) => stored,
): Promise<Buffer> => {
  const lines = await unpack(unseal(await buffer(await storage.read(key))), {maxOutputLength: mostBytes})
  if (lines.length !== bytes || digest(lines) !== sha256)
    throw new Error(`The stored object ${key} does not match its recorded size and hash`)
  return lines
}

/**
 * Reads lines as `unpackLines` does, for API requests. Throws `RECORDS_MOVING` if the read fails, `NOT_CONFIGURED` if the segment is in another kind
 * of storage, and `FROM_FUTURE` for a newer format.
 */
export const readLines = async (storage: Storage, segment: Segment, unseal?: (stored: Buffer) => Buffer): Promise<Buffer> => {
  if (segment.format > SEGMENT_FORMAT)
    throw new Refusal(
      'FROM_FUTURE',
      "A newer version of this service wrote the run's records, and this version cannot read them. Update the service",
    )
  if (segment.storage !== storage.kind)
    throw new Refusal(
      'NOT_CONFIGURED',
      `The run's records are in storage of kind "${segment.storage}", which this deployment does not use. Ask its operator to configure it`,
    )
  try {
    return await unpackLines(storage, segment, unseal)
  } catch (cause) {
    const moving = new Refusal('RECORDS_MOVING', "The run's records cannot be read from storage at the moment. Try again in a minute", {
      retryAfterMs: askAgainMs,
    })
    moving.cause = cause
    throw moving
  }
}

/**
 * Returns at most `count` items, beginning with the first item for which `before` is false, or with the first line if there is no `before`. A binary
 * search finds this item, so all items for which `before` is true must come first.
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
