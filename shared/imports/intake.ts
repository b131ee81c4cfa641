import {createHash, type Hash} from 'node:crypto'
import {once} from 'node:events'
import {PassThrough, Readable} from 'node:stream'
import {Refusal} from '../errors.ts'
import type {Storage} from '../storage.ts'
import {formatOf} from './magic.ts'
import {assertFormat, type NewFile, sampleOf} from './new-file.ts'
import {assertTable} from './not-a-table.ts'
import type {ReaderOptions} from './reader.ts'
import type {NamedEncodings} from './sniff.ts'

export type Upload = {
  /** On a refusal a Readable is left open and drained, not destroyed, so that an HTTP answer can still go out on its connection. */
  body: Readable | AsyncIterable<Uint8Array>
  /** What a person stated; the rest is sniffed from the file. */
  reader?: ReaderOptions
  named?: NamedEncodings
  maxBytes: number
  storage: Storage
  key: string
}

type Intake<Found> = {bytes: number; sha256: string; found: Found}

/**
 * Stores the body, then reads the stored file with `read`: a slow sender holds no reader. What the first bytes show to be no table is refused
 * before the rest comes. Whatever fails, and when the client goes away (`UPLOAD_BROKEN`), nothing is left.
 */
export const takeIn = async <Found>(upload: Upload, read: (file: NewFile) => Promise<Found>): Promise<Intake<Found>> => {
  const {body, storage, key, reader, named} = upload
  const shelf = openShelf(storage, key)
  const count: Count = {bytes: 0, hash: createHash('sha256')}
  const chunks = copied(upload, count, shelf.keep)
  try {
    const {sample, rest} = await sampleOf(chunks)
    const format = formatOf(sample)
    if (format === 'csv') assertTable(sample)
    assertFormat(reader, format)
    await drain(rest)
    await shelf.close()
    const found = await read({key, format, ...(reader && {reader}), ...(named && {named})})
    return {found, bytes: count.bytes, sha256: count.hash.digest('hex')}
  } catch (error) {
    await shelf.abandon(error as Error)
    // Where the storage fails here too, the listing finds what is left.
    await storage.remove(key).catch(() => {})
    await chunks.return()
    if (body instanceof Readable) body.resume()
    throw error
  }
}

/** One object being put, chunk by chunk; `keep` waits where storage is slower than the sender and throws what storage threw. */
const openShelf = (storage: Storage, key: string) => {
  // Failures are met where they are awaited; the listeners only keep the process alive until then.
  const stream = new PassThrough().on('error', () => {})
  const kept = storage.put(key, stream)
  const broken = new AbortController()
  kept.catch(() => broken.abort())
  return {
    keep: async (chunk: Uint8Array) => {
      if (broken.signal.aborted || !stream.write(chunk)) await once(stream, 'drain', {signal: broken.signal}).catch(() => kept)
    },
    close: async () => {
      stream.end()
      await kept
    },
    abandon: async (error: Error) => {
      stream.destroy(error)
      await kept.catch(() => {})
    },
  }
}

type Count = {bytes: number; hash: Hash}
type Keep = (chunk: Uint8Array) => Promise<void>

/** Passes the body on, chunk by chunk, once storage has taken it. */
async function* copied({body, maxBytes}: Upload, count: Count, keep: Keep): AsyncGenerator<Uint8Array, void, undefined> {
  const chunks = body instanceof Readable ? body.iterator({destroyOnReturn: false}) : body
  for await (const chunk of unbroken(chunks, count)) {
    count.bytes += chunk.length
    if (count.bytes > maxBytes) throw tooLarge(maxBytes)
    count.hash.update(chunk)
    await keep(chunk)
    yield chunk
  }
}

async function* unbroken(chunks: AsyncIterable<Uint8Array>, count: Count) {
  const iterator = chunks[Symbol.asyncIterator]()
  try {
    for (;;) {
      const next = await iterator.next().catch(error => {
        if (error instanceof Refusal && error.code !== 'UPLOAD_BROKEN') throw error
        throw new Refusal('UPLOAD_BROKEN', `The upload broke off after ${count.bytes} bytes. Nothing was kept: send the file again`, {
          bytes: count.bytes,
        })
      })
      if (next.done) return
      yield next.value
    }
  } finally {
    await iterator.return?.()
  }
}

export const tooLarge = (limit: number) =>
  new Refusal(
    'FILE_TOO_LARGE',
    `The file is larger than the ${limit.toLocaleString('en')} bytes a file may have. Split it and send the parts`,
    {limit},
  )

const drain = async (chunks: AsyncIterable<Uint8Array>) => {
  for await (const _ of chunks);
}
