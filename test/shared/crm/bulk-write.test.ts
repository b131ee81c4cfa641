import {mkdtempSync, rmSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import test, {type ExecutionContext} from 'ava'
import fc from 'fast-check'
import {type BulkColumn, findBulkColumn, idColumn, writeBulkCell} from '../../../shared/crm/bulk/bulk-columns.ts'
import {writeBulkFile} from '../../../shared/crm/bulk/bulk-file.ts'
import {readBulkResults} from '../../../shared/crm/bulk/bulk-results.ts'
import type {BulkWriteRequest} from '../../../shared/crm/bulk/bulk-write.ts'
import {CrmError} from '../../../shared/crm/crm.ts'
import {findHosts} from '../../../shared/crm/hosts.ts'
import type {PricedCall} from '../../../shared/crm/request.ts'
import {openStorage} from '../../../shared/storage/storage.ts'
import {readCsv} from '../../simulators/crm/csv-text.ts'
import {readZip} from '../../simulators/crm/zip-file.ts'
import {place} from './crm-fixture.ts'

const openPlace = async (t: ExecutionContext) => {
  const directory = mkdtempSync(join(tmpdir(), 'bulk-write-'))
  t.teardown(() => rmSync(directory, {recursive: true}))
  const {standIn, crm, connect} = await place(t, {environment: {CRM_TIMEOUT_SECONDS: '2'}, crm: {switches: {bulkSeconds: 0, bulkRowMs: 0}}})
  const priced: PricedCall[] = []
  const {bulkWrite} = await crm.open(await connect(), {onCall: call => void priced.push(call)})
  const spent = () => priced.reduce((sum, {credits}) => sum + credits, 0)
  const bulk = bulkWrite!
  const object = {storage: openStorage({directory}), key: 'bulk/result.zip'}
  const start = async (
    columns: BulkColumn[],
    records: Record<string, unknown>[],
    about: Pick<BulkWriteRequest, 'operation' | 'findBy'> & Partial<BulkWriteRequest>,
  ) => {
    const fileId = await bulk.upload(await writeBulkFile('rows.csv', columns, records))
    return bulk.start({module: 'Orders', fileId, fileName: 'rows.csv', columns, ...about})
  }
  const urlOf = async (job: string) => {
    const status = await bulk.check(job)
    return status.state === 'done' ? status.resultUrl! : status.state
  }
  const results = async (job: string, keys: string[]) => {
    await bulk.download(await urlOf(job), bytes => object.storage.put(object.key, bytes))
    return readBulkResults(object, keys)
  }
  return {standIn, bulk, start, urlOf, results, spent}
}

const code = findBulkColumn({apiName: 'Code', type: 'text'})!
const name = findBulkColumn({apiName: 'Name', type: 'text'})!
const crmOf = (error: unknown) => (error instanceof CrmError ? error.crm : null)
const path = '/crm/bulk/v8/write'

test('an insert stores each value as a create does, and a second send skips every row', async t => {
  const {standIn, bulk, start, results, spent} = await openPlace(t)
  const [account] = standIn.create('example', 'Accounts', [{Account_Name: 'Acme'}])
  const types = {
    Channels: 'multiselectpicklist',
    Quantity: 'integer',
    Amount: 'currency',
    Paid: 'boolean',
    Order_Date: 'date',
    Account: 'lookup',
  }
  const columns = [code, name, ...Object.entries(types).map(([apiName, type]) => findBulkColumn({apiName, type})!)]
  const records = [
    {
      Code: 'k1',
      Name: 'quote " comma , line\nend',
      Channels: ['Web', 'Shop'],
      Quantity: 7,
      Amount: -2.5,
      Paid: true,
      Order_Date: '2026-03-05',
      Account: {id: account!.details.id},
    },
    {Code: 'k2', Name: '=1+1', Paid: false},
  ]
  const [asRecord] = standIn.create('example', 'Orders', [{...records[0], Code: 'by record'}])
  const used = standIn.credits('example').used
  const job = await start(columns, records, {operation: 'insert', findBy: 'Code'})
  t.is(standIn.credits('example').used - used, bulk.creditsPerJob + 2, 'with the upload and the reading of the org')
  const first = await results(job, ['k1', 'k2'])
  const id = first.get('k1')!.recordId!
  t.deepEqual(
    [...first.values()].map(({status}) => status),
    ['created', 'created'],
  )
  const shown = (record: any) => [...Object.keys(types), 'Name'].map(field => record[field]?.id ?? record[field])
  t.deepEqual(shown(standIn.record('example', 'Orders', id)), shown(standIn.record('example', 'Orders', String(asRecord!.details.id))))
  const again = await results(await start(columns, records, {operation: 'insert', findBy: 'Code'}), ['k1', 'k2'])
  t.deepEqual(again.get('k1'), {status: 'skipped', recordId: null, errors: [{code: 'DUPLICATE_DATA', fields: ['Code']}]})
  t.is(spent(), standIn.credits('example').used - used, 'every call reports its credits')
  t.is(standIn.count('example', 'Orders'), 3)
})

test('an update by id changes the given fields, clears empty ones, and reports unknown records', async t => {
  const {standIn, start, results} = await openPlace(t)
  const made = standIn.create('example', 'Orders', [
    {Name: 'One', Short: 'kept', Code: 'a'},
    {Name: 'Two', Short: 'x'},
  ])
  const [one, two] = made.map(({details}) => String(details.id))
  const gone = '4400001000000000009'
  const records = [
    {id: one, Name: 'New', Code: null},
    {id: two, Name: 'Newer', Code: 'b'},
    {id: gone, Name: 'x', Code: null},
  ]
  const found = await results(await start([idColumn, name, code], records, {operation: 'update', findBy: 'id'}), [one!, two!, gone])
  t.deepEqual(
    [one!, two!].map(id => found.get(id)?.status),
    ['updated', 'updated'],
  )
  t.deepEqual(found.get(gone), {status: 'skipped', recordId: null, errors: [{code: 'RESOURCE_NOT_FOUND', fields: ['id']}]})
  t.like(standIn.record('example', 'Orders', one!), {Name: 'New', Short: 'kept', Code: null})
  t.like(standIn.record('example', 'Orders', two!), {Name: 'Newer', Code: 'b'})
})

test('mapped columns that have the names of result columns do not hide the results', async t => {
  const {standIn, start, results} = await openPlace(t)
  for (const column of ['STATUS', 'ERRORS']) standIn.addField('example', 'Orders', {name: column, type: 'text'})
  const columns = [code, name, findBulkColumn({apiName: 'STATUS', type: 'text'})!]
  const job = await start(columns, [{Code: 'a', Name: 'One', STATUS: 'Open'}], {operation: 'insert', findBy: 'Code'})
  t.like((await results(job, ['a'])).get('a'), {status: 'created', errors: []})
})

test('results are read by key: reordered rows are found, missing and doubled ones are unanswered', async t => {
  const {standIn, start, results} = await openPlace(t)
  const records = ['a', 'b', 'c'].map(key => ({Code: key, Name: key}))
  const keys = records.map(({Code}) => Code)
  standIn.faults.add({match: {path, method: 'POST'}, action: {type: 'bulkUnprocessed', rows: 1}})
  const job = await start([code, name], records, {operation: 'insert', findBy: 'Code'})
  const changed = async (change: 'reversed' | 'short' | 'doubled') => {
    standIn.faults.add({match: {path: '/v2/crm/**'}, action: {type: 'bulkResult', change}})
    const found = await results(job, keys)
    return keys.map(key => found.get(key)?.status ?? null)
  }
  t.deepEqual(await changed('reversed'), ['created', 'created', 'unprocessed'])
  t.deepEqual(await changed('short'), ['created', null, 'unprocessed'])
  t.deepEqual(await changed('doubled'), [null, 'created', 'unprocessed'])
  standIn.setSwitches({bulkResultUrl: 'relative'})
  t.is((await results(job, keys)).size, 3)
})

test('the result is downloaded from hosts of the CRM only, and the token goes to no other', async t => {
  const {standIn, bulk, start, urlOf} = await openPlace(t)
  const job = await start([code, name], [{Code: 'a', Name: 'a'}], {operation: 'insert', findBy: 'Code'})
  standIn.clearJournal()
  const download = async (url: string) => crmOf(await t.throwsAsync(bulk.download(url, async () => t.fail('a file of another host'))))
  standIn.faults.add({match: {path: `${path}/*`}, action: {type: 'resultHost', origin: 'https://elsewhere.test'}})
  const named = await urlOf(job)
  const {origin, pathname} = new URL(await urlOf(job))
  const foreign = ['.elsewhere.test', '/downloads', '@elsewhere.test'].map(end => `${origin}${end}${pathname}`)
  for (const url of [named, ...foreign, `//elsewhere.test${pathname}`, `/\\elsewhere.test${pathname}`])
    t.like(await download(url), {code: 'RESULT_HOST_UNKNOWN', retryable: false}, url)
  t.deepEqual(standIn.journal({path: '/v2/'}), [])
  for (const dc of ['us', 'eu', 'ca']) t.regex(findHosts({CRM_HOSTS: [], CRM_STANDIN_URL: undefined}, dc)!.content!, /^https:/)
})

test('a refused, failed, running, unknown or lost job, and a result that is gone, are told apart', async t => {
  const {standIn, bulk, start, urlOf} = await openPlace(t)
  const about = {operation: 'insert', findBy: 'Code'} as const
  const begin = () => start([code, name], [{Code: 'a', Name: 'a'}], about)
  t.like(crmOf(await t.throwsAsync(start([code], [{Code: 'a'}], about))), {
    code: 'MANDATORY_FIELDS_NOT_MAPPED',
    retryable: false,
    unanswered: false,
  })
  standIn.faults.add({match: {path, method: 'POST'}, action: 'bulkStuck'})
  t.like(await bulk.check(await begin()), {state: 'running', fileName: null})
  standIn.faults.add({match: {path, method: 'POST'}, action: 'bulkFailure'})
  t.like(await bulk.check(await begin()), {state: 'failed', crm: {code: 'FAILED', unanswered: false}})
  t.like(crmOf(await t.throwsAsync(bulk.check('4400001000000000009'))), {code: 'RESOURCE_NOT_FOUND', unanswered: false})
  standIn.faults.add({match: {path, method: 'POST'}, action: 'dropAfter'})
  t.like(crmOf(await t.throwsAsync(begin())), {unanswered: true, retryable: true})
  standIn.faults.add({match: {path: '/crm/v8/upload'}, action: 'dropAfter'})
  t.like(crmOf(await t.throwsAsync(begin())), {unanswered: true, retryable: true})
  const url = await urlOf(await begin())
  const download = async () => crmOf(await t.throwsAsync(bulk.download(url, async bytes => void (await Array.fromAsync(bytes)))))
  standIn.faults.add({match: {path: '/v2/crm/**'}, action: {type: 'bulkResult', change: 'gone'}})
  t.like(await download(), {code: 'RESOURCE_NOT_FOUND', retryable: false})
  standIn.faults.add({match: {path: '/v2/crm/**'}, action: {type: 'status5xxBefore', status: 503}})
  t.like(await download(), {unanswered: true, retryable: true})
  let left = true
  await t.throwsAsync(
    bulk.start({module: 'Orders', fileId: '1', fileName: 'rows.csv', columns: [code], ...about}, {mayLeave: () => (left = false)}),
    {code: 'UNAVAILABLE'},
  )
  t.false(left)
})

test('any text is read back from the file as it was written, and values that the file cannot hold are named', async t => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.string({minLength: 1, unit: 'grapheme'}), fc.string({minLength: 1})), {minLength: 1, maxLength: 5}),
      async pairs => {
        const records = pairs.map(([Code, Name]) => ({Code, Name}))
        const {bytes} = readZip(await writeBulkFile('rows.csv', [code, name], records))![0]!
        t.deepEqual(readCsv(bytes.toString()), [['Code', 'Name'], ...pairs])
      },
    ),
    {numRuns: 50},
  )
  const cell = (kind: BulkColumn['kind'], value: unknown) => writeBulkCell({apiName: 'x', kind}, value)
  t.deepEqual([cell('text', null), cell('number', 2.5), cell('list', ['a', 'b']), cell('link', {id: '44'})], ['', '2.5', 'a;b', '44'])
  const unfit: [BulkColumn['kind'], unknown][] = [
    ['text', 5],
    ['text', ''],
    ['number', 1e21],
    ['list', ['a;b']],
    ['date', '2026-03-05T00:00:00Z'],
    ['link', 'x'],
    ['boolean', 'true'],
  ]
  for (const [kind, value] of unfit) t.is(cell(kind, value), null, kind)
  for (const type of ['datetime', 'subform', 'multiselectlookup', 'formula', 'autonumber'])
    t.is(findBulkColumn({apiName: 'x', type}), null, type)
  await t.throwsAsync(writeBulkFile('rows.csv', [code], [{Code: 5}]), {instanceOf: RangeError})
})
