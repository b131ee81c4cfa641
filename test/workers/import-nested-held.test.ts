import test from 'ava'
import {ok, openOrg, untilEnded} from '../support/importing.ts'
import {runFiles} from '../support/lookups.ts'
import {assertQuotes, itemSheet, items, makeProduct, quoteSheet, quotes, quotesOf} from '../support/quotes.ts'
import {assertWritten} from '../support/subforms.ts'
import {startTestDeployment} from '../support/test-deployment.ts'

let here: Awaited<ReturnType<typeof startTestDeployment>>
let org: Awaited<ReturnType<typeof openOrg>>

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['imports', 'discovery'], environment: {CRM_TIMEOUT_SECONDS: '2'}})
  org = await openOrg(here)
  makeProduct(here)
})

const answerWith = (id: string) => {
  const data = [{code: 'SUCCESS', status: 'success', message: 'record added', details: {id}}]
  here.crm.faults.add({match: {method: 'POST', path: '/crm/v8/Quotes'}, times: 1, action: {type: 'answer', status: 201, body: {data}}})
}

const retry = async (path: string, run: string) => {
  const {run: begun} = await ok(org.call('POST', `${path}/runs`, {retryOf: run}), 202)
  return untilEnded(org.call, `${path}/runs/${begun.id}`)
}

test.serial("items of a quote answered with another import's record are unanswered like the quote, and a retry writes both", async t => {
  await runFiles(org, {quotes: quoteSheet(['A']), items: itemSheet([['A', 'a']])}, [quotes(), items()])
  answerWith(quotesOf(here, 'A')[0].id)
  const {run, path} = await runFiles(org, {quotes: quoteSheet(['B']), items: itemSheet([['B', 'b']])}, [quotes(), items()])
  const log = await assertWritten(here, {org, path, run, rows: {quotes: 1, items: 1}})
  t.like(
    log.findLast(({rowKey}) => rowKey === 'quotes.1'),
    {outcome: 'unanswered', code: 'RECORD_HELD'},
  )
  t.like(
    log.findLast(({rowKey}) => rowKey === 'items.1'),
    {outcome: 'unanswered', recordId: null},
  )
  t.is(run.rowsWritten, 2)
  const second = await retry(path, run.id)
  await assertWritten(here, {org, path, run: second, rows: {quotes: 1, items: 1}})
  t.like(second, {counts: {Quotes: {created: 1}, Quoted_Items: {updated: 1}}})
  assertQuotes(here, [
    ['A', 'a'],
    ['B', 'b'],
  ])
})

test.serial('items of a quote answered with the record of another row are unanswered, and a retry writes them', async t => {
  const of = [
    ['C', 'c', 'Bolt', '1'],
    ['D', 'd', 'Bolt', 'many'],
  ] as const
  const {run, path, ids} = await runFiles(org, {quotes: quoteSheet(['C', 'D']), items: itemSheet(of)}, [quotes(), items()])
  const fields = items().fields.filter(({field}: any) => field !== 'Quantity')
  const corrected = [quotes(), items({fields})].map(({source, ...flow}: any) => ({...flow, sourceId: ids[source]}))
  await ok(org.call('PUT', `${path}/flows`, corrected), 200)
  answerWith(quotesOf(here, 'C')[0].id)
  const second = await retry(path, run.id)
  const log = await assertWritten(here, {org, path, run: second, rows: {quotes: 2, items: 2}})
  t.like(
    log.findLast(({rowKey}) => rowKey === 'quotes.2'),
    {outcome: 'unanswered', code: 'RECORD_HELD'},
  )
  t.like(
    log.findLast(({rowKey}) => rowKey === 'items.2'),
    {outcome: 'unanswered', recordId: null},
  )
  const third = await retry(path, second.id)
  await assertWritten(here, {org, path, run: third, rows: {quotes: 2, items: 2}})
  assertQuotes(here, of)
})
