import {randomBytes} from 'node:crypto'
import {Readable} from 'node:stream'
import test, {type ExecutionContext} from 'ava'
import {readConfig, storageOf} from '../../../shared/config.ts'
import {openStorage, StorageMissing} from '../../../shared/storage/storage.ts'
import {startS3} from '../../simulators/s3.ts'
import {collect, inPieces} from '../files/chunks.ts'

const account = {bucket: 'lading', accessKeyId: 'AKIALADING', secretAccessKey: 'a secret/with+signs', region: 'eu-central-1'}

const open = async (t: ExecutionContext, given: Partial<typeof account> = {}) => {
  const s3 = await startS3(account)
  t.teardown(s3.stop)
  const storage = openStorage({directory: '/nowhere', s3: {...account, endpoint: s3.url, ...given}})
  return {s3, storage}
}

test('an object of any size is read back unchanged', async t => {
  const {storage, s3} = await open(t)
  for (const size of [0, 1, 1_000_000, 20_000_000]) {
    const content = randomBytes(size)
    t.is(await storage.put('org_1/imp_1/src_1', inPieces(content, 100_000)), size)
    t.true(content.equals(await collect(await storage.read('org_1/imp_1/src_1'))), `${size}`)
    t.is(await storage.size('org_1/imp_1/src_1'), size)
  }
  t.deepEqual([[...s3.objects.keys()], s3.uploads.size], [['org_1/imp_1/src_1'], 0])
})

test('a range of an object is read, also across pieces', async t => {
  const {storage} = await open(t)
  const content = randomBytes(18_000_000)
  await storage.put('org_1/imp_1/book', inPieces(content, 1_000_000))
  for (const [start, end] of [
    [0, 1],
    [5, 8_388_613],
    [17_999_990, 18_000_000],
  ] as const)
    t.true(content.subarray(start, end).equals(await collect(await storage.readRange('org_1/imp_1/book', {start, end}))), `${start}`)
})

test('an object is fetched in pieces as it is read, so a slow reader holds no connection', async t => {
  const {storage, s3} = await open(t)
  const content = randomBytes(40_000_000)
  await storage.put('org_1/imp_1/src_1', inPieces(content, 1_000_000))
  const fetched = () => s3.journal.filter(line => line.startsWith('GET')).length
  const body = await storage.read('org_1/imp_1/src_1')
  t.is(fetched(), 1)
  const read: Buffer[] = []
  const early: number[] = []
  for await (const piece of body) {
    read.push(piece)
    early.push(fetched())
  }
  t.true(content.equals(Buffer.concat(read)))
  t.deepEqual([fetched(), early[0]! <= 2, early[1]! <= 3], [5, true, true])
})

test('reading a missing object is StorageMissing, and removing it succeeds', async t => {
  const {storage} = await open(t)
  await t.throwsAsync(storage.read('org_1/none'), {instanceOf: StorageMissing})
  await t.throwsAsync(storage.readRange('org_1/none', {start: 0, end: 1}), {instanceOf: StorageMissing})
  await t.throwsAsync(storage.size('org_1/none'), {instanceOf: StorageMissing})
  t.false(await storage.exists('org_1/none'))
  await t.notThrowsAsync(storage.remove('org_1/none'))
})

test('a folder is removed with thousands of objects, and no other folder', async t => {
  const {storage, s3} = await open(t)
  for (let n = 0; n < 2_300; n++) s3.objects.set(`org_1/runs/${n}`, Buffer.from('x'))
  s3.objects.set('org_10/runs/1', Buffer.from('x'))
  await storage.removeAll('org_1')
  t.deepEqual([...s3.objects.keys()], ['org_10/runs/1'])
})

test('a failing stream stores nothing, and its error is passed on', async t => {
  const {storage, s3} = await open(t)
  async function* failing() {
    for (let n = 0; n < 20; n++) yield randomBytes(1_000_000)
    throw new Error('the sender went away')
  }
  await t.throwsAsync(storage.put('org_1/imp_1/src_1', failing()), {message: 'the sender went away'})
  await t.throwsAsync(storage.put('org_1/imp_1/src_1', Readable.from(failing())), {message: 'the sender went away'})
  t.deepEqual([s3.objects.size, s3.uploads.size], [0, 0])
})

