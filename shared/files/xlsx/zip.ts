import {Readable} from 'node:stream'
import {crc32} from 'node:zlib'
import {type Entry, fromRandomAccessReaderPromise, RandomAccessReader, type ZipFile} from 'yauzl'
import {Refusal} from '../../errors.ts'
import type {Storage} from '../../storage/storage.ts'

const mostEntries = 20_000
const mostNameBytes = 8 * 1024 ** 2

export type StoredObject = {storage: Pick<Storage, 'readRange' | 'size'>; key: string}

export type Zip = {
  has(path: string): boolean
  paths: string[]
  /** Names of entries are case-insensitive. */
  open(path: string): AsyncGenerator<Buffer, void, undefined>
  /** Counts expanded bytes towards the unpack limit, for example a shared string once for each cell that refers to it. */
  count(bytes: number): void
  close(): void
}

/**
 * Opens a ZIP file in storage with range reads. If the entries declare more than `limit` bytes together, the file is refused before unpacking.
 * The declared sizes may be false, so unpacked bytes are counted too. Throws FILE_CORRUPT for a wrong size or checksum.
 */
export const openZip = async (object: StoredObject, limit: number): Promise<Zip> => {
  const reader = new StoredReader(object)
  const sayWhy = (error: unknown) => reader.failure ?? (error instanceof Refusal ? error : corrupt((error as Error).message))
  const bytes = await object.storage.size(object.key)
  try {
    const file = await fromRandomAccessReaderPromise(reader, bytes, {
      lazyEntries: true,
      autoClose: false,
      validateEntrySizes: false,
    })
    const entries = await listEntries(file, limit)
    const count = openCount(limit)
    const unpack = openUnpacking(file, count)
    return {
      has: path => entries.has(path.toLowerCase()),
      paths: [...entries.values()].map(({fileName}) => fileName),
      async *open(path) {
        const entry = entries.get(path.toLowerCase())
        if (!entry) throw corrupt(`it has no ${path}`)
        try {
          yield* unpack(entry)
        } catch (error) {
          throw sayWhy(error)
        }
      },
      count,
      close: () => file.close(),
    }
  } catch (error) {
    throw sayWhy(error)
  }
}

/** Keeps a storage error in `failure`, because such an error does not mean that the file is corrupt. */
class StoredReader extends RandomAccessReader {
  readonly #object: StoredObject
  failure: Error | null = null

  constructor(object: StoredObject) {
    super()
    this.#object = object
  }

  override _readStreamForRange(start: number, end: number): Readable {
    return Readable.from(this.#read(start, end))
  }

  async *#read(start: number, end: number) {
    try {
      yield* await this.#object.storage.readRange(this.#object.key, {start, end})
    } catch (error) {
      this.failure = error as Error
      throw error
    }
  }
}

const listEntries = async (file: ZipFile, limit: number) => {
  const entries = new Map<string, Entry>()
  if (file.entryCount > mostEntries) throw corrupt(`it has ${file.entryCount} parts, more than any workbook`)
  let [unpacked, names] = [0, 0]
  for await (const entry of file.eachEntry()) {
    names += entry.fileNameLength + entry.extraFieldLength + entry.fileCommentLength
    if (names > mostNameBytes) throw corrupt("its parts' names are longer than any workbook's")
    if (entry.isEncrypted()) throw new Refusal('FILE_ENCRYPTED', 'The file is protected by a password. Save it without one and send that')
    unpacked += entry.uncompressedSize
    entries.set(entry.fileName.toLowerCase(), entry)
  }
  if (unpacked > limit) throw tooLarge(unpacked, limit)
  return entries
}

const openCount = (limit: number) => {
  let unpacked = 0
  return (bytes: number) => {
    unpacked += bytes
    if (unpacked > limit) throw tooLarge(unpacked, limit)
  }
}

/** Bytes beyond the declared size are counted but not yielded, and the entry is refused at its end. */
const openUnpacking = (file: ZipFile, count: Zip['count']) => {
  return async function* (entry: Entry): AsyncGenerator<Buffer, void, undefined> {
    let [bytes, sum] = [0, 0]
    for await (const chunk of (await file.openReadStreamPromise(entry)) as AsyncIterable<Buffer>) {
      bytes += chunk.length
      count(chunk.length)
      if (bytes > entry.uncompressedSize) continue
      sum = crc32(chunk, sum)
      yield chunk
    }
    if (bytes !== entry.uncompressedSize) throw corrupt(`${entry.fileName} does not have its declared size`)
    if (sum !== entry.crc32) throw corrupt(`${entry.fileName} does not have its declared checksum`)
  }
}

export const corrupt = (why: string) =>
  new Refusal('FILE_CORRUPT', `The file is not a readable workbook: ${why}. Save it again as .xlsx and send the complete new file`)

const tooLarge = (unpacked: number, limit: number) =>
  new Refusal(
    'WORKBOOK_TOO_LARGE',
    `Unpacked, the workbook has ${unpacked.toLocaleString('en')} bytes or more, above the limit of ${limit.toLocaleString('en')}. Save the sheet as CSV, or split it`,
    {unpacked, limit},
  )
