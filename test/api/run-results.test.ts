import {Readable} from 'node:stream'
import test from 'ava'
import {parse} from 'csv-parse/sync'
import {z} from 'zod'
import {listen} from '../../api/listen.ts'
import {openParsing} from '../../shared/files/parser/pool.ts'
import {findOrgRun} from '../../shared/runs/find.ts'
import {makeRunFile} from '../../shared/runs/results/results.ts'
import {sql} from '../../sql/database.ts'
import {archiveAll} from '../../workers/archive.ts'
import {collect} from '../shared/files/chunks.ts'
import type {HttpAnswer} from '../support/client.ts'
import {openCalls} from '../support/client.ts'
import {accountRows, accounts, ok, openOrg, prepareImport, runImport, untilEnded} from '../support/importing.ts'
import {startTestDeployment} from '../support/test-deployment.ts'
import {writeWorkbook} from '../support/workbook.ts'

let here: Awaited<ReturnType<typeof startTestDeployment>>
let org: Awaited<ReturnType<typeof openOrg>>

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['imports', 'discovery'], environment: {LEASE_SECONDS: '3', CRM_TIMEOUT_SECONDS: '1'}})
  org = await openOrg(here)
})
test.afterEach.always(() => {
  here.crm.faults.clear()
  here.crm.setSwitches({coqlRefusedColumns: []})
})

const creates = {method: 'POST', path: '/crm/v8/Accounts'}
const unmatched = {...accounts, match: undefined}
const get = (path: string) => org.call('GET', path)
const told = ({status, body, headers}: HttpAnswer) => ({status, code: body.code, after: headers.get('retry-after')})
const cellsOf = ({text}: HttpAnswer) => parse(text, {relax_column_count: true, bom: true}) as string[][]
const drain = new AbortController().signal
const archive = () => archiveAll({...here.tools, drain})
const noOf = (id: string) => here.db.oneFirst(sql.type(z.object({no: z.number()}))`select run_no as no from runs where id = ${id}`)

test.serial('results need a run of this import', async t => {
  const {path, run} = await runImport(org, {csv: accountRows(1, 'Na-'), flow: accounts})
  const other = await prepareImport(org, {csv: accountRows(1, 'Nb-'), flow: accounts})
  t.like(told(await get(`${path}/results.csv`)), {status: 400, code: 'RUN_REQUIRED'})
  t.like(told(await get(`${path}/results.csv?run=run_none`)), {status: 404, code: 'RUN_NOT_FOUND'})
  t.like(told(await get(`${other.path}/results.csv?run=${run.id}`)), {status: 404, code: 'RUN_NOT_FOUND'})
  t.like(told(await get(`/orgs/${org.org}/imports/imp_none/results.csv?run=${run.id}`)), {status: 404, code: 'IMPORT_NOT_FOUND'})
  t.like(told(await get(`${path}/results.csv?run=${run.id}&source=src_none`)), {status: 404, code: 'SOURCE_NOT_FOUND'})
  t.like(told(await get(`${path}/plan.csv?run=${run.id}`)), {status: 409, code: 'NOT_A_DRY_RUN'})
})

test.serial('a file of a run is named after its import, also if the name is cut inside an emoji', async t => {
  const {path, run} = await runImport(org, {csv: accountRows(1, 'Em-'), flow: accounts})
  const name = 'x'.repeat(119)
  await ok(org.call('PATCH', path, {name: `${name}😀`}), 200)
  const {status, headers} = await get(`${path}/results.csv?run=${run.id}`)
  t.deepEqual([status, headers.get('content-disposition')], [200, `attachment; filename="${name} - results.csv"`])
})

