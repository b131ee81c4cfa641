import {type FileHandle, mkdir, mkdtemp, open as openFile, readdir, readlink, rm, stat, utimes, writeFile} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join, relative} from 'node:path'
import {Readable} from 'node:stream'
import test, {type ExecutionContext} from 'ava'
import {openStorage, StorageMissing} from '../../../shared/storage/storage.ts'
import {collect, inPieces} from '../files/chunks.ts'

const open = async (t: ExecutionContext) => {
  const directory = await mkdtemp(join(tmpdir(), 'lading-storage-'))
  t.teardown(() => rm(directory, {recursive: true, force: true}))
  const files = async () =>
    (await readdir(directory, {recursive: true, withFileTypes: true})).filter(entry => entry.isFile()).map(({name}) => name)
  return {directory, storage: openStorage({directory}), files}
}

test('an object is read back unchanged', async t => {
  const {storage, files} = await open(t)
  const content = Buffer.alloc(1_000_000, 'lading ')
  t.is(await storage.put('imports/imp_1/src_1.csv', inPieces(content, 10_000)), content.length)
  t.deepEqual(await collect(await storage.read('imports/imp_1/src_1.csv')), content)
  t.is(await storage.size('imports/imp_1/src_1.csv'), content.length)
  t.true(await storage.exists('imports/imp_1/src_1.csv'))
  t.deepEqual(await files(), ['src_1.csv'])
})

test('a range of an object excludes its end', async t => {
  const {storage} = await open(t)
  await storage.put('runs/run_1', inPieces('0123456789'))
  t.is(String(await collect(await storage.readRange('runs/run_1', {start: 2, end: 5}))), '234')
  t.is(String(await collect(await storage.readRange('runs/run_1', {start: 9, end: 10}))), '9')
  await t.throwsAsync(storage.readRange('runs/run_2', {start: 0, end: 1}), {instanceOf: StorageMissing})
})

test.serial('each object is stored with all folders above it, which another object may have made just before', async t => {
  const {directory, storage} = await open(t)
  await using handle = await openFile(directory)
  const prototype: FileHandle = Object.getPrototypeOf(handle)
  const {sync} = prototype
  const synced: string[] = []
  t.teardown(() => void (prototype.sync = sync))
  prototype.sync = async function (this: FileHandle) {
    synced.push(relative(directory, await readlink(`/proc/self/fd/${this.fd}`)))
    return sync.call(this)
  }
  const listSynced = () => synced.splice(0).filter(path => !path.startsWith('_temporary'))
  for (const name of ['first', 'second']) {
    await storage.put(`org_1/runs/run_1/${name}`, inPieces('x'))
    t.deepEqual(listSynced(), ['', 'org_1', 'org_1/runs', 'org_1/runs/run_1'])
  }
})

test('a second put replaces the first completely', async t => {
  const {storage} = await open(t)
  await storage.put('runs/run_1', Readable.from([Buffer.from('first and longer')]))
  await storage.put('runs/run_1', Readable.from([Buffer.from('second')]))
  t.is(String(await collect(await storage.read('runs/run_1'))), 'second')
})

test('an empty stream is an empty object', async t => {
  const {storage} = await open(t)
  t.is(await storage.put('runs/run_1', inPieces('')), 0)
  t.is(await storage.size('runs/run_1'), 0)
})

test('reading a missing object is StorageMissing, and removing it succeeds', async t => {
  const {storage} = await open(t)
  await t.throwsAsync(storage.read('runs/run_1'), {instanceOf: StorageMissing})
  await t.throwsAsync(storage.size('runs/run_1'), {instanceOf: StorageMissing})
  t.false(await storage.exists('runs/run_1'))
  await t.notThrowsAsync(storage.remove('runs/run_1'))
})

test('a removed object is gone', async t => {
  const {storage} = await open(t)
  await storage.put('runs/run_1', inPieces('x'))
  await storage.remove('runs/run_1')
  t.false(await storage.exists('runs/run_1'))
})

test('an object is not visible under its key before its last byte', async t => {
  const {storage} = await open(t)
  const seen: boolean[] = []
  async function* slow() {
    for (let piece = 0; piece < 3; piece++) {
      yield Buffer.from('piece')
      seen.push(await storage.exists('runs/run_1'))
    }
  }
  await storage.put('runs/run_1', slow())
  t.deepEqual(seen, [false, false, false])
})

