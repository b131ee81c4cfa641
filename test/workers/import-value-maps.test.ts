import test from 'ava'
import {parse} from 'csv-parse/sync'
import {checkImport, ofKind} from '../support/import-checks.ts'
import {ok, openOrg, prepareImport, readLog, runImport, untilEnded} from '../support/importing.ts'
import {runFiles} from '../support/lookups.ts'
import {lineSheet, lines, orderSheet, orders, productsOf} from '../support/subforms.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

let here: TestDeployment
let org: Awaited<ReturnType<typeof openOrg>>

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['discovery', 'imports', 'checks']})
  org = await openOrg(here)
})

const column = (field: string, source: string, more: object = {}) => ({field, mode: 'column', source, ...more})
const status = [
  {from: 'neu', to: 'New'},
  {from: 'Versandt', to: 'Shipped'},
]
const states = ['NEU', ' versandt', 'Confirmed', 'unknown', '', '\\N']
const counts = ['one', '2', 'many']
const rowsOf = (prefix: string, count = 36) =>
  Array.from({length: count}, (_, n) => ({code: `${prefix}${n}`, state: states[n % 6]!, count: counts[n % 3]!}))
const csvOf = (rows: ReturnType<typeof rowsOf>) =>
  `code,state,count\n${rows.map(({code, state, count}) => `${code},${state},${count}`).join('\n')}\n`
const flowOf = (stateMap: object, countMap: object) => ({
  module: 'Orders',
  match: {by: ['Code'], onOne: 'update', onMany: 'skip', unchanged: 'write'},
  fields: [
    column('Name', 'code'),
    column('Code', 'code'),
    column('Status', 'state', {values: status, ...stateMap}),
    column('Quantity', 'count', {values: [{from: 'ONE', to: '1'}], ...countMap}),
  ],
})
const recordOf = (code: string) => here.crm.records('example', 'Orders').find(record => record.Code === code)
const unmappedOf = (status: number, quantity: number) => [
  ...(quantity > 0 ? [{flowId: 'f', field: 'Quantity', cells: quantity}] : []),
  ...(status > 0 ? [{flowId: 'f', field: 'Status', cells: status}] : []),
]

test('unmapped cells of fields that are patched count as in the check', async t => {
  const patch = {when: ['created', 'updated']}
  const csv = 'code,state\nVp-1,unknown\nVp-2,NEU\nVp-3,unknown\n'
  const flow = {
    ...flowOf({}, {}),
    fields: [column('Name', 'code'), column('Code', 'code'), column('Status', 'state', {values: status, otherwise: 'empty', patch})],
  }
  const {path} = await prepareImport(org, {csv, flow})
  const {problems} = await checkImport(org, path)
  t.deepEqual(
    ofKind(problems, 'value_unmapped').map(({field, count}: any) => [field, count]),
    [['Status', 2]],
  )
  for (const body of [{dryRun: true}, {}]) {
    const {run} = await ok(org.call('POST', `${path}/runs`, body), 202)
    const ended = await untilEnded(org.call, `${path}/runs/${run.id}`)
    t.deepEqual(ended.unmapped, unmappedOf(2, 0))
  }
  t.is(recordOf('Vp-2')?.Status, 'Fresh')
})

test('mapped values are written, unmapped ones count as blank, and run, check, dry run and results agree', async t => {
  const rows = rowsOf('Ve-')
  const unknown = rows.filter(({state}) => state === 'unknown')
  const others = rows.filter(({count}) => count !== 'one')
  const flow = flowOf({otherwise: 'empty'}, {otherwise: 'empty'})
  const {path} = await prepareImport(org, {csv: csvOf(rows), flow})
  const {problems} = await checkImport(org, path)
  t.deepEqual(
    ofKind(problems, 'value_unmapped').map(({severity, field, count}: any) => [severity, field, count]),
    [
      ['warning', 'Quantity', others.length],
      ['warning', 'Status', unknown.length],
    ],
  )
  const start = async (body: object) => {
    const {run} = await ok(org.call('POST', `${path}/runs`, body), 202)
    return untilEnded(org.call, `${path}/runs/${run.id}`)
  }
  const dry = await start({dryRun: true})
  t.deepEqual(dry.unmapped, unmappedOf(unknown.length, others.length))
  const run = await start({})
  t.like(run.counts.Orders, {created: rows.length, failed: 0})
  t.deepEqual(run.unmapped, dry.unmapped)
  const expected: Record<string, unknown> = {NEU: 'Fresh', ' versandt': 'Shipped', Confirmed: 'Confirmed'}
  for (const {code, state, count} of rows) {
    const {Status = null, Quantity = null} = recordOf(code)!
    t.deepEqual([Status, Quantity], [expected[state] ?? null, count === 'one' ? 1 : null], code)
  }
  const said = 'Status, Quantity have no value, because the value map has no entry for the cell'
  const log = await readLog(org.call, `${path}/runs/${run.id}`)
  t.is(log.filter(({message}: any) => message === said).length, rows.filter(row => unknown.includes(row) && others.includes(row)).length)
  const lines = parse((await org.call('GET', `${path}/results.csv?run=${run.id}`)).text) as string[][]
  t.is(
    lines.filter(line => line.at(-1)!.endsWith('because the value map has no entry for the cell')).length,
    new Set([...unknown, ...others]).size,
  )
  const plan = (await org.call('GET', `${path}/plan.csv?run=${dry.id}`)).text
  t.is(plan.split(said).length - 1, log.filter(({message}: any) => message === said).length)
})

