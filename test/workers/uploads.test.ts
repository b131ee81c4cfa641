import test from 'ava'
import {listNameless} from '../../sql/purge.ts'
import {maintainSegments} from '../../workers/archive.ts'
import {ours} from '../../workers/retention/objects.ts'
import {removeDeleted} from '../../workers/retention.ts'
import {startS3} from '../simulators/s3.ts'
import {startApiProcess} from '../support/api-process.ts'
import {openCalls} from '../support/client.ts'
import {ok} from '../support/importing.ts'
import {countAll, keysOf, openLasting, refusal} from '../support/retention.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'
import {MiB, openUpload, rowsOf} from '../support/uploads.ts'

const large = rowsOf(2.5 * MiB)
const drain = new AbortController().signal
const tables = ['uploads', 'upload_parts', 'loose_objects', 'imports', 'sources']

const open = async (t: Parameters<typeof startTestDeployment>[0], environment: Record<string, string> = {}) => {
  const here = await startTestDeployment(t, {workers: ['discovery'], environment})
  const org = await openLasting(here)
  const {import: made} = await ok(org.call('POST', `/orgs/${org.org}/imports`, {connectorId: org.connector}), 201)
  const path = `/orgs/${org.org}/imports/${made.id}`
  const look = () => removeDeleted({...here.tools, drain})
  return {here, org, path, look}
}

test('an upload without a part for a day is removed with its objects, and one in use is kept', async t => {
  const {here, org, path, look} = await open(t)
  const [left, lasting] = [await openUpload(org.call, path, {bytes: large}), await openUpload(org.call, path, {bytes: large})]
  for (const {send} of [left, lasting]) await ok(send(0), 200)
  const [key] = await keysOf(here)
  const nobodys = key!.replace(/\w+$/, last => last.replaceAll(/\w/g, '0'))
  t.true(ours.test(key!) && ours.test(nobodys))
  t.deepEqual(await listNameless(here.db, [key!, nobodys]), [{key: nobodys, known: true}])
  await here.ahead('20 hours')
  await ok(lasting.send(MiB), 200)
  await look()
  t.is((await left.read()).offset, MiB)
  await here.ahead('25 hours')
  await look()
  t.deepEqual(await refusal(left.send(MiB)), [404, 'UPLOAD_NOT_FOUND'])
  t.deepEqual([(await keysOf(here)).length, await countAll(here, tables)], [2, {uploads: 1, upload_parts: 2, imports: 1}])
  await lasting.sendRest()
  const {source} = await ok(lasting.finish(), 201)
  await look()
  t.deepEqual([(await keysOf(here)).length, await countAll(here, tables)], [1, {uploads: 1, imports: 1, sources: 1}])
  await here.ahead('50 hours')
  await look()
  t.deepEqual([(await keysOf(here)).length, await countAll(here, tables)], [1, {imports: 1, sources: 1}])
  t.is((await ok(org.call('GET', `${path}/sources/${source.id}/rows?limit=1`), 200)).rows.length, 1)
})

test('a deleted import leaves no upload, nor a part that was being stored', async t => {
  const {here, org, path, look} = await open(t)
  const {send} = await openUpload(org.call, path, {bytes: large})
  await ok(send(0), 200)
  const {put} = here.storage
  here.tools.storage.put = async (key, stream) => {
    const bytes = await put(key, stream)
    await ok(org.call('DELETE', path), 200)
    return bytes
  }
  t.deepEqual(await refusal(send(MiB)), [404, 'UPLOAD_NOT_FOUND'])
  await look()
  t.deepEqual([await keysOf(here), await countAll(here, tables)], [[], {}])
})

test('a process killed between storing a part and its row loses nothing and leaves nothing behind', async t => {
  const {here, org, path, look} = await open(t)
  const {upload, send, sendRest, read, finish} = await openUpload(org.call, path, {bytes: large})
  t.like(await losingAnswers(here, () => send(0)), {status: 500})
  await look()
  t.deepEqual([(await read()).offset, (await keysOf(here)).length], [MiB, 1], 'what was committed stands')
  const {DATABASE_URL, CRM_STANDIN_URL, STORAGE_DIR} = here.config
  const api = await startApiProcess({
    NODE_ENV: 'test',
    DATABASE_URL: DATABASE_URL!,
    CRM_STANDIN_URL: CRM_STANDIN_URL!,
    STORAGE_DIR,
    FAULT_POINT: 'after_part',
  })
  t.teardown(() => api.signal('SIGKILL'))
  const dying = openCalls(api.url)(org.session)
  await t.throwsAsync(dying('PUT', `${path}/uploads/${upload.id}/parts/${MiB}`, large.subarray(MiB, 2 * MiB)))
  t.is(await api.exit, null)
  t.deepEqual([(await read()).offset, (await keysOf(here)).length], [MiB, 2])
  await sendRest()
  const {source} = await ok(finish(), 201)
  t.is(source.bytes, large.length)
  await look()
  t.is((await keysOf(here)).length, 2, 'somebody might be storing it still')
  await here.ahead('25 hours')
  await maintainSegments({...here.tools, drain})
  await look()
  t.deepEqual([(await keysOf(here)).length, await countAll(here, tables)], [1, {imports: 1, sources: 1}])
})

test('upload parts are stored in a bucket and read from it, and a part that the bucket rejects is sent again', async t => {
  const account = {bucket: 'lading', accessKeyId: 'AKIALADING', secretAccessKey: 'secret', region: 'us-east-1'}
  const s3 = await startS3(account)
  t.teardown(s3.stop)
  const {bucket: S3_BUCKET, accessKeyId: S3_ACCESS_KEY_ID, secretAccessKey: S3_SECRET_ACCESS_KEY} = account
  const {here, org, path, look} = await open(t, {S3_BUCKET, S3_ENDPOINT: s3.url, S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY})
  const {send, sendRest, finish} = await openUpload(org.call, path, {bytes: large})
  s3.faults.push({method: 'PUT', times: 3, action: {status: 503}})
  t.like(await send(0), {status: 503, body: {code: 'UNAVAILABLE'}})
  await sendRest()
  t.deepEqual([s3.objects.size, await countAll(here, ['loose_objects'])], [3, {}])
  t.is((await ok(finish(), 201)).source.bytes, large.length)
  await look()
  t.is(s3.objects.size, 1)
})

/** Commits every transaction of `act` and loses the database's answers. */
const losingAnswers = async ({db}: TestDeployment, act: () => Promise<unknown>) => {
  const {transaction} = db
  const broken = async (given: Parameters<typeof transaction>[0]) => {
    await transaction(given)
    throw new Error('The connection broke')
  }
  Object.assign(db, {transaction: broken})
  const said = await act()
  Object.assign(db, {transaction})
  return said
}