test('a busy store is retried, and fails if it stays busy', async t => {
  const {storage, s3} = await open(t)
  s3.faults.push({method: 'PUT', times: 1, action: {status: 503}}, {method: 'PUT', times: 1, action: 'drop'})
  await storage.put('org_1/runs/1', inPieces('kept'))
  t.is(String(await collect(await storage.read('org_1/runs/1'))), 'kept')
  s3.faults.push({method: 'GET', times: 3, action: {status: 503}})
  const error = await t.throwsAsync(storage.read('org_1/runs/1'))
  t.false(error instanceof StorageMissing)
})

test('a wrong secret is an error other than StorageMissing', async t => {
  const {storage} = await open(t, {secretAccessKey: 'another'})
  const error = await t.throwsAsync(storage.read('org_1/runs/1'))
  t.false(error instanceof StorageMissing)
  await t.throwsAsync(storage.put('org_1/runs/1', inPieces('x')))
})

const uploadOf = (hours: number, key = 'org_1/imp_1/src_1') => ({
  key,
  parts: new Map(),
  initiated: new Date(Date.now() - hours * 3_600_000),
})

test('multipart uploads older than a day are aborted, and younger ones and those of other programs kept', async t => {
  const {storage, s3} = await open(t)
  s3.uploads.set('old', uploadOf(25)).set('young', uploadOf(23)).set('run', uploadOf(25, 'org_1/runs/run_1/0-1.ndjson.gz'))
  s3.uploads.set('fetch', uploadOf(25, 'org_1/test-fetches/sch_1'))
  s3.uploads.set('foreign', uploadOf(25, 'backups/database.tar')).set('similar', uploadOf(25, 'org_chart/poster.png'))
  t.is(await storage.sweepTemporary(), 3)
  t.deepEqual([...s3.uploads.keys()], ['young', 'foreign', 'similar'])
})

test('an old multipart upload beyond the first page of a thousand is aborted', async t => {
  const {storage, s3} = await open(t)
  for (let n = 0; n < 1_001; n++) s3.uploads.set(`young ${n}`, uploadOf(23))
  s3.uploads.set('old', uploadOf(25, 'org_2/imp_1/src_1'))
  t.is(await storage.sweepTemporary(), 1)
  t.deepEqual([s3.uploads.size, s3.uploads.has('old')], [1_001, false])
})

test('an invalid key is refused before the store is called', async t => {
  const {storage, s3} = await open(t)
  for (const key of ['../secret', 'runs/../../secret', 'runs//a', 'secret', ''])
    await t.throwsAsync(storage.read(key), {message: /Not a storage key/}, key)
  t.deepEqual(s3.journal, [])
})

test('the bucket is configured completely or not at all', t => {
  t.deepEqual(storageOf(readConfig({STORAGE_DIR: '/here'})), {directory: '/here'})
  const environment = {S3_BUCKET: 'b', S3_ENDPOINT: 'http://127.0.0.1:9000', S3_ACCESS_KEY_ID: 'id', S3_SECRET_ACCESS_KEY: 'secret'}
  t.like(storageOf(readConfig(environment)), {
    s3: {bucket: 'b', region: 'us-east-1', endpoint: 'http://127.0.0.1:9000', accessKeyId: 'id', secretAccessKey: 'secret'},
  })
  t.throws(() => storageOf(readConfig({...environment, S3_SECRET_ACCESS_KEY: undefined})), {message: /S3_SECRET_ACCESS_KEY/})
})

test('all objects of the bucket are listed, beyond the page of a thousand', async t => {
  const {storage, s3} = await open(t)
  for (let n = 0; n < 2_100; n++) s3.objects.set(`org_1/imp_1/src_${n}`, Buffer.from('four'))
  s3.objects.set('org_2/imp_1/src_1', Buffer.from('x'))
  const list = async (folder?: string) => {
    const found = []
    for await (const object of storage.list(folder)) found.push(object)
    return found
  }
  const all = await list()
  t.is(new Set(all.map(({key}) => key)).size, 2_101)
  t.true(all.every(({modifiedAt}) => Math.abs(Date.now() - modifiedAt.getTime()) < 600_000))
  const [only, ...others] = await list('org_2')
  t.like([only, others.length], [{key: 'org_2/imp_1/src_1', bytes: 1}, 0])
})