test.serial('results of several files need a source, and have the rows and columns of that source', async t => {
  const {path, source: first} = await prepareImport(org, {csv: accountRows(2, 'Se-'), flow: accounts})
  const {source: second} = await ok(org.call('POST', `${path}/sources?name=people.csv&label=People`, 'last\nSmith\n-\n'), 201)
  const flows = [
    {id: 'f', sourceId: first.id, ...accounts},
    {id: 'g', sourceId: first.id, module: 'Accounts', fields: [{field: 'Account_Name', mode: 'column', source: 'city'}]},
    {id: 'p', sourceId: second.id, module: 'Contacts', fields: [{field: 'Last_Name', mode: 'column', source: 'last'}]},
  ]
  await ok(org.call('PUT', `${path}/flows`, flows), 200)
  const {run} = await ok(org.call('POST', `${path}/runs`, {}), 202)
  await untilEnded(org.call, `${path}/runs/${run.id}`)
  const unnamed = await get(`${path}/results.csv?run=${run.id}`)
  t.like(told(unnamed), {status: 400, code: 'SOURCE_REQUIRED'})
  t.deepEqual(unnamed.body.sources, [
    {id: first.id, label: first.label},
    {id: second.id, label: 'People'},
  ])
  const [header, ...lines] = cellsOf(await get(`${path}/results.csv?run=${run.id}&source=${first.id}`))
  t.deepEqual(header, ['name', 'number', 'city', 'Result', 'Accounts record', 'Error'])
  t.is(lines.length, 2)
  t.true(lines.every(([, , , result, record]) => result === 'Written' && /^\d+; \d+$/.test(record!)))
  const people = cellsOf(await get(`${path}/results.csv?run=${run.id}&source=${second.id}`))
  t.deepEqual(
    people.map(([last, result]) => [last, result]),
    [
      ['last', 'Result'],
      ['Smith', 'Written'],
      [`'-`, 'Written'],
    ],
  )
})

test.serial('results of an external run or a run without a file are refused with NO_FILE', async t => {
  const {path} = await prepareImport(org, {csv: accountRows(1, 'Ou-'), flow: accounts})
  const {runId} = await ok(org.call('POST', '/entitlements/runs/authorise', {declaredRows: 1, importId: path.split('/').at(-1)}), 200)
  t.like(told(await get(`${path}/results.csv?run=${runId}`)), {status: 409, code: 'NO_FILE'})
  await ok(org.call('POST', `/entitlements/runs/${runId}/lease`), 200)
  t.like(told(await get(`${path}/failed.csv?run=${runId}`)), {status: 409, code: 'NO_FILE'})
})

test.serial('results show the state frozen by the run, whatever changes in the import later', async t => {
  const csv = 'name;number;city\n Anna ;Fr-1;=X\n\n Bo;Fr-2;y\nCy;Fr-1;z\n'
  const {path, source} = await prepareImport(org, {csv, flow: accounts})
  const sourcePath = `${path}/sources/${source.id}`
  await ok(org.call('PATCH', sourcePath, {cleaning: [{step: 'trim'}, {step: 'strikeDuplicates', columns: ['number']}]}), 200)
  const {run} = await ok(org.call('POST', `${path}/runs`, {}), 202)
  await untilEnded(org.call, `${path}/runs/${run.id}`)
  await ok(org.call('PATCH', sourcePath, {reader: {headerRow: false}, cleaning: []}), 200)
  const [header, ...lines] = cellsOf(await get(`${path}/results.csv?run=${run.id}`))
  t.deepEqual(header, ['name', 'number', 'city', 'Result', 'Accounts record', 'Error'])
  t.deepEqual(
    lines.map(cells => cells.toSpliced(4, 1)),
    [
      [' Anna ', 'Fr-1', `'=X`, 'Written', ''],
      [' Bo', 'Fr-2', 'y', 'Written', ''],
      ['Cy', 'Fr-1', 'z', 'Excluded', ''],
    ],
  )
})

test.serial('a file of earlier results keeps its columns, and the new result columns get distinct names', async t => {
  const csv = 'name,number,Result,Accounts record,Error,lading: Error\nA,Ow-1,Failed,1,x,y\n'
  const flow = {...accounts, fields: accounts.fields.slice(0, 2)}
  const {path, run} = await runImport(org, {csv, flow})
  const [header, line] = cellsOf(await get(`${path}/results.csv?run=${run.id}`))
  t.deepEqual(header!.slice(6), ['lading: Result', 'lading: Accounts record', 'lading: lading: Error'])
  t.deepEqual([line!.slice(0, 7), line![8]], [['A', 'Ow-1', 'Failed', '1', 'x', 'y', 'Written'], ''])
})

