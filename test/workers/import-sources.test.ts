import test from 'ava'
import {checkImport} from '../support/import-checks.ts'
import {accounts, ok, openOrg, readLog, untilEnded} from '../support/importing.ts'
import {startTestDeployment} from '../support/test-deployment.ts'
import {type Cell, writeWorkbook} from '../support/workbook.ts'

let here: Awaited<ReturnType<typeof startTestDeployment>>
let org: Awaited<ReturnType<typeof openOrg>>

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['imports', 'discovery', 'checks'], environment: {LEASE_SECONDS: '3'}})
  org = await openOrg(here)
})

const prepare = async (body: string | Uint8Array, changes: object | null = null, flow: object = accounts) => {
  const {import: made} = await ok(org.call('POST', `/orgs/${org.org}/imports`, {name: 'Test', connectorId: org.connector}), 201)
  const path = `/orgs/${org.org}/imports/${made.id}`
  const {source} = await ok(org.call('POST', `${path}/sources`, body), 201)
  if (changes) await ok(org.call('PATCH', `${path}/sources/${source.id}`, changes), 200)
  await ok(org.call('PUT', `${path}/flows`, [{id: 'f', sourceId: source.id, ...flow}]), 200)
  return {path, source, at: `${path}/sources/${source.id}`}
}

const run = async (path: string, start: object = {}) => {
  const {run} = await ok(org.call('POST', `${path}/runs`, start), 202)
  return untilEnded(org.call, `${path}/runs/${run.id}`)
}

const results = async (path: string, {id}: {id: string}) => {
  const {status, text} = await org.call('GET', `${path}/results.csv?run=${id}`)
  return {status, lines: text.trim().split('\r\n')}
}

const found = (prefix: string) =>
  here.crm.records('example', 'Accounts').filter(({Account_Number}) => String(Account_Number).startsWith(prefix))

test.serial('a workbook is imported, and its results show its cells as read', async t => {
  const people: Cell[][] = [
    ['name', 'number', 'city', 'since'],
    ['Wb One', 'Wb-1', 'Town', {v: 45322, s: 1}],
    [],
    ['Wb Two', 'Wb-2', 'Town', {v: '45322.5', s: 1}],
  ]
  const {path} = await prepare(await writeWorkbook({sheets: [{name: 'People', rows: people}], formats: [14], shared: true}))
  const ended = await run(path)
  t.like(ended.counts.Accounts, {created: 2, failed: 1})
  t.is(found('Wb-').length, 2)
  const {lines} = await results(path, ended)
  t.is(lines[0], 'name,number,city,since,Result,Accounts record,Error')
  t.regex(lines[1]!, /^Wb One,Wb-1,Town,2024-01-31,Written,\d+,$/)
  t.regex(lines[2]!, /^,,,,Failed,,.*ROW_EMPTY/)
  t.regex(lines[3]!, /^Wb Two,Wb-2,Town,2024-01-31T12:00:00,Written,\d+,$/)
})

const rows = ' name ,number,city\nCl One,Cl-1,Alpha\nCl Two,Cl-2,\n,,\nCl One again,Cl-1,\nCl Three,Cl-3,\nCl Four,Cl-4,Beta\n'
const cleaning = [
  {step: 'strikeEmpty'},
  {step: 'fillDown', columns: ['city']},
  {step: 'strikeDuplicates', columns: ['number']},
  {step: 'strikeRows', rows: [{from: 6, to: 6}]},
  {step: 'split', column: 'name', separator: ' ', into: ['kind', 'rest']},
]
const flow = {...accounts, fields: [{field: 'Account_Name', mode: 'column', source: 'rest'}, ...accounts.fields.slice(1)]}

test.serial('an excluded row keeps its number and is not counted, and the other rows are written cleaned and shown as read', async t => {
  const {path} = await prepare(rows, {cleaning}, flow)
  const ended = await run(path)
  t.like(ended, {rowsWritten: 3, declaredRows: 3, progress: {done: 3, total: 3}})
  t.like(ended.counts.Accounts, {created: 3, failed: 0, skipped: 0})
  const log = await readLog(org.call, `${path}/runs/${ended.id}`)
  t.deepEqual(log.map(({rowNumber}) => rowNumber).sort(), [1, 2, 5])
  t.deepEqual(
    found('Cl-').map(({Account_Name, Billing_City}) => `${Account_Name} ${Billing_City}`),
    ['One Alpha', 'Two Alpha', 'Three Alpha'],
  )
  const {lines} = await results(path, ended)
  t.is(lines[0], 'name,number,city,Result,Accounts record,Error')
  t.deepEqual(
    lines.slice(1).map(line => line.replace(/\d{10,}/, 'ID')),
    [
      'Cl One,Cl-1,Alpha,Written,ID,',
      'Cl Two,Cl-2,,Written,ID,',
      ',,,Excluded,,',
      'Cl One again,Cl-1,,Excluded,,',
      'Cl Three,Cl-3,,Written,ID,',
      'Cl Four,Cl-4,Beta,Excluded,,',
    ],
  )
  t.like(await run(path, {rows: {from: 2, to: 4}}), {stop: null, progress: {done: 1, total: 1}})
})

