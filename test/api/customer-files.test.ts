import test from 'ava'
import {parse} from 'csv-parse/sync'
import type {HttpAnswer} from '../support/client.ts'
import {accountRows, accounts, ok, openOrg, runImport, untilEnded} from '../support/importing.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'
import {writeWorkbook} from '../support/workbook.ts'

let here: TestDeployment
let org: Awaited<ReturnType<typeof openOrg>>

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['imports', 'discovery']})
  org = await openOrg(here)
})

const creates = {method: 'POST', path: '/crm/v8/Accounts'}
const get = (path: string) => org.call('GET', path)
const cellsOf = ({text}: HttpAnswer) => parse(text, {relax_column_count: true, bom: true}) as string[][]

test.afterEach.always(() => here.crm.faults.clear())

test.serial('a failed.csv saved as a workbook is imported again without its added apostrophes and columns', async t => {
  here.crm.faults.add({match: creates, times: 1, action: {type: 'refuse', index: [0, 1], code: 'INVALID_DATA'}})
  const {
    path,
    source: own,
    run,
  } = await runImport(org, {
    csv: 'name,number,=city\n=A,Fx-1,x\n@B,Fx-2,-y\n',
    flow: {...accounts, fields: accounts.fields.slice(0, 2)},
  })
  const failed = cellsOf(await get(`${path}/failed.csv?run=${run.id}`))
  t.deepEqual(
    failed.map(cells => cells.toSpliced(1, 1)),
    [
      [`lading: row of ${run.id} ${own.id}`, 'name', 'number', "'=city"],
      ['1', "'=A", 'Fx-1', 'x'],
      ['2', "'@B", 'Fx-2', "'-y"],
    ],
  )
  t.regex(failed[1]![1]!, /\(INVALID_DATA\)$/)
  const corrected = await writeWorkbook({sheets: [{name: 'failed', rows: failed.with(1, failed[1]!.with(2, "'=Z"))}]})
  t.is((await ok(org.call('POST', `${path}/sources?name=failed.xlsx`, corrected), 409)).code, 'FAILED_FILE')
  t.like(await ok(org.call('POST', `${path}/runs/${run.id}/corrections`, corrected), 200), {rows: 1, cells: 1, matchedBy: 'row'})
  failed[0]![0] = 'lading: row'
  const send = async (query: string, shared: boolean) => {
    const sheets = [
      {name: 'failed', rows: failed},
      {name: 'plain', rows: [['a'], ["'quoted'"]]},
      {name: 'more', rows: failed},
    ]
    return (await ok(org.call('POST', `${path}/sources?name=failed.xlsx${query}`, await writeWorkbook({sheets, shared})), 201)).source
  }
  const rowsIn = async ({id}: {id: string}) =>
    (await ok(org.call('GET', `${path}/sources/${id}/rows`), 200)).rows.map(({values, raw}: any) => [values, raw])
  const cells = [
    ['=A', 'Fx-1', 'x'],
    ['@B', 'Fx-2', '-y'],
  ]
  for (const shared of [true, false]) {
    const source = await send('', shared)
    t.like(source, {reader: {format: 'xlsx', apostrophes: 'remove'}, fileColumns: ['name', 'number', '=city']})
    t.deepEqual(
      await rowsIn(source),
      cells.map(row => [row, row]),
    )
    const {source: sheet} = await ok(org.call('POST', `${path}/sources`, {fromSource: source.id, sheet: 'more'}), 201)
    t.like(sheet, {reader: {apostrophes: 'remove'}, fileColumns: ['name', 'number', '=city']})
    const {source: kept} = await ok(org.call('PATCH', `${path}/sources/${source.id}`, {reader: {apostrophes: 'keep'}}), 200)
    t.deepEqual(kept.fileColumns, ['name', 'number', "'=city"])
  }
  t.false('apostrophes' in (await send('&sheet=plain', true)).reader)
  t.is((await send(`&reader=${encodeURIComponent('{"apostrophes":"keep"}')}`, true)).fileColumns[2], "'=city")
})

test.serial('no cache may keep a customer file', async t => {
  const {path, run} = await runImport(org, {csv: accountRows(2, 'Nc-'), flow: accounts})
  const {run: dry} = await ok(org.call('POST', `${path}/runs`, {dryRun: true}), 202)
  await untilEnded(org.call, `${path}/runs/${dry.id}`)
  const {sources} = (await ok(org.call('GET', path), 200)).import
  const files = [`results.csv?run=${run.id}`, `results.csv?run=${run.id}&from=2`, `failed.csv?run=${run.id}`, `plan.csv?run=${dry.id}`]
  for (const file of files) {
    const answer = await org.call('GET', `${path}/${file}`)
    t.deepEqual([answer.status, answer.headers.get('cache-control')], [200, 'private, no-store'], file)
  }
  const data = [path, `${path}/sources/${sources[0].id}`, `${path}/sources/${sources[0].id}/rows`, `${path}/runs/${run.id}/records`]
  for (const address of data) {
    const answer = await org.call('GET', address)
    t.is(answer.status, 200, address)
    t.regex(answer.headers.get('cache-control') ?? '', /\bno-store\b/, address)
  }
})
