import test from 'ava'
import {sql} from '../../sql/database.ts'
import {checkImport} from '../support/import-checks.ts'
import {ok, openOrg, readLog, untilEnded} from '../support/importing.ts'
import {prepareFiles, runFiles} from '../support/lookups.ts'
import {assertQuotes, itemSheet, items, makeProduct, notesOf, quoteSheet, quotes, quotesOf} from '../support/quotes.ts'
import {assertWritten} from '../support/subforms.ts'
import {startTestDeployment} from '../support/test-deployment.ts'

let here: Awaited<ReturnType<typeof startTestDeployment>>
let org: Awaited<ReturnType<typeof openOrg>>
let product: {id: string}

test.before(async t => {
  here = await startTestDeployment(t, {
    workers: ['imports', 'discovery', 'checks'],
    environment: {LEASE_SECONDS: '3', CRM_TIMEOUT_SECONDS: '1'},
  })
  org = await openOrg(here)
  product = makeProduct(here)
})
test.beforeEach(() => here.db.query(sql.unsafe`delete from replacements`))
test.afterEach.always(() => here.crm.faults.clear())

const make = (code: string, notes: string[]) =>
  here.crm.create('example', 'Quotes', [
    {Subject: `Quote ${code}`, Quote_Code: code, Quoted_Items: notes.map(Description => ({Product_Name: product, Description}))},
  ])
const calls = (method: string, path = '/crm/v8/Quotes') => here.crm.journal({method, path}).length
const retry = async (path: string, retryOf: string) => {
  const {run} = await ok(org.call('POST', `${path}/runs`, {retryOf}), 202)
  return untilEnded(org.call, `${path}/runs/${run.id}`)
}
const endsOf = async (path: string, run: {id: string}) =>
  (await readLog(org.call, `${path}/runs/${run.id}`))
    .filter(({phase}) => phase === 'write')
    .map(({rowKey, outcome, code, message}) => ({rowKey, outcome, code, message}))

test.serial('items of new quotes are created with their quote, and the items of an existing quote are replaced', async t => {
  make('A1', ['Old 1', 'Old 2'])
  const of = [
    ['A2', 'a'],
    ['A1', 'b'],
    ['A3', 'c'],
    ['A2', 'd'],
    ['A1', 'e'],
  ] as const
  const before = [calls('POST'), calls('PUT')]
  const {run, path, ids} = await runFiles(org, {quotes: quoteSheet(['A1', 'A2', 'A3']), items: itemSheet(of)}, [quotes(), items()])
  const log = await assertWritten(here, {org, path, run, rows: {quotes: 3, items: 5}})
  assertQuotes(here, of)
  t.like(run, {rowsWritten: 8, stop: null, counts: {Quotes: {created: 2, updated: 1}, Quoted_Items: {updated: 5}}})
  t.deepEqual([calls('POST') - before[0]!, calls('PUT') - before[1]!], [1, 2], 'one request makes the new quotes with their lines')
  const {id} = quotesOf(here, 'A2')[0]
  t.like(
    log.find(({rowKey}) => rowKey === 'items.1'),
    {outcome: 'updated', module: 'Quoted_Items', recordId: id, attempt: 1, rowNumber: 1},
  )
  const {text} = await org.call('GET', `${path}/results.csv?run=${run.id}&source=${ids.items}`)
  t.regex(text, new RegExp(`^A2,Bolt,1,a,Written,${id},`, 'm'))
})

test.serial('a new quote without items, or with a failing item, is not sent, while an existing quote keeps its items', async t => {
  make('B1', ['Kept'])
  const of = [
    ['B2', 'a'],
    ['B3', 'b'],
    ['B3', 'c', 'Bolt', 'many'],
    ['B4', 'd', 'Unknown'],
  ] as const
  const posts = calls('POST')
  const {run, path} = await runFiles(org, {quotes: quoteSheet(['B1', 'B2', 'B3', 'B4', 'B5']), items: itemSheet(of)}, [quotes(), items()])
  await assertWritten(here, {org, path, run, rows: {quotes: 5, items: 4}})
  t.is(calls('POST') - posts, 1)
  t.like(run, {rowsWritten: 3, counts: {Quotes: {created: 1, updated: 1, failed: 3}, Quoted_Items: {updated: 1, failed: 2, skipped: 1}}})
  const ends = await endsOf(path, run)
  t.like(
    ends.find(({rowKey}) => rowKey === 'quotes.5'),
    {
      outcome: 'failed',
      code: 'ROWS_MISSING',
      message: 'The record needs a row of Quoted_Items, and flow items has none for it. Add one, then retry',
    },
  )
  t.like(
    ends.find(({rowKey}) => rowKey === 'quotes.3'),
    {code: 'ROWS_FAILED'},
  )
  t.like(
    ends.find(({rowKey}) => rowKey === 'items.2'),
    {outcome: 'skipped', code: 'PARENT_FAILED'},
  )
  t.deepEqual(
    ['B1', 'B2', 'B3', 'B4', 'B5'].map(code => notesOf(here, code)),
    [['Kept'], ['a'], null, null, null],
  )
})

