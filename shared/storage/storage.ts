import {randomUUID} from 'node:crypto'
import {once} from 'node:events'
import {createReadStream} from 'node:fs'
import {access, mkdir, open, readdir, rename, rm, stat} from 'node:fs/promises'
import {dirname, join, relative, sep} from 'node:path'
import {Readable} from 'node:stream'
import {StorageFailed} from './failed.ts'
import {StorageMissing} from './missing.ts'
import {openS3, type S3Config} from './s3.ts'

export type StorageConfig = {directory: string; s3?: S3Config | undefined}

export type StorageObject = {key: string; modifiedAt: Date; bytes: number}

/** Stored objects by key. All operations except `list` and `sweepTemporary` throw StorageFailed if the storage itself fails. */
export type Storage = {
  /** `folder`, or `s3:` and the bucket. If a deployment changes the kind, it cannot read its earlier objects. */
  kind: string
  /**
   * Stores a stream completely or not at all: the object appears under its key only when every byte is stored. Returns the number of bytes.
   * Throws the stream's own error if the stream fails.
   */
  put(key: string, stream: AsyncIterable<Uint8Array>): Promise<number>
  read(key: string): Promise<Readable>
  /** Reads the bytes from `start` up to but excluding `end`; both must be within the object. */
  readRange(key: string, range: {start: number; end: number}): Promise<Readable>
  /** Removes an object. A missing object is no error. */
  remove(key: string): Promise<void>
  removeAll(folder: string): Promise<void>
  /**
   * Lists all objects whose key begins with `folder/`, or all objects, unordered, including objects that this service did not store. Objects
   * that are added or removed meanwhile may be missing.
   */
  list(folder?: string): AsyncIterable<StorageObject>
  exists(key: string): Promise<boolean>
  size(key: string): Promise<number>
  /**
   * Removes the remains of unfinished uploads: in a folder, those last written more than a day ago; in a bucket, those of this service begun
   * more than a day ago, among at most 100,000 per call. The margin covers clocks that differ by hours. Returns the number of removed uploads.
   */
  sweepTemporary(): Promise<number>
}

export {StorageMissing}

const temporary = '_temporary'
const leftoverMs = 24 * 60 * 60 * 1000
const keyShape = /^[a-z][\w-]*(\/[\w-]+(\.[\w-]+)*)+$/i

export const openStorage = ({directory, s3}: StorageConfig): Storage => {
  const storage = s3 ? openS3(s3) : openFolder(directory)
  return {
    ...storage,
    put: async (key, stream) => putFrom(storage, checked(key), guarded(stream)),
    read: async key => watched(await storage.read(checked(key)).catch(failed)),
    readRange: async (key, range) => watched(await storage.readRange(checked(key), range).catch(failed)),
    remove: async key => storage.remove(checked(key)).catch(failed),
    removeAll: async folder => storage.removeAll(checkedFolder(folder)).catch(failed),
    list: folder => storage.list(folder === undefined ? undefined : checkedFolder(folder)),
    exists: async key => storage.exists(checked(key)).catch(failed),
    size: async key => storage.size(checked(key)).catch(failed),
  }
}

const failed = (error: unknown): never => {
  throw error instanceof StorageMissing || error instanceof StorageFailed ? error : new StorageFailed(error)
}

/** Converts a failure during reading to StorageFailed. */
const watched = (stream: Readable): Readable => {
  const read = async function* () {
    try {
      yield* stream
    } catch (error) {
      failed(error)
    }
  }
  // If the outer stream is closed unread, the inner one is closed too.
  return Readable.from(read(), {objectMode: false}).once('close', () => stream.destroy())
}

const putFrom = async (storage: Storage, key: string, stream: AsyncIterable<Uint8Array>): Promise<number> => {
  let broken: {error: unknown} | null = null
  const noticed = async function* () {
    try {
      yield* stream
    } catch (error) {
      broken = {error}
      throw error
    }
  }
  return storage.put(key, noticed()).catch(error => {
    if (broken) throw broken.error
    return failed(error)
  })
}

