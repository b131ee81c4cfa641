import test from 'ava'
import {sql} from '../../sql/database.ts'
import {checkImport} from '../support/import-checks.ts'
import {ok, openOrg, readLog, untilEnded} from '../support/importing.ts'
import {prepareFiles, runFiles} from '../support/lookups.ts'
import {assertSheets, assertWritten, lineSheet, lines, orderOf, orderSheet, orders, productsOf} from '../support/subforms.ts'
import {startTestDeployment} from '../support/test-deployment.ts'

let here: Awaited<ReturnType<typeof startTestDeployment>>
let org: Awaited<ReturnType<typeof openOrg>>

test.before(async t => {
  here = await startTestDeployment(t, {
    workers: ['imports', 'discovery', 'checks'],
    environment: {LEASE_SECONDS: '3', CRM_TIMEOUT_SECONDS: '1'},
  })
  org = await openOrg(here)
})
test.beforeEach(() => here.db.query(sql.unsafe`delete from replacements`))
test.afterEach.always(() => here.crm.faults.clear())

const retry = async (path: string, retryOf: string, more: object = {}) => {
  const {run} = await ok(org.call('POST', `${path}/runs`, {retryOf, ...more}), 202)
  return untilEnded(org.call, `${path}/runs/${run.id}`)
}
const make = (code: string, old: string[]) =>
  here.crm.create('example', 'Orders', [{Name: code, Code: code, Order_Lines: old.map(Product => ({Product}))}])
const endsOf = async (path: string, run: {id: string}) =>
  (await readLog(org.call, `${path}/runs/${run.id}`))
    .filter(({flowId, phase}) => flowId === 'lines' && phase === 'write')
    .sort((a, b) => a.rowNumber - b.rowNumber)
    .map(({rowNumber, outcome, code}) => [rowNumber, outcome, code])

test.serial('the rows of every parent are replaced by those of the sheet, in any order, and each row is counted', async t => {
  make('Sa-1', ['Old 1', 'Old 2'])
  const of = [
    ['Sa-2', 'A'],
    ['Sa-1', 'B'],
    ['Sa-3', 'C'],
    ['Sa-1', 'D'],
    ['Sa-2', 'E'],
  ] as const
  const [reads, puts] = [
    () => here.crm.journal({method: 'GET', path: '/crm/v8/Orders/'}).length,
    () => here.crm.journal({method: 'PUT', path: '/crm/v8/Orders'}).length,
  ]
  const before = [reads(), puts()]
  const {run, path, ids} = await runFiles(org, {orders: orderSheet(['Sa-1', 'Sa-2', 'Sa-3']), lines: lineSheet([...of])}, [
    orders(),
    lines(),
  ])
  const log = await assertWritten(here, {org, path, run, rows: {orders: 3, lines: 5}})
  assertSheets(here, [...of])
  t.like(run, {rowsWritten: 8, stop: null, counts: {Orders: {created: 2, updated: 1}, Order_Lines: {updated: 5}}})
  t.deepEqual([reads() - before[0]!, puts() - before[1]!], [1, 2], 'a parent made by this run is not read; one request replaces all rows')
  const line = log.find(({rowKey}) => rowKey === 'lines.2')
  t.like(line, {outcome: 'updated', module: 'Order_Lines', recordId: orderOf(here, 'Sa-1').id, attempt: 1, rowNumber: 2})
  const {text} = await org.call('GET', `${path}/results.csv?run=${run.id}&source=${ids.lines}`)
  t.regex(text, new RegExp(`^Sa-1,B,1,Written,${orderOf(here, 'Sa-1').id},`, 'm'))
})

test.serial('rows of a record whose subform field the CRM no longer shows fail, and the run ends', async t => {
  make('Sf-1', ['Kept'])
  const {id} = orderOf(here, 'Sf-1')
  const answer = {type: 'answer' as const, status: 200, body: {data: [{id, Name: 'Sf-1'}]}}
  here.crm.faults.add({match: {method: 'GET', path: `/crm/v8/Orders/${id}`}, times: 1_000, action: answer})
  const sheet = lineSheet([
    ['Sf-1', 'A'],
    ['Sf-2', 'B'],
  ])
  const {run, path} = await runFiles(org, {orders: orderSheet(['Sf-1', 'Sf-2']), lines: sheet}, [orders(), lines()])
  t.is(run.stop, null)
  t.deepEqual(await endsOf(path, run), [
    [1, 'failed', 'FIELD_NOT_FOUND'],
    [2, 'updated', null],
  ])
  t.deepEqual(productsOf(here, 'Sf-1'), ['Kept'])
})