test.serial(
  'an item that the CRM refuses refuses its quote: each row gives the reason, none is counted, and a retry writes them',
  async t => {
    const of = [
      ['C1', 'a'],
      ['C2', 'b'],
      ['C2', 'x'.repeat(50)],
      ['C2', 'd'],
    ] as const
    // The field became shorter after the discovery.
    here.crm.addField('example', 'Quoted_Items', {name: 'Description', type: 'text', length: 20})
    const {run, path, ids} = await runFiles(org, {quotes: quoteSheet(['C1', 'C2']), items: itemSheet(of)}, [quotes(), items()])
    await assertWritten(here, {org, path, run, rows: {quotes: 2, items: 4}})
    t.like(run, {rowsWritten: 2, counts: {Quotes: {created: 1, refused: 1}, Quoted_Items: {updated: 1, refused: 3}}})
    const ends = await endsOf(path, run)
    const said = (key: string) => ends.find(({rowKey}) => rowKey === key)!.message
    t.regex(said('quotes.2'), /^Row items\.3: The CRM declined with INVALID_DATA/)
    t.regex(said('items.3'), /^The CRM declined with INVALID_DATA.*\(Description\)/)
    t.regex(said('items.2'), /^Another row of this parent was refused, row items\.3: /)
    const corrected = [quotes(), items({fields: items().fields.slice(0, 2)})].map(({source, ...flow}: any) => ({
      ...flow,
      sourceId: ids[source],
    }))
    await ok(org.call('PUT', `${path}/flows`, corrected), 200)
    const second = await retry(path, run.id)
    t.like(second, {
      rowsWritten: 4,
      counts: {Quotes: {inherited: 1, created: 1}, Quoted_Items: {inherited: 1, updated: 3}},
    })
    t.is(notesOf(here, 'C2')!.length, 3)
  },
)

test.serial('a row limit in the middle of a quote admits neither the quote nor its items', async t => {
  const of = [
    ['D1', 'a'],
    ['D2', 'b'],
    ['D2', 'c'],
  ] as const
  const {run, path} = await runFiles(org, {quotes: quoteSheet(['D1', 'D2']), items: itemSheet(of)}, [quotes(), items()], {declaredRows: 4})
  t.like(run, {rowsWritten: 2, stop: {stopped: 'LIMIT_ROWS_PER_RUN'}})
  t.deepEqual([notesOf(here, 'D1'), notesOf(here, 'D2')], [['a'], null])
  const later = await retry(path, run.id)
  t.is(later.stop, null)
  assertQuotes(here, of)
})

test.serial('a dry run plans quotes with their items, stops where the run would, and writes none', async t => {
  const of = [
    ['E1', 'a'],
    ['E1', 'b'],
    ['E2', 'c'],
  ] as const
  const {run, path, ids} = await runFiles(org, {quotes: quoteSheet(['E1', 'E2', 'E3']), items: itemSheet(of)}, [quotes(), items()], {
    dryRun: true,
  })
  t.like(run, {stop: null, counts: {Quotes: {planned: 2, failed: 1}, Quoted_Items: {planned: 3}}})
  t.is(notesOf(here, 'E1'), null)
  const {text} = await org.call('GET', `${path}/plan.csv?run=${run.id}&source=${ids.items}`)
  t.regex(text, /^1,items\.csv,Quoted Items,create,,Description,,a,create with the record that row 1 would make/m)
  const {run: short} = await ok(org.call('POST', `${path}/runs`, {dryRun: true, declaredRows: 4}), 202)
  t.like(await untilEnded(org.call, `${path}/runs/${short.id}`), {
    stop: {stopped: 'LIMIT_ROWS_PER_RUN'},
    counts: {Quotes: {planned: 1}, Quoted_Items: {planned: 2}},
  })
})