const openFolder = (directory: string): Storage => {
  const pathOf = (key: string) => join(directory, key)
  return {
    kind: 'folder',
    put: (key, stream) => putWhole(directory, key, stream),
    read: key => openFile(pathOf(key), key),
    readRange: (key, {start, end}) => openFile(pathOf(key), key, {start, end: end - 1}),
    remove: key => rm(pathOf(key), {force: true}),
    removeAll: folder => rm(pathOf(folder), {recursive: true, force: true}),
    list: folder => listFiles(directory, folder === undefined ? directory : pathOf(folder)),
    exists: key =>
      access(pathOf(key)).then(
        () => true,
        error => noneIfMissing(error).length > 0,
      ),
    size: async key => (await missingOr(key, () => stat(pathOf(key)))).size,
    sweepTemporary: () => sweep(join(directory, temporary)),
  }
}

/** Guards a stream that may fail before it is read. Such an error must not end the process; reading the stream throws it. */
const guarded = (stream: AsyncIterable<Uint8Array>) => (stream instanceof Readable ? stream.on('error', () => {}) : stream)

const checked = (key: string) => {
  if (keyShape.test(key)) return key
  throw new Error(`Not a storage key: ${key}`)
}

const checkedFolder = (folder: string) => {
  if (/^[a-z][\w-]*(\/[\w-]+)*$/i.test(folder)) return folder
  throw new Error(`Not a folder of storage keys: ${folder}`)
}

/** Writes a temporary file and renames it, so that an object appears whole or not at all. */
const putWhole = async (directory: string, key: string, stream: AsyncIterable<Uint8Array>) => {
  const partial = join(directory, temporary, randomUUID())
  const path = join(directory, key)
  await mkdir(dirname(partial), {recursive: true})
  try {
    const bytes = await write(partial, stream)
    await mkdir(dirname(path), {recursive: true})
    await rename(partial, path)
    // After a power loss, a folder exists only if its parent was synced since. Another object of the folder may not have synced the parent yet.
    const folders = dirname(key).split('/')
    for (let depth = 0; depth <= folders.length; depth++) await syncFolder(join(directory, ...folders.slice(0, depth)))
    return bytes
  } catch (error) {
    await rm(partial, {force: true})
    throw error
  }
}

const syncFolder = async (path: string) => {
  await using folder = await open(path)
  await folder.sync()
}

const write = async (path: string, stream: AsyncIterable<Uint8Array>) => {
  await using file = await open(path, 'wx', 0o600)
  let bytes = 0
  for await (const chunk of stream) {
    await file.writeFile(chunk)
    bytes += chunk.length
  }
  await file.sync()
  return bytes
}

/** Opens a file and resolves when it is open. `end` is the last byte to read, as in `createReadStream`. */
const openFile = (path: string, key: string, range: {start?: number; end?: number} = {}) =>
  missingOr(key, async () => {
    const stream = createReadStream(path, range)
    await once(stream, 'open')
    return stream
  })

/** Lists files folder by folder. Skips the folder of incomplete objects. */
async function* listFiles(root: string, folder: string): AsyncGenerator<StorageObject> {
  const entries = await readdir(folder, {withFileTypes: true}).catch(noneIfMissing)
  for (const entry of entries) {
    const path = join(folder, entry.name)
    if (path === join(root, temporary)) continue
    if (entry.isDirectory()) yield* listFiles(root, path)
    else if (entry.isFile()) {
      const found = await stat(path).catch(noneIfMissing)
      if ('mtime' in found) yield {key: relative(root, path).split(sep).join('/'), modifiedAt: found.mtime, bytes: found.size}
    }
  }
}

const noneIfMissing = (error: NodeJS.ErrnoException): never[] => {
  if (error.code === 'ENOENT') return []
  throw error
}

const missingOr = async <T>(key: string, act: () => Promise<T>) => {
  try {
    return await act()
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'ENOENT' ? new StorageMissing(key, {cause: error}) : error
  }
}

const sweep = async (directory: string) => {
  let swept = 0
  const before = Date.now() - leftoverMs
  for (const name of await readdir(directory).catch(() => [] as string[])) {
    const path = join(directory, name)
    const {mtimeMs} = await stat(path).catch(() => ({mtimeMs: Number.POSITIVE_INFINITY}))
    if (mtimeMs >= before) continue
    await rm(path, {force: true})
    swept++
  }
  return swept
}