test.serial('rows not reached by the run are listed without a result', async t => {
  const {path, run} = await runImport(org, {csv: accountRows(250, 'Nr-'), flow: accounts, start: {declaredRows: 100}})
  const [, ...lines] = cellsOf(await get(`${path}/results.csv?run=${run.id}`))
  t.deepEqual([lines.length, lines.filter(([, , , result]) => result === 'Written').length], [250, 100])
  t.deepEqual(lines[249], ['Company 250', 'Nr-250', 'Town 4', '', '', ''])
})

test.serial('a retry shows rows written by an earlier run; rows outside its selection have no result', async t => {
  here.crm.faults.add({match: creates, times: 1, action: {type: 'refuse', index: [1, 2], code: 'INVALID_DATA'}})
  const {path, source, run: first} = await runImport(org, {csv: accountRows(4, 'Rt-'), flow: accounts})
  const before = cellsOf(await get(`${path}/results.csv?run=${first.id}`)).slice(1)
  const {run} = await ok(org.call('POST', `${path}/runs`, {retryOf: first.id, rows: {from: 1, to: 3}}), 202)
  await untilEnded(org.call, `${path}/runs/${run.id}`)
  await archive()
  const lines = cellsOf(await get(`${path}/results.csv?run=${run.id}`)).slice(1)
  t.deepEqual(
    before.map(cells => cells[3]),
    ['Written', 'Failed', 'Failed', 'Written'],
  )
  t.deepEqual(
    lines.map(cells => cells[3]),
    ['Written before', 'Written', 'Written', ''],
  )
  t.deepEqual([lines[0]![4], lines[3]!.slice(3)], [before[0]![4], ['', '', '']])
  t.is((await get(`${path}/failed.csv?run=${run.id}`)).text.trim(), headerOf(run, source))
})

/** Returns the header line of failed.csv, which names the run and its source. */
const headerOf = (run: {id: string}, source: {id: string}) => `lading: row of ${run.id} ${source.id},lading: error,name,number,city`

test.serial('failed.csv of a run that is unknown here can be imported unchanged, and lacks rows with too few cells', async t => {
  here.crm.faults.add({match: creates, times: 1, action: {type: 'refuse', index: [1, 3], code: 'INVALID_DATA'}})
  const csv = 'name\tnumber\tcity\nA\tFa-1\tx\n"B; ""b"""\tFa-2\t=y\nC\tFa-3\n\tFa-4\tü, "z"\nE\tFa-5\tw\n'
  const {path, source, run} = await runImport(org, {csv, flow: accounts})
  const failed = await get(`${path}/failed.csv?run=${run.id}`)
  t.is(failed.headers.get('cache-control'), 'private, no-store')
  t.is(failed.headers.get('content-disposition'), 'attachment; filename="Test - failed.csv"')
  t.is(failed.headers.get('content-length'), String(Buffer.byteLength(failed.text) + 3), 'the mark, which reading takes off')
  const whole: string[][] = parse(failed.text, {bom: true, delimiter: '\t', relax_column_count: true})
  t.deepEqual(whole[0]!.slice(0, 2), [`lading: row of ${run.id} ${source.id}`, 'lading: error'], 'in the delimiter of the file')
  t.true(whole.slice(1).every(([row, error]) => Number(row) >= 1 && error !== ''))
  const lines = whole.map(cells => cells.slice(2))
  t.deepEqual(lines[0], ['name', 'number', 'city'])
  t.true(lines.some(cells => cells[1] === 'Fa-2' && cells[0] === 'B; "b"' && cells[2] === "'=y"))
  const results = cellsOf(await get(`${path}/results.csv?run=${run.id}`)).slice(1)
  const failures = results.filter(cells => cells.includes('Failed') && cells[1] !== 'Fa-3').map(([, number]) => number)
  t.deepEqual(
    lines.slice(1).map(([, number]) => number),
    failures,
  )
  t.deepEqual(failures, ['Fa-2', 'Fa-4', 'Fa-5'])
  const again = await runImport(org, {csv: failed.text.replace(run.id, 'run_unknown'), flow: accounts})
  t.like(again.source, {reader: {encoding: 'utf-8', apostrophes: 'remove', reasons: 'remove'}, fileColumns: ['name', 'number', 'city']})
  const read = await ok(org.call('GET', `${again.path}/sources/${again.source.id}/rows`), 200)
  t.true(JSON.stringify(read.rows).includes('"=y"') && !JSON.stringify(read.rows).includes("'=y"))
  const counted = Object.values<number>(again.run.counts.Accounts).reduce((sum, count) => sum + count, 0)
  t.deepEqual([counted, again.run.counts.Accounts.created >= 2], [failures.length, true])
})