test('an unmapped value fails its row if the mapping says so, and a field is cleared if blank cells clear it', async t => {
  const rows = rowsOf('Vf-', 12)
  await runImport(org, {csv: csvOf(rows), flow: flowOf({otherwise: 'empty'}, {otherwise: 'empty'})})
  const flow = flowOf({otherwise: 'fail'}, {otherwise: 'empty', empty: 'clear'})
  const {run, path} = await runImport(org, {csv: csvOf(rows).replaceAll('one', 'two'), flow})
  t.like(run.counts.Orders, {updated: 10, failed: 2})
  t.deepEqual(run.unmapped, unmappedOf(2, 12))
  const failed = (await readLog(org.call, `${path}/runs/${run.id}`)).filter(({outcome}: any) => outcome === 'failed')
  t.deepEqual(
    failed.map(({rowNumber, code, target}: any) => [rowNumber, code, target]),
    [
      [4, 'VALUE_UNMAPPED', 'Status'],
      [10, 'VALUE_UNMAPPED', 'Status'],
    ],
  )
  const {problems} = await checkImport(org, path)
  t.like(
    ofKind(problems, 'value_unmapped').find(({field}: any) => field === 'Status'),
    {severity: 'error', count: 2, rows: [4, 10], samples: ['unknown']},
  )
  t.deepEqual(
    rows.filter(({code}) => recordOf(code)!.Quantity != null).map(({code}) => code),
    ['Vf-3', 'Vf-9'],
    'only the failed rows keep their old value',
  )
})

test('an unmapped value that is kept is converted as it is, and its row fails only if the field does not take it', async t => {
  const rows = rowsOf('Vk-', 12)
  const {run, path} = await runImport(org, {csv: csvOf(rows), flow: flowOf({picklist: 'pass'}, {otherwise: 'keep'})})
  t.like(run.counts.Orders, {created: 8, failed: 4})
  t.deepEqual(run.unmapped, unmappedOf(2, 8))
  const log = await readLog(org.call, `${path}/runs/${run.id}`)
  t.deepEqual([...new Set(log.map(({code}: any) => code))].sort(), ['INVALID_VALUE', null].sort())
  t.deepEqual([recordOf('Vk-1')?.Quantity, recordOf('Vk-3')?.Status, recordOf('Vk-3')?.Quantity], [2, 'unknown', 1])
})

test('search texts, results of expressions and lists are mapped before they are used', async t => {
  here.crm.create('example', 'Accounts', [{Account_Name: 'Head office', Account_Number: 'Vs-0'}])
  const flow = {
    module: 'Orders',
    fields: [
      column('Name', 'code'),
      {field: 'Account', mode: 'search', source: 'at', values: [{from: 'hq', to: 'Head office'}], otherwise: 'empty'},
      {field: 'Paid', mode: 'expression', transform: 'row.paid.toUpperCase()', values: [{from: 'bezahlt', to: 'yes'}], otherwise: 'fail'},
      column('Channels', 'ways', {
        values: [
          {from: 'Netz', to: 'Web'},
          {from: 'alle', to: 'Web;Phone;Shop'},
        ],
        otherwise: 'empty',
      }),
    ],
  }
  const csv = 'code,at,paid,ways\nVs-1,HQ,Bezahlt,netz;Fax\nVs-2,Elsewhere,No,alle\nVs-3,,perhaps,Shop\n'
  const {run} = await runImport(org, {csv, flow})
  t.like(run.counts.Orders, {created: 2, failed: 1})
  t.deepEqual(
    run.unmapped.map(({field, cells}: any) => [field, cells]),
    [
      ['Account', 1],
      ['Channels', 1],
      ['Paid', 1],
    ],
  )
  const made = (name: string) => here.crm.records('example', 'Orders').find(({Name}) => Name === name)!
  const first = made('Vs-1')
  t.is(
    (first.Account as {name?: string; id: string}).id,
    here.crm.records('example', 'Accounts').find(one => one.Account_Number === 'Vs-0')!.id,
  )
  t.deepEqual([first.Paid, first.Channels], [true, ['Web']])
  t.deepEqual([made('Vs-2').Paid, made('Vs-2').Channels, made('Vs-2').Account ?? null], [false, ['Web', 'Phone', 'Shop'], null])
})