test.serial('results follow the snapshot of the run, even if the source was changed or deleted', async t => {
  const {path, at} = await prepare('name,number,city\nSn One,Sn-1,x\nSn Two,Sn-2,y\n', {
    cleaning: [{step: 'strikeRows', rows: [{from: 2, to: 2}]}],
  })
  const ended = await run(path)
  const before = await results(path, ended)
  await ok(org.call('PATCH', at, {cleaning: [], reader: {headerRow: false}}), 200)
  t.deepEqual(await results(path, ended), before)
  await ok(org.call('DELETE', at), 200)
  t.deepEqual(await results(path, ended), before)
  t.is(before.lines.filter(line => line.includes('Excluded')).length, 1)
  const answer = await org.call('POST', `${path}/runs`, {})
  t.is(answer.body.code, 'NOT_READY')
})

test.serial('short rows are refused or filled, as the reader setting says', async t => {
  const {path, at} = await prepare('name,number,city\nSh One,Sh-1\n')
  t.is((await run(path)).counts.Accounts.failed, 1)
  await ok(org.call('PATCH', at, {reader: {shortRows: 'fill'}}), 200)
  t.is((await run(path)).counts.Accounts.created, 1)
})

test.serial('a changed cleaning excludes other rows and renumbers none', async t => {
  const {path, at} = await prepare('name,number,city\nRe One,Re-1,x\nRe Two,Re-2,y\nRe Three,Re-3,z\n', {
    cleaning: [{step: 'strikeRows', rows: [{from: 1, to: 1}]}],
  })
  const ended = await run(path)
  t.is(ended.counts.Accounts.created, 2)
  await ok(org.call('PATCH', at, {cleaning: []}), 200)
  const again = await run(path)
  const log = await readLog(org.call, `${path}/runs/${again.id}`)
  t.deepEqual(
    log.filter(({outcome}) => outcome === 'created').map(({rowNumber}) => rowNumber),
    [1],
  )
})

test.serial('formatted numbers reach the CRM as displayed, or as stored where the column is set so', async t => {
  const rows: Cell[][] = [
    ['deal', 'zip', 'amount', 'chance'],
    ['Fm One', {v: 501, s: 1}, {v: '12.345', s: 3}, {v: '0.25', s: 2}],
    ['Fm Two', {v: 50, s: 1}, {v: 7, s: 3}, {v: '7.4999999999999997E-2', s: 2}],
  ]
  const fields = [
    {field: 'Deal_Name', mode: 'column', source: 'deal'},
    {field: 'Stage', mode: 'static', staticValue: 'Proposal'},
    {field: 'Closing_Date', mode: 'static', staticValue: '2026-12-31'},
    {field: 'Next_Step', mode: 'column', source: 'zip'},
    {field: 'Amount', mode: 'column', source: 'amount'},
    {field: 'Probability', mode: 'column', source: 'chance'},
  ]
  const flow = {module: 'Deals', match: {by: ['Deal_Name'], onOne: 'update', onMany: 'skip', unchanged: 'write'}, fields}
  const workbook = await writeWorkbook({sheets: [{name: 'One', rows}], formats: ['00000', '0.0%', '#,##0.00 [$€-407]']})
  const {path, at} = await prepare(workbook, {choices: {zip: {as: 'text'}}}, flow)
  const written = () =>
    here.crm
      .records('example', 'Deals')
      .filter(({Deal_Name}) => String(Deal_Name).startsWith('Fm '))
      .map(({Next_Step, Amount, Probability}) => [Next_Step, Amount, Probability])
  const ended = await run(path)
  t.deepEqual(written(), [
    ['00501', 12.35, 25],
    ['00050', 7, 7.5],
  ])
  const {lines} = await results(path, ended)
  t.regex(lines[1]!, /^Fm One,00501,12\.345,25,Written,/)
  await ok(org.call('PATCH', at, {choices: {zip: {numbers: 'stored'}, chance: {numbers: 'stored'}}}), 200)
  await run(path)
  t.deepEqual(written(), [
    ['501', 12.35, 0.25],
    ['50', 7, 0.08],
  ])
  t.deepEqual((await results(path, ended)).lines, lines, 'the results of a run stay as it read the file')
})

