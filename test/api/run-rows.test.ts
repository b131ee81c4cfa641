import test from 'ava'
import {sql} from '../../sql/database.ts'
import {listTemplateRuns} from '../../sql/runs.ts'
import {archiveAll} from '../../workers/archive.ts'
import {openEmbed} from '../support/embed.ts'
import {accounts, type Org, ok, openOrg, runImport, untilEnded} from '../support/importing.ts'
import {makeTemplate, upload} from '../support/templates.ts'
import {startTestDeployment} from '../support/test-deployment.ts'

let here: Awaited<ReturnType<typeof startTestDeployment>>
let org: Org

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['imports', 'discovery']})
  org = await openOrg(here)
})

/** Returns a file of 2,500 rows. The CRM refuses every 500th row, and every 700th has an invalid value. */
const csvOf = (prefix: string, city = 'Town') => {
  const rows = Array.from({length: 2500}, (_, at) => at + 1)
  const lines = rows.map(n => `${n % 500 === 0 ? '' : `Company ${n}`},${prefix}${n},${city} ${n % 7},${n % 700 === 0 ? 'many' : n}`)
  return `name,number,city,employees\n${lines.join('\n')}\n`
}
const flow = {...accounts, fields: [...accounts.fields, {field: 'Employees', mode: 'column', source: 'employees'}]}

const read = (path: string, query = '') => ok(org.call('GET', `${path}${query}`), 200)

const readAll = async (path: string, query: string, name: 'rows' | 'groups') => {
  const found: any[] = []
  let cursor: string | null = ''
  while (cursor !== null) {
    const page: any = await read(path, `?${query}${cursor && `&cursor=${encodeURIComponent(cursor)}`}`)
    found.push(...page[name])
    cursor = page.nextCursor
  }
  return found
}
test.serial('rows come with the cells of the file, the columns that name them, and the page of their record', async t => {
  const csv = 'name,number,city,employees\n Alpha ,Ce-1,Kiel,5\nBeta,Ce-2,Bonn,many\n'
  const {path, source, run} = await runImport(org, {csv, flow})
  const rows = `${path}/runs/${run.id}/rows`
  const {rows: cells, ...about} = await read(`${rows}/cells`, `?rows=2,1`)
  t.deepEqual(cells, [
    {rowNumber: 1, cells: [' Alpha ', 'Ce-1', 'Kiel', '5']},
    {rowNumber: 2, cells: ['Beta', 'Ce-2', 'Bonn', 'many']},
  ])
  t.like(about, {source: source.id, keys: ['number', 'name']})
  t.deepEqual(about.fields.at(-1), {flowId: 'f', field: 'Employees', column: 'employees'})
  const [written, failed] = (await read(rows)).rows
  t.like(failed.entries[0], {outcome: 'failed', field: 'Employees', recordUrl: null})
  const {recordId, recordUrl} = written.entries[0]
  t.true(recordUrl.endsWith(`/crm/EntityInfo.do?module=Accounts&id=${recordId}`))
  const log = await read(`${rows}/log`, '?row=1')
  t.is(log.row.entries[0].recordUrl, recordUrl)
  t.is((await ok(org.call('GET', `${rows}/cells?rows=0`), 400)).code, 'INVALID')
})

const numbers = (rows: {rowNumber: number}[]) => rows.map(({rowNumber}) => rowNumber)

/** Returns the answers of six queries about the rows of a run. They must be equal before and after archiving. */
const tellAll = async (path: string) => ({
  refused: await readAll(path, 'outcome=refused&limit=2', 'rows'),
  invalid: await readAll(path, 'code=INVALID_VALUE', 'rows'),
  text: await readAll(path, 'text=whole+NUMBER&from=701', 'rows'),
  middle: await read(path, '?from=1234&limit=1'),
  tally: await readAll(`${path}/tally`, '', 'groups'),
  log: (await read(`${path}/log`, '?row=500')).log,
})