test('a failing stream stores nothing, and its error is passed on', async t => {
  const {storage, files} = await open(t)
  async function* failing() {
    yield Buffer.alloc(200_000)
    throw new Error('the sender went away')
  }
  await t.throwsAsync(storage.put('runs/run_1', failing()), {message: 'the sender went away'})
  t.deepEqual(await files(), [])
})

test('a stream destroyed halfway stores nothing', async t => {
  const {storage, files} = await open(t)
  const stream = new Readable({read() {}})
  stream.push(Buffer.alloc(200_000))
  setTimeout(() => stream.destroy(), 20)
  await t.throwsAsync(storage.put('runs/run_1', stream))
  t.deepEqual(await files(), [])
})

test('a failed put keeps the earlier object', async t => {
  const {storage} = await open(t)
  await storage.put('runs/run_1', inPieces('kept'))
  await t.throwsAsync(
    storage.put(
      'runs/run_1',
      Readable.from(
        (async function* () {
          yield Buffer.from('lost')
          throw new Error('broken')
        })(),
      ),
    ),
  )
  t.is(String(await collect(await storage.read('runs/run_1'))), 'kept')
})

test('an invalid key is refused', async t => {
  const {storage, directory} = await open(t)
  await writeFile(join(directory, 'secret'), 'x')
  for (const key of [
    '../secret',
    'runs/../../secret',
    '/etc/passwd',
    'runs/..',
    'runs/.hidden',
    'runs//a',
    'runs\\a',
    'secret',
    '',
    'runs/a b',
    'runs/a.',
    '_temporary/x',
    'runs/a\0b',
  ]) {
    await t.throwsAsync(storage.read(key), {message: /Not a storage key/}, key)
    await t.throwsAsync(storage.put(key, inPieces('x')), {message: /Not a storage key/}, key)
    await t.throwsAsync(storage.remove(key), {message: /Not a storage key/}, key)
  }
})

test('stored objects are listed with size and age, without incomplete ones', async t => {
  const {storage, directory} = await open(t)
  const list = async (folder?: string) => {
    const found = []
    for await (const {key, bytes, modifiedAt} of storage.list(folder)) found.push([key, bytes, Date.now() - modifiedAt.getTime() < 60_000])
    return found.toSorted()
  }
  t.deepEqual(await list(), [])
  await mkdir(join(directory, '_temporary'))
  await writeFile(join(directory, '_temporary/half'), 'x')
  for (const key of ['org_1/imp_1/src_1', 'org_1/runs/run_1/0-1.ndjson.gz', 'org_2/imp_1/src_1']) await storage.put(key, inPieces('four'))
  const [first, second, third] = [
    ['org_1/imp_1/src_1', 4, true],
    ['org_1/runs/run_1/0-1.ndjson.gz', 4, true],
    ['org_2/imp_1/src_1', 4, true],
  ]
  t.deepEqual(await list(), [first, second, third])
  t.deepEqual(await list('org_1'), [first, second])
  t.deepEqual(await list('org_3'), [])
  await t.throwsAsync(list('../elsewhere'), {message: /Not a folder/})
})

test('temporary files older than a day are deleted, and younger ones kept even if the clock is hours off', async t => {
  const {storage, directory, files} = await open(t)
  t.is(await storage.sweepTemporary(), 0)
  const folder = join(directory, '_temporary')
  await mkdir(folder)
  for (const name of ['old', 'young']) await writeFile(join(folder, name), name)
  const [twoHoursAgo, dayAgo] = [2, 25].map(hours => new Date(Date.now() - hours * 3_600_000)) as [Date, Date]
  await utimes(join(folder, 'young'), twoHoursAgo, twoHoursAgo)
  await utimes(join(folder, 'old'), dayAgo, dayAgo)
  await storage.put('runs/run_1', inPieces('kept'))
  await utimes(join(directory, 'runs/run_1'), dayAgo, dayAgo)
  t.is(await storage.sweepTemporary(), 1)
  t.deepEqual((await files()).toSorted(), ['run_1', 'young'])
})

test('stored files can be read by the service alone', async t => {
  const {storage, directory} = await open(t)
  await storage.put('runs/run_1', inPieces('x'))
  t.is((await stat(join(directory, 'runs/run_1'))).mode & 0o077, 0)
})
