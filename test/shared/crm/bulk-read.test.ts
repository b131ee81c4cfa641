import {mkdtempSync, rmSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import test, {type ExecutionContext} from 'ava'
import type {BulkRead} from '../../../shared/crm/bulk/bulk-read.ts'
import {readExportedRecords} from '../../../shared/crm/bulk/exported-records.ts'
import {CrmError} from '../../../shared/crm/crm.ts'
import type {PricedCall} from '../../../shared/crm/request.ts'
import {openStorage} from '../../../shared/storage/storage.ts'
import {place} from './crm-fixture.ts'

const openPlace = async (t: ExecutionContext) => {
  const directory = mkdtempSync(join(tmpdir(), 'bulk-read-'))
  t.teardown(() => rmSync(directory, {recursive: true}))
  const {standIn, crm, connect} = await place(t, {environment: {CRM_TIMEOUT_SECONDS: '2'}, crm: {switches: {bulkSeconds: 0, bulkRowMs: 0}}})
  const priced: PricedCall[] = []
  const {bulkRead} = await crm.open(await connect(), {onCall: call => void priced.push(call)})
  const spent = () => priced.reduce((sum, {credits}) => sum + credits, 0)
  const storage = openStorage({directory})
  const key = 'bulk/file.zip'
  const download = (job: string) => bulkRead!.download(job, bytes => storage.put(key, bytes))
  const read = async (columns: string[], limit?: number) =>
    (await Array.fromAsync(readExportedRecords({storage, key}, columns, limit))).flat()
  return {standIn, bulkRead: bulkRead as BulkRead, storage, key, download, read, spent}
}

test('the records of a module are exported page by page, downloaded as a stream and read from storage', async t => {
  const {standIn, bulkRead, download, read, spent} = await openPlace(t)
  standIn.setSwitches({bulkReadPage: 2})
  const names = ['Ono, "Yoko"', 'two\nlines', '']
  const made = standIn.create(
    'example',
    'Leads',
    names.map(Company => ({Last_Name: 'x', Company})),
  )
  const used = standIn.credits('example').used
  const job = await bulkRead.start({module: 'Leads', fields: ['Company', 'Modified_Time']})
  t.is(standIn.credits('example').used - used, bulkRead.creditsPerJob)
  const first = await bulkRead.check(job)
  t.like(first, {state: 'done', count: 2})
  await download(job)
  const rows = await read(['id', 'Company'])
  const pageToken = first.state === 'done' ? first.nextPageToken! : ''
  const next = await bulkRead.start({pageToken})
  t.deepEqual(await bulkRead.check(next), {state: 'done', count: 1, nextPageToken: null})
  await download(next)
  t.deepEqual(
    [...rows, ...(await read(['id', 'Company']))],
    made.map(({details}, index) => [String(details.id), names[index]!]),
  )
  t.is(spent(), standIn.credits('example').used - used, 'every call reports its credits')
  t.regex((await read(['Modified_Time']))[0]![0]!, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d$/)
})

const start = {match: {path: '/crm/bulk/v8/read', method: 'POST'}}
const result = {match: {path: '/crm/bulk/v8/read/*/result'}}
const crmOf = (error: unknown) => (error instanceof CrmError ? error.crm : null)

test('a running, failed or unknown job, a lost creation and a missing scope are told apart', async t => {
  const {standIn, bulkRead} = await openPlace(t)
  const wanted = {module: 'Leads', fields: ['Last_Name']}
  standIn.faults.add({...start, action: 'bulkStuck'})
  t.deepEqual(await bulkRead.check(await bulkRead.start(wanted)), {state: 'running'})
  standIn.faults.add({...start, action: 'bulkFailure'})
  t.like(await bulkRead.check(await bulkRead.start(wanted)), {state: 'failed', crm: {code: 'INTERNAL_SERVER_ERROR', unanswered: false}})
  t.like(crmOf(await t.throwsAsync(bulkRead.check('4400001000000000009'))), {code: 'RESOURCE_NOT_FOUND', retryable: false})
  standIn.faults.add({...start, action: 'dropAfter'})
  t.like(crmOf(await t.throwsAsync(bulkRead.start(wanted))), {unanswered: true, retryable: true})
  standIn.faults.add({
    ...start,
    action: {type: 'answer', status: 400, body: {code: 'TOO_MANY_REQUESTS', details: {}, message: '', status: 'error'}},
  })
  t.like(crmOf(await t.throwsAsync(bulkRead.start(wanted))), {rateLimited: true})
})

test('a download that breaks off or is refused stores nothing, and the receiver’s own failure is thrown', async t => {
  const {standIn, bulkRead, storage, key, download} = await openPlace(t)
  const job = await bulkRead.start({module: 'Leads', fields: ['Last_Name']})
  await bulkRead.check(job)
  standIn.faults.add({...result, action: 'truncateAfter'})
  t.like(crmOf(await t.throwsAsync(download(job))), {unanswered: true, retryable: true})
  t.false(await storage.exists(key))
  for (let at = 0; at < 9; at++) await download(job)
  t.like(crmOf(await t.throwsAsync(download(job))), {rateLimited: true, status: 429})
  standIn.clock.advance(61_000)
  await t.throwsAsync(
    bulkRead.download(job, async () => {
      throw new Error('The disk is full')
    }),
    {message: 'The disk is full'},
  )
})

test('a file that is no ZIP, is corrupt, unpacks to more than the limit, or lacks a column is unreadable', async t => {
  const {standIn, bulkRead, download, read} = await openPlace(t)
  standIn.create('example', 'Leads', [{Last_Name: 'x'.repeat(80)}])
  const job = await bulkRead.start({module: 'Leads', fields: ['Last_Name']})
  await bulkRead.check(job)
  const unreadable = async (columns = ['id'], limit?: number) => {
    await download(job)
    const error = await t.throwsAsync(read(columns, limit), {message: /^The file of a bulk job of the CRM is not readable/})
    t.like(crmOf(error), {unanswered: true, retryable: true})
  }
  for (const how of ['text', 'truncated', 'checksum'] as const) {
    standIn.faults.add({...result, action: {type: 'brokenZip', how}})
    await unreadable()
  }
  await unreadable(['Company'])
  await unreadable(['id'], 20)
  await download(job)
  t.is((await read(['id', 'Last_Name'])).length, 1)
})

test('a file with a NUL is unreadable', async t => {
  const {standIn, bulkRead, download, read} = await openPlace(t)
  standIn.create('example', 'Leads', [{Last_Name: 'a\0b'}])
  const job = await bulkRead.start({module: 'Leads', fields: ['Last_Name']})
  await bulkRead.check(job)
  await download(job)
  t.like(crmOf(await t.throwsAsync(read(['id']), {message: /not readable: FILE_NUL/})), {unanswered: true, retryable: true})
})