test('rows are found by outcome, code and text, grouped by reason, and identical after archiving', async t => {
  const {path, run} = await runImport(org, {csv: csvOf('R-'), flow})
  const rows = `${path}/runs/${run.id}/rows`
  const told = await tellAll(rows)
  t.deepEqual(numbers(told.refused), [500, 1000, 1500, 2000, 2500])
  t.like(told.refused[0].entries[0], {module: 'Accounts', phase: 'write', outcome: 'refused', code: 'MANDATORY_NOT_FOUND', recordId: null})
  t.deepEqual(numbers(told.invalid), [700, 1400, 2100])
  t.like(told.invalid[0].entries[0], {field: 'Employees', fieldLabel: 'Employees', outcome: 'failed', changes: null, action: null})
  t.deepEqual(numbers(told.text), [1400, 2100])
  t.like(told.middle, {rows: [{rowNumber: 1234}], reached: 1234})
  t.truthy(told.middle.rows[0].entries[0].recordId)
  const counted = told.tally.map(({outcome, code, rows, firstRow}) => ({outcome, code, rows, firstRow}))
  t.deepEqual(
    counted.sort((a, b) => b.rows - a.rows),
    [
      {outcome: 'created', code: null, rows: 2492, firstRow: 1},
      {outcome: 'refused', code: 'MANDATORY_NOT_FOUND', rows: 5, firstRow: 500},
      {outcome: 'failed', code: 'INVALID_VALUE', rows: 3, firstRow: 700},
    ],
  )
  t.like(told.log[0], {rowNumber: 500, attempt: 1, outcome: 'refused'})

  await archiveAll({...here.tools, drain: new AbortController().signal})
  t.deepEqual(await tellAll(rows), told)
})

test('a row that two flows of one module fail alike counts once in its group', async t => {
  const csv = 'name,number,city,employees\nA,Tw-1,Kiel,many\nB,Tw-2,Bonn,many\n'
  const {path, run} = await runImport(org, {csv, flow: [flow, flow]})
  const rows = `${path}/runs/${run.id}/rows`
  const groups = await readAll(`${rows}/tally`, '', 'groups')
  t.like(groups, [{outcome: 'failed', code: 'INVALID_VALUE', field: 'Employees', rows: 2, firstRow: 1}])
  t.is(groups.length, 1)
  const listed = await readAll(rows, 'code=INVALID_VALUE', 'rows')
  t.deepEqual(
    listed.map(({rowNumber, entries}) => [rowNumber, entries.length]),
    [
      [1, 2],
      [2, 2],
    ],
  )
})

test('a dry run lists the planned action of each row, with old and new values of every field', async t => {
  await runImport(org, {csv: csvOf('D-'), flow})
  const csv = csvOf('D-', 'City').replace('D-1001,', 'New-1001,')
  const {path, run} = await runImport(org, {csv, flow, start: {dryRun: true}})
  const rows = `${path}/runs/${run.id}/rows`
  const updates = await readAll(rows, 'action=update&limit=200', 'rows')
  t.is(updates.length, 2491)
  const changes = [{field: 'Billing_City', label: 'Billing City', old: 'Town 3', new: 'City 3'}]
  t.like(updates[2].entries[0], {action: 'update', outcome: 'planned', changes})
  t.truthy(updates[2].entries[0].recordId)
  const failing = await readAll(rows, 'action=fail', 'rows')
  t.deepEqual(await readAll(rows, 'action=fail&phase=write', 'rows'), failing)
  t.deepEqual(await readAll(rows, 'action=fail&phase=patch', 'rows'), [])
  t.deepEqual(numbers(failing), [500, 700, 1000, 1400, 1500, 2000, 2100, 2500])
  t.like(failing[0].entries[0], {outcome: 'refused', code: 'MANDATORY_NOT_FOUND'})
  const [created] = await readAll(rows, 'action=create&from=501', 'rows')
  t.is(created.rowNumber, 1001)
  t.true(
    created.entries[0].changes.some((change: any) => change.field === 'Account_Number' && change.old === '' && change.new === 'New-1001'),
  )
  t.is((await readAll(rows, 'text=TOWN+6', 'rows')).length, updates.filter(({entries}) => entries[0].changes[0].old === 'Town 6').length)
  t.deepEqual((await read(`${rows}/tally`)).groups.map(({action, rows}: any) => [action, rows]).sort(), [
    ['create', 1],
    ['fail', 3],
    ['fail', 5],
    ['update', 2491],
  ])
})

