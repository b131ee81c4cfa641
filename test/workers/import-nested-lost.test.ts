import test from 'ava'
import {sql} from '../../sql/database.ts'
import {ok, openOrg, untilEnded} from '../support/importing.ts'
import {prepareFiles, runFiles} from '../support/lookups.ts'
import {assertQuotes, type Item, itemSheet, items, makeProduct, notesOf, plainQuotes, quoteSheet, quotes} from '../support/quotes.ts'
import {applyPlan, makePlan} from '../support/sealed-plans.ts'
import {assertWritten, lineSheet, lines, orderSheet, orders} from '../support/subforms.ts'
import {startTestDeployment} from '../support/test-deployment.ts'

let here: Awaited<ReturnType<typeof startTestDeployment>>
let org: Awaited<ReturnType<typeof openOrg>>

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['imports', 'discovery'], environment: {LEASE_SECONDS: '3', CRM_TIMEOUT_SECONDS: '0.6'}})
  org = await openOrg(here)
  makeProduct(here)
})
test.beforeEach(() => here.db.query(sql.unsafe`delete from replacements`))
test.afterEach.always(() => here.crm.faults.clear())

const creates = {method: 'POST', path: '/crm/v8/Quotes'}
const sheetOf = (mark: string, count: number) => {
  const codes = Array.from({length: count}, (_, n) => `${mark}${n}`)
  const of: Item[] = ['a', 'b'].flatMap(note => codes.map(code => [code, `${code} ${note}`] as const))
  return {codes, of, files: {quotes: quoteSheet(codes), items: itemSheet(of)}}
}
const attemptsOf = (log: any[], key: string) =>
  log.filter(({rowKey, phase}) => rowKey === key && phase === 'write').map(({attempt, outcome}) => `${attempt} ${outcome}`)

for (const [name, flow] of [
  ['found by a unique key', quotes],
  ['looked for', plainQuotes],
] as const) {
  test.serial(`items of quotes exist once after an answer was lost, where the created quotes are ${name}`, async t => {
    const mark = `A${name.length}-`
    const {of, files} = sheetOf(mark, 30)
    here.crm.faults.add({match: creates, times: 1, action: 'dropAfter'})
    const {run, path} = await runFiles(org, files, [flow(), items()])
    const log = await assertWritten(here, {org, path, run, rows: {quotes: 30, items: 60}})
    assertQuotes(here, of)
    t.like(run, {rowsWritten: 90, stop: null, counts: {Quotes: {created: 30}, Quoted_Items: {updated: 60, unanswered: 0}}})
    t.is(log.filter(({code}) => code === 'MADE_EARLIER').length, 30)
    t.deepEqual(attemptsOf(log, 'items.1'), ['1 unanswered', '2 updated'])
  })

  test.serial(`quotes whose request was lost are sent again with their items, where they are ${name}`, async t => {
    const mark = `B${name.length}-`
    const {of, files} = sheetOf(mark, 30)
    here.crm.faults.add({match: creates, times: 1, action: 'dropBefore'})
    const puts = here.crm.journal({method: 'PUT', path: '/crm/v8/Quotes'}).length
    const {run, path} = await runFiles(org, files, [flow(), items()])
    const log = await assertWritten(here, {org, path, run, rows: {quotes: 30, items: 60}})
    assertQuotes(here, of)
    t.like(run, {rowsWritten: 90, stop: null, counts: {Quotes: {created: 30}, Quoted_Items: {updated: 60, unanswered: 0}}})
    t.deepEqual(attemptsOf(log, 'items.1'), ['1 unanswered', '2 updated'])
    t.is(here.crm.journal({method: 'PUT', path: '/crm/v8/Quotes'}).length, puts)
  })
}

test.serial('items that a sealed plan sends with their quotes keep to the plan after the answer was lost', async t => {
  const {of, files} = sheetOf('P', 3)
  const {path} = await prepareFiles(org, files, [quotes(), items()])
  const dry = await makePlan(org, path)
  here.crm.faults.add({match: creates, times: 1, action: 'dropAfter'})
  const run = await applyPlan(org.call, path, dry.run.id)
  const log = await assertWritten(here, {org, path, run, rows: {quotes: 3, items: 6}})
  assertQuotes(here, of)
  t.like(run, {stop: null, planStale: 0, counts: {Quotes: {created: 3}, Quoted_Items: {updated: 6, unanswered: 0}}})
  t.deepEqual(attemptsOf(log, 'items.1'), ['1 unanswered', '2 updated'])
})

