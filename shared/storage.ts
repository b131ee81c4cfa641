import {randomUUID} from 'node:crypto'
import {once} from 'node:events'
import {createReadStream, ReadStream} from 'node:fs'
import {mkdir, open, readdir, rename, rm, stat} from 'node:fs/promises'
import {dirname, join, relative, sep} from 'node:path'
import {Readable} from 'node:stream'
import {Disk} from 'flydrive'
import {FSDriver} from 'flydrive/drivers/fs'
import {StorageFailed} from './storage-failed.ts'
import {StorageMissing} from './storage-missing.ts'
import {openS3, type S3Config} from './storage-s3.ts'

export type StorageConfig = {directory: string; s3?: S3Config | undefined}

export type StoredObject = {key: string; modifiedAt: Date; bytes: number}

export type Storage = {
  /** What kind of storage it is: what one kind keeps, a deployment with another cannot read. */
  kind: string
  /** Keeps a stream whole or not at all: an object is seen under its key only when every byte is on disk. Answers its size. Like all the others it throws StorageFailed where it is the storage that fails. */
  put(key: string, stream: AsyncIterable<Uint8Array>): Promise<number>
  read(key: string): Promise<Readable>
  /** The bytes from `start` up to but not including `end`; both lie within the object. */
  readRange(key: string, range: {start: number; end: number}): Promise<Readable>
  /** Removing what is not there is fine. */
  remove(key: string): Promise<void>
  /** Everything whose key begins with `folder/`. */
  removeAll(folder: string): Promise<void>
  /** Everything whose key begins with `folder/`, or everything there is, in no order, and also what is not ours. What comes or goes meanwhile may be missing. */
  list(folder?: string): AsyncIterable<StoredObject>
  exists(key: string): Promise<boolean>
  size(key: string): Promise<number>
  /** Removes what broken uploads left more than a day ago; answers how many. Clocks of those who write and sweep may differ by hours. */
  sweepTemporary(): Promise<number>
}

export {StorageMissing}

const temporary = '_temporary'
const leftoverMs = 24 * 60 * 60 * 1000
const keyShape = /^[a-z][\w-]*(\/[\w-]+(\.[\w-]+)*)+$/i

/** A local folder, or a bucket where one is configured. Keys are checked before either sees them. */
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

/** What fails while it is read is the storage too. */
const watched = (stream: Readable): Readable => {
  const read = async function* () {
    try {
      yield* stream
    } catch (error) {
      failed(error)
    }
  }
  // Whoever closes it unread closes what stands behind it.
  return Readable.from(read(), {objectMode: false}).once('close', () => stream.destroy())
}

/** Where the stream fails it is the stream's error that is thrown, and otherwise the storage is to blame. */
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
  const disk = new Disk(new FSDriver({location: directory, visibility: 'private'}))
  return {
    kind: 'folder',
    put: (key, stream) => putWhole(directory, key, stream),
    read: key => readFrom(disk, key),
    readRange: (key, range) => readPart(join(directory, key), key, range),
    remove: key => disk.delete(key),
    removeAll: folder => disk.deleteAll(folder),
    list: folder => listFiles(directory, folder === undefined ? directory : join(directory, folder)),
    exists: key => disk.exists(key),
    size: async key => (await missingOr(key, () => disk.getMetaData(key))).contentLength,
    sweepTemporary: () => sweep(join(directory, temporary)),
  }
}

/** A stream that fails before it is read must not end the process; reading it throws the failure. */
const guarded = (stream: AsyncIterable<Uint8Array>) => (stream instanceof Readable ? stream.on('error', () => {}) : stream)

const checked = (key: string) => {
  if (keyShape.test(key)) return key
  throw new Error(`Not a storage key: ${key}`)
}

const checkedFolder = (folder: string) => {
  if (/^[a-z][\w-]*(\/[\w-]+)*$/i.test(folder)) return folder
  throw new Error(`Not a folder of storage keys: ${folder}`)
}

/** Not by flydrive: its `putStream` may answer a failure before its file exists, which would then stay, and its `move` copies. */
const putWhole = async (directory: string, key: string, stream: AsyncIterable<Uint8Array>) => {
  const partial = join(directory, temporary, randomUUID())
  const path = join(directory, key)
  await mkdir(dirname(partial), {recursive: true})
  try {
    const bytes = await write(partial, stream)
    await mkdir(dirname(path), {recursive: true})
    await rename(partial, path)
    await using folder = await open(dirname(path))
    await folder.sync()
    return bytes
  } catch (error) {
    await rm(partial, {force: true})
    throw error
  }
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

const readFrom = (disk: Disk, key: string) =>
  missingOr(key, async () => {
    const stream = await disk.getStream(key)
    if (stream instanceof ReadStream) await once(stream, 'open')
    return stream
  })

/** Not by flydrive, whose streams begin at the beginning. */
const readPart = (path: string, key: string, {start, end}: {start: number; end: number}) =>
  missingOr(key, async () => {
    const stream = createReadStream(path, {start, end: end - 1})
    await once(stream, 'open')
    return stream
  })

/** One folder in memory at a time; not what is not whole yet. */
async function* listFiles(root: string, folder: string): AsyncGenerator<StoredObject> {
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
    const cause = ((error as Error).cause ?? error) as NodeJS.ErrnoException
    throw cause.code === 'ENOENT' ? new StorageMissing(key, {cause}) : cause
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
