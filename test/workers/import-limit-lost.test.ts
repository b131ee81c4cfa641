import test from 'ava'
import {accountRows, ok, openOrg, runImport, untilEnded} from '../support/importing.ts'
import {runFiles} from '../support/lookups.ts'
import {assertAccounted, assertOnce} from '../support/oracle.ts'
import {assertQuotes, itemSheet, items, makeProduct, quoteSheet, quotes} from '../support/quotes.ts'
import {startTestDeployment} from '../support/test-deployment.ts'

const flow = {
  module: 'Accounts',
  fields: [
    {field: 'Account_Name', mode: 'column', source: 'name'},
    {field: 'Account_Number', mode: 'column', source: 'number'},
  ],
}

test('rows that wait to be sent again are sent at the row limit, even in a part-filled batch', async t => {
  const here = await startTestDeployment(t, {workers: ['imports', 'discovery'], environment: {CRM_SLOTS: '1', CRM_TIMEOUT_SECONDS: '1'}})
  const org = await openOrg(here)
  here.crm.faults.add({match: {method: 'POST', path: '/crm/v8/Accounts'}, times: 1, action: 'dropBefore'})
  // The limit of 263 rows admits two full batches, of which one is lost, and 63 rows of a third. Its other 37 rows go back to the next batch. The lost
  // rows fill that batch, and the last 37 of them are in a part-filled one.
  const {run, path} = await runImport(org, {csv: accountRows(1_000, 'Li-'), flow, start: {declaredRows: 263}})
  t.like(run.stop, {stopped: 'LIMIT_ROWS_PER_RUN', rowsWrittenTotal: 263})
  const {outcomes, finals} = await assertAccounted(here, {org, path, run, rows: 1_000})
  t.deepEqual(outcomes, {created: 263})
  assertOnce(here.crm, 'Li-', finals)
})

test('a run ends at the row limit if a quote that is sent again lost the room of its items to another quote', async t => {
  const here = await startTestDeployment(t, {
    workers: ['imports', 'discovery'],
    environment: {CRM_SLOTS: '4', CRM_TIMEOUT_SECONDS: '1', CRM_LAG_SECONDS: '1'},
  })
  const org = await openOrg(here)
  makeProduct(here)
  const of = [
    ['L1', 'a'],
    ['L1', 'b'],
    ['L2', 'c'],
  ] as const
  const creates = {method: 'POST', path: '/crm/v8/Quotes'}
  here.crm.faults.add({match: creates, times: 1, action: 'dropAfter'})
  here.crm.faults.add({match: creates, times: 99, action: 'dropBefore'})
  const files = {quotes: quoteSheet(['L1', 'L2']), items: itemSheet(of)}
  const {run, path} = await runFiles(org, files, [quotes(), items()], {declaredRows: 3})
  t.like(run, {stop: {stopped: 'LIMIT_ROWS_PER_RUN'}, counts: {Quotes: {unanswered: 1, created: 0}}})
  here.crm.faults.clear()
  const retry = async (retryOf: string, more: object = {}) => {
    const {run: begun} = await ok(org.call('POST', `${path}/runs`, {retryOf, ...more}), 202)
    return untilEnded(org.call, `${path}/runs/${begun.id}`)
  }
  here.crm.faults.add({match: {method: 'GET', path: '/crm/v8/Quotes'}, times: 99, action: {type: 'emptyBody', status: 204}})
  const second = await retry(run.id, {declaredRows: 3})
  t.like(second, {stop: {stopped: 'LIMIT_ROWS_PER_RUN'}, counts: {Quotes: {unanswered: 1, created: 1}}})
  here.crm.faults.clear()
  t.like(await retry(second.id), {stop: null, counts: {Quotes: {created: 1, unanswered: 0}, Quoted_Items: {unanswered: 0}}})
  assertQuotes(here, of)
})