test('a link finds the row of an earlier flow by the mapped value of that row, not by its cell', async t => {
  const sites = [
    {from: 'hq', to: 'Main site'},
    {from: 'yard', to: 'Side site'},
  ]
  const places = {module: 'Accounts', fields: [column('Account_Name', 'site', {values: sites}), column('Employees', 'size')]}
  const flow = {module: 'Orders', fields: [column('Name', 'code'), {field: 'Account', mode: 'search', source: 'at'}]}
  const csv = 'site,size,code,at\nHQ,5,Vo-1,HQ\nYard,many,Vo-2,Side site\n'
  const {run, path} = await runImport(org, {csv, flow: [places, flow]})
  t.like(run.counts, {Accounts: {created: 1, failed: 1}, Orders: {failed: 2}})
  const log = await readLog(org.call, `${path}/runs/${run.id}`)
  t.deepEqual(
    log.filter(({flowId, outcome}: any) => flowId === 'f2' && outcome === 'failed').map(({rowNumber, code}: any) => [rowNumber, code]),
    [
      [1, 'LOOKUP_NONE'],
      [2, 'PARENT_FAILED'],
    ],
  )
})

test('a retry counts the unmapped cells of the rows that it composes, not of those it inherits', async t => {
  const rows = rowsOf('Vr-', 12)
  const {run, path} = await runImport(org, {csv: csvOf(rows), flow: flowOf({otherwise: 'fail'}, {otherwise: 'empty'})})
  t.deepEqual(run.unmapped, unmappedOf(2, 8))
  const {run: begun} = await ok(org.call('POST', `${path}/runs`, {retryOf: run.id}), 202)
  const again = await untilEnded(org.call, `${path}/runs/${begun.id}`)
  t.like(again.counts.Orders, {inherited: 10, failed: 2})
  t.deepEqual(again.unmapped, unmappedOf(2, rows.filter(({state, count}) => state === 'unknown' && count !== 'one').length))
})

test('rows that the filter excludes are not counted', async t => {
  const flow = {...flowOf({otherwise: 'empty'}, {otherwise: 'empty'}), filter: 'row.state !== "unknown"'}
  const {run} = await runImport(org, {csv: csvOf(rowsOf('Vx-', 12)), flow})
  t.like(run.counts.Orders, {created: 10, filtered: 2})
  t.deepEqual(run.unmapped, unmappedOf(0, rowsOf('', 12).filter(({state, count}) => state !== 'unknown' && count !== 'one').length))
})

test('unmapped cells of subform rows are counted once', async t => {
  const fields = [column('Product', 'product', {values: [{from: 'a', to: 'Apple'}], otherwise: 'keep'}), column('Quantity', 'quantity')]
  const sheet = lineSheet([
    ['Vl-1', 'A'],
    ['Vl-2', 'B'],
    ['Vl-1', 'C'],
    ['Vl-9', 'D'],
  ])
  const {run} = await runFiles(org, {orders: orderSheet(['Vl-1', 'Vl-2']), lines: sheet}, [orders(), lines({fields})])
  t.like(run.counts.Order_Lines, {updated: 3, failed: 1})
  t.deepEqual(run.unmapped, [{flowId: 'lines', field: 'Product', cells: 3}])
  t.deepEqual(productsOf(here, 'Vl-1'), ['Apple', 'C'])
})

test('a template carries the value map, and new values of a later file follow its rule and are counted', async t => {
  const {path} = await prepareImport(org, {csv: csvOf(rowsOf('Vt-', 6)), flow: flowOf({otherwise: 'empty'}, {otherwise: 'fail'})})
  const saved = await ok(org.call('POST', `/orgs/${org.org}/templates`, {fromImport: path.split('/').at(-1), name: 'Monthly'}), 201)
  const {import: made} = await ok(org.call('POST', `/orgs/${org.org}/imports`, {name: 'Next', templateId: saved.template.id}), 201)
  const next = `/orgs/${org.org}/imports/${made.id}`
  await ok(org.call('POST', `${next}/sources?name=next.csv`, 'code,state,count\nVt-7,Neu,one\nVt-8,brand new,one\nVt-9,neu,three\n'), 201)
  const {import: filled} = await ok(org.call('GET', next), 200)
  t.deepEqual(filled.flows[0].fields.find(({field}: any) => field === 'Status').values, status)
  const {run: begun} = await ok(org.call('POST', `${next}/runs`, {}), 202)
  const run = await untilEnded(org.call, `${next}/runs/${begun.id}`)
  t.like(run.counts.Orders, {created: 2, failed: 1})
  t.deepEqual(run.unmapped, unmappedOf(1, 1))
  t.deepEqual([recordOf('Vt-7')!.Status, recordOf('Vt-8')!.Status ?? null], ['Fresh', null])
})