test('an embed token finds rows by planned values only, and reads no value of before, not even in an undo', async t => {
  await runImport(org, {csv: 'name,number,city\nOld,E-1,Hidden Town\n', flow: accounts})
  const slot = {slot: 'rows', label: 'Rows', reader: {}, cleaning: [], choices: {}, columns: ['name', 'number', 'city']}
  const {id: template} = await makeTemplate(org.call, org.org, {sources: [slot], flows: [{id: 'f', sourceId: 'rows', ...accounts}]})
  const page = here.as((await openEmbed(here, {...org, template})).embed)
  const {import: made} = await ok(page('POST', `/orgs/${org.org}/imports`, {templateId: template}), 201)
  const path = `/orgs/${org.org}/imports/${made.id}`
  await ok(upload(page, path, 'name,number,city\nNew,E-1,Open Town\n'), 201)
  const start = async (under: string, body: object, call = page) => {
    const {run} = await ok(call('POST', `${path}/runs${under}`, body), 202)
    await untilEnded(org.call, `${path}/runs/${run.id}`)
    return {run, rows: `${path}/runs/${run.id}/rows`}
  }
  const {rows} = await start('', {dryRun: true})
  const find = async (call: typeof page, text: string) => (await ok(call('GET', `${rows}?text=${text}`), 200)).rows
  t.is((await find(org.call, 'hidden+town')).length, 1)
  t.deepEqual(await find(page, 'hidden+town'), [])
  const [planned] = await find(page, 'open+town')
  const {row} = await ok(page('GET', `${rows}/log?row=1`), 200)
  for (const {changes} of [planned.entries[0], row.entries[0]])
    t.deepEqual(
      changes.map(({field, old, new: now}: any) => [field, old, now]),
      [
        ['Account_Name', '', 'New'],
        ['Billing_City', '', 'Open Town'],
      ],
    )
  const {run} = await start('', {})
  const undo = await start(`/${run.id}/undo`, {dryRun: true}, org.call)
  t.true((await org.call('GET', undo.rows)).text.includes('Hidden Town'))
  t.like(await page('GET', undo.rows), {status: 404, body: {code: 'RUN_NOT_FOUND'}})
})

test('invalid filters, cursors of other filters and unknown sources are refused', async t => {
  const {path, run} = await runImport(org, {csv: csvOf('X-'), flow, start: {rows: {to: 10}}})
  const rows = `${path}/runs/${run.id}/rows`
  const {nextCursor} = await read(rows, '?limit=1')
  const refused = async (query: string, under = '') => (await org.call('GET', `${rows}${under}${query}`)).body.code
  t.is(await refused('?outcome=lost'), 'INVALID')
  t.is(await refused('?from=0'), 'INVALID')
  t.is(await refused(`?limit=1&outcome=created&cursor=${encodeURIComponent(nextCursor)}`), 'INVALID_CURSOR')
  t.is(await refused('?source=src_none'), 'SOURCE_NOT_FOUND')
  t.is(await refused('', '/log'), 'INVALID')
  t.deepEqual((await read(`${rows}/log`, '?row=11')).row.entries, [], 'a row that was passed over')
  for (const row of [1_000_000, Number.MAX_SAFE_INTEGER]) {
    const beyond = await read(`${rows}/log`, `?row=${row}`)
    t.deepEqual([beyond.row.entries, beyond.log], [[], []], 'a row beyond the file')
  }
})

test('the runs of an org are listed over all imports, newest first', async t => {
  const mine = await openOrg(here, 'zoe@other.example')
  const first = await runImport(mine, {csv: 'name,number,city\nA,L-1,X\nB,L-2,X\n', flow: accounts})
  const second = await runImport(mine, {csv: 'name,number,city\nC,L-3,X\nD,L-4,X\n', flow: accounts, start: {declaredRows: 1}})
  const tried = await ok(mine.call('POST', `${first.path}/runs`, {dryRun: true}), 202)
  const list = async (query: string) => {
    const {runs, nextCursor} = await ok(mine.call('GET', `/orgs/${mine.org}/runs${query}`), 200)
    return {ids: runs.map(({id}: any) => id), runs, nextCursor}
  }
  const all = await list('')
  t.deepEqual(all.ids, [tried.run.id, second.run.id, first.run.id])
  t.like(all.runs[1], {importId: second.path.split('/').at(-1), importName: 'Test'})
  const page = await list('?limit=2')
  t.deepEqual((await list(`?limit=2&cursor=${encodeURIComponent(page.nextCursor)}`)).ids, [first.run.id])
  t.deepEqual((await list('?dryRun=true')).ids, [tried.run.id])
  t.deepEqual((await list('?dryRun=false&stopped=true')).ids, [second.run.id])
  t.deepEqual((await list(`?import=${first.path.split('/').at(-1)}&dryRun=false&state=ended`)).ids, [first.run.id])
  t.deepEqual((await list('?state=authorised')).ids, [])
  t.is((await mine.call('GET', `/orgs/${mine.org}/runs?state=lost`)).body.code, 'INVALID')
  await untilEnded(mine.call, `${first.path}/runs/${tried.run.id}`)
  await ok(mine.call('DELETE', first.path), 200)
  t.deepEqual((await list('')).ids, [second.run.id], 'the runs of a deleted import are not listed')
  await here.db.query(sql.unsafe`update runs set template_id = 'tpl_a' where org_id = ${mine.org}`)
  const ofTemplate = await listTemplateRuns(here.db, {org: mine.org, template: 'tpl_a', before: null, limit: 9})
  t.deepEqual(
    ofTemplate.map(({id}) => id),
    [second.run.id],
  )
})