test.serial('an import of quotes without a flow for their items is refused with the flow to add', async t => {
  const {import: made} = await ok(org.call('POST', `/orgs/${org.org}/imports`, {name: 'Quotes', connectorId: org.connector}), 201)
  const path = `/orgs/${org.org}/imports/${made.id}`
  const {source} = await ok(org.call('POST', `${path}/sources?name=q.csv`, quoteSheet(['F1']), {'content-type': 'text/csv'}), 201)
  const {source: _, ...flow} = quotes()
  const answer = await org.call('PUT', `${path}/flows`, [{...flow, sourceId: source.id}])
  t.regex(JSON.stringify(answer.body), /Quotes cannot be created without Quoted_Items\. Add the rows' sheet as a subform flow/)
  const alone = await prepareFiles(org, {quotes: quoteSheet(['F1']), items: itemSheet([['F1', 'a']])}, [quotes(), items()])
  t.truthy(alone.path)
})

for (const [name, key] of [
  ['by their number', null],
  ['by a key', {parentColumn: 'quote', childColumn: 'quote'}],
] as const)
  test.serial(`quotes and items from one file, with rows identified ${name}, get all their items and count each item once`, async t => {
    const mark = key ? 'G' : 'H'
    const of = [
      [`${mark}1`, 'a'],
      [`${mark}1`, 'b'],
      [`${mark}2`, 'c'],
      [`${mark}1`, 'd'],
    ] as const
    const flat = quotes({
      source: 'items',
      fields: [
        {field: 'Subject', mode: 'expression', transform: '"Quote " + row.quote'},
        {field: 'Quote_Code', mode: 'column', source: 'quote'},
      ],
    })
    const {run, path} = await runFiles(org, {items: itemSheet(of)}, [flat, items({subform: {...items().subform, key}})])
    await assertWritten(here, {org, path, run, rows: {quotes: 4, items: 4}})
    t.like(run, {rowsWritten: 8, stop: null, counts: {Quotes: {created: 2, updated: 2}, Quoted_Items: {updated: 4}}})
    assertQuotes(here, of)
  })

test.serial(
  'items left out by a filter or guard are not sent with their quote, and items outside the row range keep it unsent',
  async t => {
    const of = [
      ['I1', 'a'],
      ['I1', 'Left out'],
      ['I2', 'Guarded'],
      ['I3', 'd'],
      ['I3', 'e'],
    ] as const
    const flow = items({filter: "row.note !== 'Left out'", guard: "row.note !== 'Guarded'"})
    const {run, path} = await runFiles(org, {quotes: quoteSheet(['I1', 'I2', 'I3']), items: itemSheet(of)}, [quotes(), flow], {
      rows: {to: 4},
    })
    const codes = (await endsOf(path, run)).map(({rowKey, outcome, code}) => [rowKey, outcome, code])
    t.deepEqual(codes.sort(), [
      ['items.1', 'updated', null],
      ['items.3', 'skipped', 'GUARDED'],
      ['items.4', 'skipped', 'PARENT_FAILED'],
      ['quotes.1', 'created', null],
      ['quotes.2', 'failed', 'ROWS_MISSING'],
      ['quotes.3', 'skipped', 'ROWS_APART'],
    ])
    t.deepEqual(notesOf(here, 'I1'), ['a'])
    t.like(run.counts, {Quoted_Items: {filtered: 1}})
  },
)

test.serial('a check reports quotes without items as a warning if they may match a record, otherwise as an error', async t => {
  const of = [
    ['J1', 'a'],
    ['J3', 'b', 'Bolt', 'many'],
  ] as const
  const files = {quotes: quoteSheet(['J1', 'J2', 'J3']), items: itemSheet(of)}
  const told = async (flow: object) => {
    const {path} = await prepareFiles(org, files, [flow as any, items()])
    const {problems} = await checkImport(org, path)
    return problems.filter(({severity}) => severity !== 'info').map(({severity, kind, field, rows}) => [severity, kind, field, rows])
  }
  const broken = [
    ['error', 'invalid_value', 'Quantity', [2]],
    ['warning', 'row_of_same_parent', null, [2]],
  ]
  const rowless = (severity: string) => [severity, 'rows_missing', 'Quoted_Items', [2]]
  t.deepEqual((await told(quotes())).sort(), [...broken, rowless('warning')].sort())
  t.deepEqual((await told(quotes({match: undefined}))).sort(), [...broken, rowless('error')].sort())
})