test.serial('failed.csv has no unanswered rows', async t => {
  // The CRM also refuses the search for lost creates.
  here.crm.setSwitches({coqlRefusedColumns: ['Created_Time']})
  here.crm.faults.add({match: creates, times: 100, action: 'dropAfter'})
  const flow = {...unmatched, fields: accounts.fields.filter(({field}) => field !== 'Account_Number')}
  const {path, source, run} = await runImport(org, {csv: accountRows(3, 'Un-'), flow})
  t.is(run.counts.Accounts.unanswered, 3)
  t.is((await get(`${path}/failed.csv?run=${run.id}`)).text, `${headerOf(run, source)}\r\n`)
  const results = cellsOf(await get(`${path}/results.csv?run=${run.id}`)).slice(1)
  t.true(results.every(cells => cells[3] === 'No answer'))
})

test.serial('a dry run has a plan, and no results', async t => {
  const csv = `${accountRows(3, 'Pl-')}Company 4,Pl-1,Elsewhere\n,Pl-9,\n`
  const known = await runImport(org, {csv: accountRows(1, 'Pl-'), flow: accounts})
  const {path, run} = await runImport(org, {csv, flow: accounts, start: {dryRun: true}})
  t.like(told(await get(`${path}/results.csv?run=${run.id}`)), {status: 409, code: 'DRY_RUN'})
  t.like(told(await get(`${path}/failed.csv?run=${run.id}`)), {status: 409, code: 'DRY_RUN'})
  const record = cellsOf(await get(`${known.path}/results.csv?run=${known.run.id}`))[1]![4]!
  const [header, ...lines] = cellsOf(await get(`${path}/plan.csv?run=${run.id}`))
  t.deepEqual(header, ['Row', 'Source', 'Module', 'Action', 'Record', 'Field', 'Old', 'New', 'Why'])
  const label = 'test.csv'
  t.deepEqual(lines.slice(0, 8), [
    ['1', label, 'Accounts', 'update', record, '', '', '', 'nothing changes'],
    ['2', label, 'Accounts', 'create', '', 'Account Name', '', 'Company 2', ''],
    ['2', label, 'Accounts', 'create', '', 'Account Number', '', 'Pl-2', ''],
    ['2', label, 'Accounts', 'create', '', 'Billing City', '', 'Town 1', ''],
    ...lines.slice(4, 7),
    ['4', label, 'Accounts', 'update', record, 'Account Name', 'Company 1', 'Company 4', ''],
  ])
  t.deepEqual(lines[8], ['4', label, 'Accounts', 'update', record, 'Billing City', 'Town 0', 'Elsewhere', ''])
  const stored = sql.type(z.object({key: z.string()}))`select key from segments join runs using (run_no) where id = ${run.id} and list = -1`
  const keys = await here.db.anyFirst(stored)
  for (const key of keys) t.true(await here.storage.exists(key))
  await here.db.query(sql.unsafe`delete from runs where id = ${run.id}`)
  for (const key of keys)
    t.true(await here.db.exists(sql.unsafe`select from loose_objects where key = ${key}`), 'its file goes with the run')
})

test.serial('an unreadable row gives an error, however late it comes', async t => {
  const {path, run, source} = await runImport(org, {csv: accountRows(3_000, 'Ur-'), flow: accounts})
  const key = `${org.org}/${path.split('/').at(-1)}/${source.id}`
  await here.storage.put(key, Readable.from([Buffer.from(`${accountRows(3_000, 'Ur-')}x,${'y'.repeat(1_048_577)},z\n`)]))
  t.like(told(await get(`${path}/results.csv?run=${run.id}`)), {status: 422, code: 'UNREADABLE'})
  await here.storage.remove(key)
  t.like(told(await get(`${path}/results.csv?run=${run.id}`)), {status: 410, code: 'FILE_GONE'})
  t.like(told(await get(`${path}/failed.csv?run=${run.id}`)), {status: 410, code: 'FILE_GONE'})
})

