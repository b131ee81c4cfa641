import {createHash, type Hash} from 'node:crypto'
import {once} from 'node:events'
import {PassThrough, Readable} from 'node:stream'
import {Refusal} from '../errors.ts'
import type {Storage} from '../storage/storage.ts'
import {assertTable, isJsonRecords} from './assert-table.ts'
import {assertFormat, type NewFile, sampleOf} from './new-file.ts'
import type {ReaderOptions} from './reader.ts'
import {formatOf} from './text/magic.ts'
import type {NamedEncodings} from './text/sniff.ts'

export type IncomingUpload = {
  /** The bytes to store. After a failure, a Readable is drained and not destroyed, because the HTTP response is sent on the same connection. */
  body: Readable | AsyncIterable<Uint8Array>
  /** Options that the caller stated. The other options are sniffed from the file. */
  reader?: ReaderOptions
  named?: NamedEncodings
  /** Set if Lading wrote the body from the rows of a query. */
  convertedFrom?: 'query' | undefined
  maxBytes: number
  storage: Storage
  key: string
}

type IngestResult<Found> = {bytes: number; sha256: string; found: Found}

/**
 * Stores the body and then reads the stored file with `read`, so that a slow upload does not occupy a parser. If the first bytes are not a
 * table, the body is refused early. After any failure, including a disconnect of the client (`UPLOAD_BROKEN`), the stored object is removed.
 */
export const ingest = async <Found>(upload: IncomingUpload, read: (file: NewFile) => Promise<Found>): Promise<IngestResult<Found>> => {
  const {body, storage, key, reader, named, convertedFrom} = upload
  const shelf = openUploadTarget(storage, key)
  const count: ByteCount = {bytes: 0, hash: createHash('sha256')}
  const chunks = copied(upload, count, shelf.keep)
  try {
    const {sample, rest} = await sampleOf(chunks)
    const format = formatOf(sample)
    if (format === 'csv') assertTable(sample)
    const converted = convertedFrom ?? (format === 'csv' && isJsonRecords(sample) ? 'json' : undefined)
    if (!converted) assertFormat(reader, format)
    await drain(rest)
    await shelf.close()
    const found = await read({key, format, ...(converted && {convertedFrom: converted}), ...(reader && {reader}), ...(named && {named})})
    return {found, bytes: count.bytes, sha256: count.hash.digest('hex')}
  } catch (error) {
    await shelf.abandon(error as Error)
    // If the removal fails too, the periodic listing of storage finds and removes the object.
    await storage.remove(key).catch(() => {})
    await chunks.return()
    if (body instanceof Readable) body.resume()
    throw error
  }
}

/** `keep` waits if storage is slower than the sender, and throws storage errors. */
const openUploadTarget = (storage: Storage, key: string) => {
  // The listener prevents an unhandled 'error' event. Errors are handled where they are awaited.
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

type ByteCount = {bytes: number; hash: Hash}
type KeepUpload = (chunk: Uint8Array) => Promise<void>

/** Yields each chunk of the body after storage has accepted the chunk. */
async function* copied({body, maxBytes}: IncomingUpload, count: ByteCount, keep: KeepUpload): AsyncGenerator<Uint8Array, void, undefined> {
  const chunks = body instanceof Readable ? body.iterator({destroyOnReturn: false}) : body
  for await (const chunk of unbroken(chunks, count)) {
    count.bytes += chunk.length
    if (count.bytes > maxBytes) throw tooLarge(maxBytes)
    count.hash.update(chunk)
    await keep(chunk)
    yield chunk
  }
}

async function* unbroken(chunks: AsyncIterable<Uint8Array>, count: ByteCount) {
  const iterator = chunks[Symbol.asyncIterator]()
  try {
    for (;;) {
      const next = await iterator.next().catch(error => {
        if (error instanceof Refusal && error.code !== 'UPLOAD_BROKEN') throw error
        throw new Refusal(
          'UPLOAD_BROKEN',
          `The upload was interrupted after ${count.bytes} bytes, and nothing was stored. Send the file again`,
          {
            bytes: count.bytes,
          },
        )
      })
      if (next.done) return
      yield next.value
    }
  } finally {
    await iterator.return?.()
  }
}

export const tooLarge = (limit: number) =>
  new Refusal('FILE_TOO_LARGE', `The file is larger than the limit of ${limit.toLocaleString('en')} bytes. Split it and send the parts`, {
    limit,
  })

const drain = async (chunks: AsyncIterable<Uint8Array>) => {
  for await (const _ of chunks);
}