test.serial('the items of an unanswered quote are unanswered too, and a retry finds both', async t => {
  const {of, files} = sheetOf('C', 3)
  here.crm.faults.add({match: creates, times: 1, action: 'dropAfter'})
  const blind = here.crm.faults.add({
    match: {method: 'POST', path: '/crm/v8/coql'},
    times: 1_000,
    action: {type: 'answer', status: 400, body: {code: 'SYNTAX_ERROR', details: {}, message: 'error', status: 'error'}},
  })
  const {run, path} = await runFiles(org, files, [plainQuotes(), items({fields: items().fields.map(asStatic)})])
  await assertWritten(here, {org, path, run, rows: {quotes: 3, items: 6}})
  t.like(run, {rowsWritten: 9, counts: {Quotes: {unanswered: 3}, Quoted_Items: {unanswered: 6}}})
  here.crm.faults.remove(blind)
  const {run: begun} = await ok(org.call('POST', `${path}/runs`, {retryOf: run.id}), 202)
  const second = await untilEnded(org.call, `${path}/runs/${begun.id}`)
  await assertWritten(here, {org, path, run: second, rows: {quotes: 3, items: 6}})
  t.like(second, {counts: {Quotes: {created: 3}, Quoted_Items: {updated: 6}}})
  assertQuotes(here, of)
})

/** Replaces the lookup of a product by a fixed record, so that items need no search. */
const asStatic = (mapping: any) =>
  mapping.field === 'Product_Name'
    ? {field: 'Product_Name', mode: 'static', staticValue: here.crm.records('example', 'Products')[0]!.id}
    : mapping

test.serial('a quote whose code exists in the CRM is updated, and its items are replaced', async t => {
  here.crm.setSwitches({coqlLagSeconds: 600})
  t.teardown(() => here.crm.setSwitches({coqlLagSeconds: 0}))
  const [made] = here.crm.create('example', 'Quotes', [
    {
      Subject: 'Quote D1',
      Quote_Code: 'D1',
      Quoted_Items: [{Product_Name: here.crm.records('example', 'Products')[0]!.id, Description: 'Old'}],
    },
  ])
  const {run, path} = await runFiles(org, {quotes: quoteSheet(['D1']), items: itemSheet([['D1', 'a']])}, [
    quotes(),
    items({fields: items().fields.map(asStatic)}),
  ])
  const log = await assertWritten(here, {org, path, run, rows: {quotes: 1, items: 1}})
  t.like(run, {rowsWritten: 2, counts: {Quotes: {updated: 1}, Quoted_Items: {updated: 1}}})
  t.deepEqual(attemptsOf(log, 'quotes.1'), ['1 refused', '2 updated'])
  t.is(log.find(({rowKey}) => rowKey === 'items.1')!.recordId, made!.details.id)
  t.deepEqual(notesOf(here, 'D1'), ['a'])
})

test.serial('quotes with more items than one request holds are sent in several, and a quote with too many is not sent', async t => {
  const of = [
    ...Array.from({length: 900}, (_, n) => ['E1', `a${n}`] as const),
    ...Array.from({length: 900}, (_, n) => ['E2', `b${n}`] as const),
    ...Array.from({length: 900}, (_, n) => ['E3', `c${n}`] as const),
  ]
  const many = Array.from({length: 2_001}, (_, n) => ['E4', `d${n}`] as const)
  const posts = here.crm.journal(creates).length
  const {run, path} = await runFiles(org, {quotes: quoteSheet(['E1', 'E2', 'E3', 'E4']), items: itemSheet([...of, ...many])}, [
    quotes(),
    items(),
  ])
  await assertWritten(here, {org, path, run, rows: {quotes: 4, items: 4_701}})
  t.like(run, {rowsWritten: 2_703, counts: {Quotes: {created: 3, failed: 1}, Quoted_Items: {updated: 2_700, skipped: 2_001}}})
  t.deepEqual(
    here.crm
      .journal(creates)
      .slice(posts)
      .map(({body}) => body.data.length),
    [2, 1],
  )
  assertQuotes(here, of)
})

test.serial('if only a layout requires rows, a record is sent with its rows and the CRM decides about a record without rows', async t => {
  const columns = [{name: 'Product', type: 'text', length: 100, mandatory: true}] as const
  const subform = {module: 'Order_Lines', columns: [...columns]}
  here.crm.addField('other', 'Orders', {name: 'Order_Lines', type: 'subform', layoutRequired: true, subform})
  const other = await openOrg(here, 'zoe@other.example')
  const sheets = {orders: orderSheet(['L1', 'L2']), lines: lineSheet([['L1', 'A']])}
  const flow = lines({fields: [{field: 'Product', mode: 'column', source: 'product'}]})
  const writes = () => here.crm.journal({path: '/crm/v8/Orders'}).filter(({method}) => method !== 'GET').length
  const before = writes()
  const {run} = await runFiles(other, sheets, [orders(), flow])
  t.like(run, {rowsWritten: 3, stop: null, counts: {Orders: {created: 2}, Order_Lines: {updated: 1}}})
  t.is(writes() - before, 1)
})