test.serial('a parent keeps its rows if one of the new rows fails, and rows without a parent record are not written', async t => {
  make('Sb-1', ['Kept'])
  here.crm.faults.add({match: {method: 'POST', path: '/crm/v8/Orders'}, times: 1, action: {type: 'refuse', index: 0}})
  const files = {
    orders: orderSheet(['Sb-1', 'Sb-2', 'Sb-3']),
    lines: lineSheet([
      ['Sb-1', 'A'],
      ['Sb-1', 'B', 'many'],
      ['Sb-2', 'C'],
      ['Sb-9', 'D'],
      ['', 'E'],
      ['Sb-3', 'F'],
      ['Sb-3', 'Left out'],
      ['Sb-3', 'Guarded'],
    ]),
  }
  const flow = lines({filter: "row.product !== 'Left out'", guard: "row.product !== 'Guarded'"})
  const {run, path} = await runFiles(org, files, [orders(), flow])
  t.deepEqual(await endsOf(path, run), [
    [1, 'skipped', 'ROW_OF_SAME_PARENT'],
    [2, 'failed', 'INVALID_VALUE'],
    [3, 'skipped', 'PARENT_FAILED'],
    [4, 'failed', 'PARENT_FAILED'],
    [5, 'failed', 'PARENT_FAILED'],
    [6, 'updated', null],
    [8, 'skipped', 'GUARDED'],
  ])
  const log = await readLog(org.call, `${path}/runs/${run.id}`)
  t.regex(log.find(({rowKey}) => rowKey === 'lines.3')!.message, /^Row 2 of flow orders, which this one belongs to, was refused \(/)
  t.like(run.counts, {Order_Lines: {updated: 1, failed: 3, skipped: 3, filtered: 1}})
  t.deepEqual(productsOf(here, 'Sb-1'), ['Kept'])
  t.deepEqual(productsOf(here, 'Sb-3'), ['F'])
})

test.serial('a parent that the CRM refuses refuses all its rows, and rows of other parents are written', async t => {
  make('Sc-1', ['Kept'])
  const files = {
    orders: orderSheet(['Sc-1', 'Sc-2']),
    lines: lineSheet([
      ['Sc-1', 'A'],
      ['Sc-2', 'B'],
      ['Sc-1', 'x'.repeat(90)],
    ]),
  }
  here.crm.faults.add({
    match: {method: 'PUT', path: '/crm/v8/Orders', module: 'Orders', nth: 2},
    times: 1,
    action: {type: 'refuse', index: 0},
  })
  const {run, path} = await runFiles(org, files, [orders(), lines()])
  const log = await assertWritten(here, {org, path, run, rows: {orders: 2, lines: 3}})
  t.deepEqual(
    (await endsOf(path, run)).map(([, outcome]) => outcome),
    ['refused', 'updated', 'refused'],
  )
  t.like(run, {rowsWritten: 3, counts: {Order_Lines: {updated: 1, refused: 2}}})
  t.is(log.find(({rowKey}) => rowKey === 'lines.1')!.recordId, orderOf(here, 'Sc-1').id)
  t.deepEqual(productsOf(here, 'Sc-1'), ['Kept'])
})

test.serial('a row limit in the middle of a parent admits none of its rows', async t => {
  make('Se-2', ['Kept'])
  const of = [
    ['Se-1', 'A'],
    ['Se-2', 'B'],
    ['Se-2', 'C'],
  ] as const
  const {run, path} = await runFiles(org, {orders: orderSheet(['Se-1', 'Se-2']), lines: lineSheet([...of])}, [orders(), lines()], {
    declaredRows: 3,
  })
  t.like(run, {rowsWritten: 2, stop: {stopped: 'LIMIT_ROWS_PER_RUN'}})
  t.deepEqual(productsOf(here, 'Se-2'), ['Kept'], 'there is room for one of its two rows')
  const later = await retry(path, run.id)
  t.is(later.stop, null)
  assertSheets(here, [...of])
})

test.serial('a retry leaves written parents unchanged and writes the others completely', async t => {
  const of = [
    ['Sf-1', 'A'],
    ['Sf-2', 'B'],
    ['Sf-2', 'C', 'many'],
  ] as const
  const {run, path, ids} = await runFiles(org, {orders: orderSheet(['Sf-1', 'Sf-2']), lines: lineSheet([...of])}, [orders(), lines()])
  t.like(run.counts, {Order_Lines: {updated: 1, failed: 1, skipped: 1}})
  const id = orderOf(here, 'Sf-1').id
  here.crm.create('example', 'Orders', [{Name: 'Another'}])
  const mended = [orders(), lines({fields: [{field: 'Product', mode: 'column', source: 'product'}]})]
  await ok(
    org.call(
      'PUT',
      `${path}/flows`,
      mended.map(({source, ...flow}: any) => ({...flow, sourceId: ids[source]})),
    ),
    200,
  )
  const puts = here.crm.journal({method: 'PUT', path: '/crm/v8/Orders'}).length
  const second = await retry(path, run.id)
  t.like(second, {rowsWritten: 2, counts: {Orders: {inherited: 2}, Order_Lines: {inherited: 1, updated: 2}}})
  t.is(here.crm.journal({method: 'PUT', path: '/crm/v8/Orders'}).length, puts + 1)
  assertSheets(here, [...of])
  t.like(
    (await readLog(org.call, `${path}/runs/${second.id}`)).find(({rowKey}) => rowKey === 'lines.1'),
    {outcome: 'inherited', recordId: id},
  )
})

test.serial('a parent with rows inside and outside of the row range gets none of them', async t => {
  const of = [
    ['Sg-1', 'A'],
    ['Sg-2', 'B'],
    ['Sg-1', 'C'],
  ] as const
  const {run, path} = await runFiles(org, {orders: orderSheet(['Sg-1', 'Sg-2']), lines: lineSheet([...of])}, [orders(), lines()], {
    rows: {to: 2},
  })
  t.deepEqual(await endsOf(path, run), [
    [1, 'skipped', 'ROWS_APART'],
    [2, 'updated', null],
  ])
  t.deepEqual(productsOf(here, 'Sg-1'), [])
})

test.serial('a parent with too many rows for a request fails, and two parent rows of one record share their subform rows', async t => {
  make('Sh-1', ['Kept'])
  const many = Array.from({length: 2_001}, (_, n) => ['Sh-1', `P${n}`] as const)
  const files = {
    orders: 'name,code,ref\nOne,Sh-1,Sh-1\nTwo,Sh-2,a\nTwo again,sh-2,b\n',
    lines: lineSheet([...many, ['a', 'A'], ['b', 'B']]),
  }
  const key = {parentColumn: 'ref', childColumn: 'order'}
  const {run} = await runFiles(org, files, [orders(), lines({subform: {...lines().subform, key}})])
  t.like(run, {rowsWritten: 5, counts: {Order_Lines: {failed: 2_001, updated: 2}}})
  t.deepEqual(productsOf(here, 'Sh-1'), ['Kept'])
  t.deepEqual(productsOf(here, 'sh-2'), ['A', 'B'])
})

test.serial('a dry run plans subform rows and writes none', async t => {
  make('Si-1', ['Kept'])
  const files = {
    orders: orderSheet(['Si-1', 'Si-2']),
    lines: lineSheet([
      ['Si-1', 'A'],
      ['Si-2', 'B'],
      ['Si-2', 'C'],
    ]),
  }
  const {run, path} = await runFiles(org, files, [orders(), lines()], {dryRun: true})
  t.like(run, {rowsWritten: 0, counts: {Orders: {planned: 2}, Order_Lines: {planned: 3}}})
  t.deepEqual(productsOf(here, 'Si-1'), ['Kept'])
  const log = (await readLog(org.call, `${path}/runs/${run.id}`)).filter(({flowId}) => flowId === 'lines')
  t.deepEqual(
    log.map(({recordId, message}) => [recordId, message]).sort(),
    [
      [null, 'replace the rows of the record that row 2 would make'],
      [null, 'replace the rows of the record that row 2 would make'],
      [orderOf(here, 'Si-1').id, 'replace'],
    ].sort(),
  )
})

test.serial('an invalid flow of subform rows is refused with the paths of its faults', async t => {
  const {path, ids} = await prepareFiles(org, {orders: orderSheet(['Sj']), lines: lineSheet([['Sj', 'A']])}, [orders(), lines()])
  const put = async (...flows: any[]) => {
    const answer = await org.call(
      'PUT',
      `${path}/flows`,
      flows.map(({source, ...flow}) => ({...flow, sourceId: ids[source]})),
    )
    return answer.body.issues?.map(({path}: any) => path.join('.')) ?? answer.status
  }
  const {subform} = lines()
  t.deepEqual(await put(lines(), orders()), ['0.subform.parentFlow'])
  t.deepEqual(await put(orders(), lines({subform: {...subform, field: 'Notes'}})), ['1.subform.field'])
  t.deepEqual(await put(orders(), lines({subform: {...subform, child: 'Orders'}})), ['1.subform.child', '1.subform.field'])
  t.deepEqual(await put(orders(), lines({match: {by: ['Product']}})), ['1.match'])
  t.deepEqual(await put(orders(), lines({subform: {...subform, key: {parentColumn: 'x', childColumn: 'order'}}})), ['1.subform.key'])
  t.deepEqual(await put(orders(), lines({subform: {...subform, key: undefined}})), ['1.subform.key'])
  t.deepEqual(await put(orders(), lines(), lines({id: 'twice'})), ['2.subform.field'])
  t.deepEqual(await put(orders(), lines({subform: {...subform, parentFlow: 'nobody'}})), ['1.subform.parentFlow'])
  t.is(await put(orders(), lines()), 200)
})

test.serial('a check reads subform rows as the run does', async t => {
  const {path} = await prepareFiles(
    org,
    {
      orders: orderSheet(['Sk']),
      lines: lineSheet([
        ['Sk', ''],
        ['Sk', 'A', 'many'],
        ['Sk', 'B'],
        ['', 'C'],
        ['', 'D', 'many'],
      ]),
    },
    [orders(), lines()],
  )
  const {problems} = await checkImport(org, path)
  t.deepEqual(
    problems.filter(({severity}) => severity === 'error').map(({kind, field, rows}) => [kind, field, rows]),
    [
      ['parent_failed', null, [4]],
      ['required', 'Product', [1]],
      ['invalid_value', 'Quantity', [2, 5]],
    ],
  )
  t.like(problems.filter(({severity}) => severity === 'warning')[0], {kind: 'row_of_same_parent', rows: [1, 2]})
})