test.serial('rows that map a spreadsheet error fail, and no error is written, unless cleaning replaces it', async t => {
  const error = {t: 'e', v: '#N/A', f: 'VLOOKUP(1,B:B,1)'}
  const rows: Cell[][] = [
    ['name', 'number', 'city', 'note'],
    ['Er One', 'Er-1', error, 'x'],
    ['Er Two', 'Er-2', 'Town', error],
  ]
  const {path, source, at} = await prepare(await writeWorkbook({sheets: [{name: 'One', rows}]}))
  t.like(source.problems, [
    {kind: 'error', column: 'city'},
    {kind: 'error', column: 'note'},
  ])
  const {problems} = await checkImport(org, path)
  t.deepEqual(
    problems.map(({severity, kind, column, count}: any) => [severity, kind, column, count]),
    [
      ['error', 'invalid_value', 'city', 1],
      ['warning', 'error', 'city', 1],
      ['info', 'error', 'note', 1],
    ],
  )
  t.like((await run(path)).counts.Accounts, {created: 1, failed: 1})
  t.deepEqual(
    found('Er-').map(({Billing_City}) => Billing_City),
    ['Town'],
  )
  await ok(org.call('PATCH', at, {cleaning: [{step: 'replace', columns: ['city'], find: '#N/A', with: ''}]}), 200)
  t.like((await run(path)).counts.Accounts, {created: 1, updated: 1, failed: 0})
})

test.serial('a cell that fillDown fills with a spreadsheet error fails its row too', async t => {
  const rows: Cell[][] = [
    ['name', 'number', 'city'],
    ['Fd One', 'Fd-1', {t: 'e', v: '#N/A', f: 'NA()'}],
    ['Fd Two', 'Fd-2', null],
    ['Fd Three', 'Fd-3', 'Town'],
  ]
  const {path} = await prepare(await writeWorkbook({sheets: [{name: 'One', rows}]}), {cleaning: [{step: 'fillDown', columns: ['city']}]})
  const ended = await run(path)
  t.like(ended.counts.Accounts, {created: 1, failed: 2})
  t.deepEqual(
    found('Fd-').map(({Billing_City}) => Billing_City),
    ['Town'],
  )
})

test.serial('the decimal mark that a person chose for texts does not change numbers of a workbook', async t => {
  const rows: Cell[][] = [
    ['name', 'number', 'revenue'],
    ['Dm One', 'Dm-1', {v: '1.234'}],
    ['Dm Two', 'Dm-2', '1,234'],
    ['Dm Three', 'Dm-3', '1.234'],
    ['Dm Four', 'Dm-4', {v: '0.5'}],
  ]
  const fields = [
    {field: 'Account_Name', mode: 'column', source: 'name'},
    {field: 'Account_Number', mode: 'column', source: 'number'},
    {field: 'Annual_Revenue', mode: 'column', source: 'revenue'},
  ]
  const workbook = await writeWorkbook({sheets: [{name: 'One', rows}]})
  const {path} = await prepare(workbook, {choices: {revenue: {decimalMark: 'comma'}}}, {...accounts, fields})
  const ended = await run(path)
  t.deepEqual(Object.fromEntries(found('Dm-').map(({Account_Name, Annual_Revenue}) => [Account_Name, Annual_Revenue])), {
    'Dm One': 1.23,
    'Dm Two': 1.23,
    'Dm Three': 1234,
    'Dm Four': 0.5,
  })
  t.regex((await results(path, ended)).lines[1]!, /^Dm One,Dm-1,1\.234,/, 'the results show the cell as stored')
})

test.serial('a row names every wrong cell, and an invalid date is never written as a number', async t => {
  const rows: Cell[][] = [
    ['name', 'number', 'city', 'revenue', 'staff'],
    ['Wr One', 'Wr-1', {v: -1, s: 1}, 'much', 'many'],
    ['Wr Two', 'Wr-2', {v: 45322, s: 1}, '5', '6'],
  ]
  const fields = [
    ...accounts.fields,
    {field: 'Annual_Revenue', mode: 'column', source: 'revenue'},
    {field: 'Employees', mode: 'column', source: 'staff'},
  ]
  const {path, source} = await prepare(await writeWorkbook({sheets: [{name: 'One', rows}], formats: [14]}), null, {...accounts, fields})
  t.like(source.problems, [{kind: 'undated', column: 'city'}])
  const ended = await run(path)
  t.like(ended.counts.Accounts, {created: 1, failed: 1})
  const failed = (await readLog(org.call, `${path}/runs/${ended.id}`)).find(({outcome}) => outcome === 'failed')
  t.like(failed, {rowNumber: 1, code: 'INVALID_VALUE', target: 'Billing_City'})
  t.regex(failed.message, /^Billing_City: .* number is not a valid one\..*; Annual_Revenue takes a number; Employees takes a whole number$/)
  const {lines} = await results(path, ended)
  t.regex(lines[1]!, /########,much,many,Failed,,.*Annual_Revenue takes a number; Employees takes a whole number \(INVALID_VALUE\)/)
  t.is(found('Wr-')[0]?.Billing_City, '2024-01-31')
  const {problems} = await checkImport(org, path)
  const named = problems.filter(({severity}: any) => severity === 'error').map(({field}: any) => field)
  t.deepEqual(named.toSorted(), ['Annual_Revenue', 'Billing_City', 'Employees'])
})