test.serial('results of a run by a newer build are refused', async t => {
  const {path, run} = await runImport(org, {csv: accountRows(1, 'Ff-'), flow: accounts})
  await here.db.query(sql.unsafe`
    with newer as (
      insert into run_snapshots (format, document) select 99, document from run_snapshots s join runs using (snapshot_no) where runs.id = ${run.id}
      returning snapshot_no)
    update runs set snapshot_no = newer.snapshot_no from newer where id = ${run.id}`)
  t.like(told(await get(`${path}/results.csv?run=${run.id}`)), {status: 409, code: 'FROM_FUTURE'})
})

test.serial('a workbook over the limit of this deployment is refused with both sizes', async t => {
  const {import: made} = await ok(org.call('POST', `/orgs/${org.org}/imports`, {name: 'Book', connectorId: org.connector}), 201)
  const path = `/orgs/${org.org}/imports/${made.id}`
  const sheet = [['name', 'number', 'city'], ...Array.from({length: 2_000}, (_, at) => [`Company ${at}`, `Wb-${at}`, 'Town'])]
  const book = await writeWorkbook({sheets: [{name: 'One', rows: sheet}]})
  const {source} = await ok(org.call('POST', `${path}/sources?name=book.xlsx`, book), 201)
  await ok(org.call('PUT', `${path}/flows`, [{id: 'f', sourceId: source.id, ...accounts}]), 200)
  const {run} = await ok(org.call('POST', `${path}/runs`, {}), 202)
  await untilEnded(org.call, `${path}/runs/${run.id}`)
  const config = {...here.config, WORKBOOK_LIMIT_BYTES: 1_000}
  const parsing = openParsing(config)
  t.teardown(parsing.close)
  const small = await listen({...here.tools, config, parsing}, here)
  t.teardown(small.drain)
  const answer = await openCalls(small.url)(await here.signIn())('GET', `${path}/results.csv?run=${run.id}`)
  t.like(told(answer), {status: 413, code: 'WORKBOOK_TOO_LARGE'})
  t.like(answer.body, {limit: 1_000})
  t.true(answer.body.unpacked > 1_000)
  t.is((await get(`${path}/results.csv?run=${run.id}`)).status, 200)
})

test.serial('records that cannot be read from storage are refused with a retry time of a minute', async t => {
  const {path, run} = await runImport(org, {csv: accountRows(5, 'Mo-'), flow: accounts})
  await archive()
  const keys = await here.db.any(sql.type(z.object({key: z.string()}))`select key from segments where run_no = ${await noOf(run.id)}`)
  for (const {key} of keys) await here.storage.remove(key)
  t.deepEqual(told(await get(`${path}/results.csv?run=${run.id}`)), {status: 503, code: 'RECORDS_MOVING', after: '60'})
  t.deepEqual(told(await get(`${path}/runs/${run.id}/records`)), {status: 503, code: 'RECORDS_MOVING', after: '60'})
  await here.db.query(sql.unsafe`update segments set storage = 's3'`)
  t.like(told(await get(`${path}/results.csv?run=${run.id}`)), {status: 503, code: 'NOT_CONFIGURED'})
  t.like(told(await get(`${path}/runs/${run.id}/records`)), {status: 503, code: 'NOT_CONFIGURED'})
})

test.serial('results being made while the run is archived are made again from the archive', async t => {
  const {path, run} = await runImport(org, {csv: accountRows(3_500, 'Mw-'), flow: accounts})
  const found = await findOrgRun(here.db, {org: org.org, runId: run.id})
  let looks = 0
  const hot = new Proxy(here.hot, {
    get: (pool, name) => {
      if (name !== 'query') return Reflect.get(pool, name)
      return async (query: {name: string}) => {
        if (query.name === 'list-finals' && ++looks === 2) await archive()
        return pool.query(query as never)
      }
    },
  })
  const {bytes, body} = await makeRunFile({...here.tools, hot}, org.org, found, 'results')
  t.true(looks === 2 || looks === 3, 'the look beside it')
  const text = String(await collect(body))
  t.is(text.length, bytes)
  const lines = parse(text) as string[][]
  t.is(lines.length, 3_501)
  t.true(lines.slice(1).every(([, , , result, record]) => result === 'Written' && record))
  t.is((await get(`${path}/results.csv?run=${run.id}`)).text, text)
})
