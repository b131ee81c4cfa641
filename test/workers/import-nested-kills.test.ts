import test from 'ava'
import {ok, openOrg, untilEnded} from '../support/importing.ts'
import {prepareFiles} from '../support/lookups.ts'
import {assertQuotes, type Item, itemSheet, items, makeProduct, plainQuotes, quoteSheet, quotes} from '../support/quotes.ts'
import {assertWritten} from '../support/subforms.ts'
import {startTestDeployment} from '../support/test-deployment.ts'
import {killAt, killAtRows, openWorkers} from '../support/worker-process.ts'

let here: Awaited<ReturnType<typeof startTestDeployment>>
let org: Awaited<ReturnType<typeof openOrg>>
let product: {id: string}

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['discovery'], environment: {LEASE_SECONDS: '1.5', CRM_TIMEOUT_SECONDS: '1'}})
  org = await openOrg(here)
  product = makeProduct(here)
})
test.afterEach.always(() => here.crm.faults.clear())

const startWorker = openWorkers(() => here.config)

const [parents, each] = [250, 3]
const creates = {method: 'POST', path: '/crm/v8/Quotes'}

/** Starts a run of quotes with items. If quotes are matched, every fifth quote exists already. No two items of one quote are adjacent. */
const begin = async (mark: string, flow: typeof quotes | typeof plainQuotes) => {
  const codes = Array.from({length: parents}, (_, n) => `${mark}-${n}`)
  const old = flow === quotes ? codes.filter((_, n) => n % 5 === 0) : []
  for (const code of old)
    here.crm.create('example', 'Quotes', [
      {Subject: `Quote ${code}`, Quote_Code: code, Quoted_Items: [{Product_Name: product}, {Product_Name: product}]},
    ])
  const of: Item[] = Array.from({length: each}, (_, n) => codes.map(code => [code, `${code} ${n}`] as const)).flat()
  const {path} = await prepareFiles(org, {quotes: quoteSheet(codes), items: itemSheet(of)}, [flow(), items()])
  const {run} = await ok(org.call('POST', `${path}/runs`, {}), 202)
  return {path, of, old: old.length, runPath: `${path}/runs/${run.id}`}
}

const assertWhole = async (t: any, {path, of, old, runPath}: Awaited<ReturnType<typeof begin>>) => {
  const run = await untilEnded(org.call, runPath)
  t.is(run.stop, null)
  const log = await assertWritten(here, {org, path, run, rows: {quotes: parents, items: parents * each}})
  assertQuotes(here, of)
  t.like(run, {
    rowsWritten: parents * (1 + each),
    counts: {Quotes: {created: parents - old, updated: old}, Quoted_Items: {updated: parents * each, unanswered: 0}},
  })
  return log
}

for (const flow of [quotes, plainQuotes]) {
  for (const point of ['after_intent:2', 'after_send:2', 'before_settle:2']) {
    test.serial(`a worker killed at ${point} leaves every quote once with exactly the items of its sheet (${flow.name})`, async t => {
      const begun = await begin(`${flow.name}${point.replace(':', '')}`, flow)
      await killAt(startWorker, point)
      startWorker()
      const log = await assertWhole(t, begun)
      for (const name of ['quotes', 'items'])
        t.true(
          log.some(({flowId, outcome}) => flowId === name && outcome === 'unanswered'),
          `some ${name} were in flight`,
        )
    })
  }
}

test.serial('killed workers and lost answers neither duplicate nor lose a quote or an item', async t => {
  const begun = await begin('M', quotes)
  here.crm.faults.add({match: creates, times: 1_000, action: {type: 'slow', ms: 200, when: 'after'}})
  here.crm.faults.add({match: {...creates, nth: 2}, times: 1, action: 'dropAfter'})
  await killAtRows(startWorker, {call: org.call, runPath: begun.runPath, rows: [200, 400, 600]})
  await assertWhole(t, begun)
})

test.serial('an item that was sent with its quote and is written again with its record counts once if the worker dies', async t => {
  const of: Item[] = [
    ['O1', 'a'],
    ['O1', 'b'],
  ]
  const fields = [
    {field: 'Subject', mode: 'expression', transform: '"Quote " + row.quote'},
    {field: 'Quote_Code', mode: 'column', source: 'quote'},
  ]
  const flows = [quotes({source: 'items', fields}), items({subform: {...items().subform, key: null}})]
  const {path} = await prepareFiles(org, {items: itemSheet(of)}, flows)
  const {run: begun} = await ok(org.call('POST', `${path}/runs`, {}), 202)
  // The third request replaces the items: the first creates the quote with one item, the second updates the quote.
  await killAt(startWorker, 'after_send:3')
  startWorker()
  const run = await untilEnded(org.call, `${path}/runs/${begun.id}`)
  const log = await assertWritten(here, {org, path, run, rows: {quotes: 2, items: 2}})
  assertQuotes(here, of)
  t.like(run, {stop: null, rowsWritten: 4, counts: {Quoted_Items: {updated: 2, unanswered: 0}}})
  t.deepEqual(
    log.filter(({rowKey}) => rowKey === 'items.1').map(({outcome}) => outcome),
    ['updated', 'unanswered', 'updated'],
  )
})
