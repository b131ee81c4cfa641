import anyTest, {type TestFn} from 'ava'
import {releaseIdle} from '../../shared/billing/entitlements/rows.ts'
import {sql} from '../../sql/database.ts'
import {ok} from '../support/importing.ts'
import {assertLedger, type ExternalEngine, openExternalEngine, row} from '../support/record-writes.ts'

/** The tests run serially, because they share one CRM. */
const test = anyTest.serial as TestFn<ExternalEngine>

test.before(async t => {
  Object.assign(t.context, await openExternalEngine(t, {environment: {CRM_TIMEOUT_SECONDS: '2', LEASE_SECONDS: '30'}}))
})
test.beforeEach(async ({context: {house}}) => {
  house.crm.clear()
  await house.ahead('0 seconds')
  // After its reset, the CRM reuses record ids, so old claims would match new records.
  await house.db.query(sql.unsafe`delete from record_claims`)
  await house.db.query(sql.unsafe`delete from chain_rows`)
})

const creates = {method: 'POST', path: '/crm/v8/Accounts'}
const end = (here: ExternalEngine, run: string) => ok(here.tell(run, 'progress', {done: true}), 200)
const importOf = async (here: ExternalEngine) => (await here.makeImport()).path.split('/').at(-1)!

/** Sends a create whose answer is lost. Returns the id of the created record. */
const lose = async (here: ExternalEngine, run: string, key: string) => {
  here.house.crm.faults.add({match: creates, times: 1, action: 'dropAfter'})
  t502(await here.create(run, [row(key)]))
  return here.held().at(-1)!.id as string
}
const t502 = ({status, text}: {status: number; text: string}) => {
  if (status !== 502) throw new Error(`Not lost: ${status} ${text}`)
}

const take = ({org, path}: ExternalEngine, run: string, key: string, record: string) =>
  org.call('POST', `${path}/${record}/made`, {runId: run, rowKey: key})

for (const way of ['by itself', 'with retryOf'] as const) {
  test(`a later run of an import claims the lost creates of its first run and duplicates none, ${way}`, async t => {
    const here = t.context
    const importId = await importOf(here)
    const first = await here.authorise(10, {importId})
    const [made] = (await ok(here.create(first, [row('a')], {flowId: 'f'}), 200)).results
    const lost = await lose(here, first, 'b')
    await end(here, first)
    const second = await here.authorise(10, {importId, ...(way === 'with retryOf' && {retryOf: first})})
    // The order in which a run names its modules makes no difference.
    const entries = [{rowKey: 'x', flowId: 'other', module: 'Contacts', outcome: 'lookup', target: 'Account_Name', code: '2'}]
    await ok(here.tell(second, 'entries', {entries}), 200)
    t.is((await here.read(second)).retryOf, first)
    t.is((await here.read(first)).retriedBy, second)

    t.like((await ok(here.create(second, [row('a')]), 200)).results, [{ok: true, outcome: 'inherited', recordId: made.recordId}])
    await ok(here.create(second, [row('a')]), 200)
    t.like((await ok(here.create(second, [row('b')]), 200)).results, [{ok: false, crm: {code: 'DUPLICATE_DATA'}, duplicateOf: lost}])
    t.deepEqual((await take(here, second, 'b', lost)).body, {taken: true})
    t.is(here.held().length, 2)

    const {entries: log, run} = await assertLedger(here, second)
    t.deepEqual(
      log.map(({rowKey, module, outcome, attempt}) => [rowKey, module, outcome, attempt]),
      [
        ['x', 'Contacts', 'lookup', 0],
        ['a', 'Accounts', 'inherited', 0],
        ['b', 'Accounts', 'refused', 1],
        ['b', 'Accounts', 'created', 2],
      ],
    )
    t.is(run.rowsWritten, 1, 'the inherited row counts nothing')
    await end(here, second)
    const third = await here.authorise(10, {importId})
    t.like((await ok(here.create(third, [row('b')]), 200)).results, [{ok: true, outcome: 'inherited', recordId: lost}])
    t.is((await here.read(third)).retryOf, second)
  })
}

test('a run reports that the record of a row that it inherits may exist twice', async t => {
  const here = t.context
  const importId = await importOf(here)
  const first = await here.authorise(10, {importId})
  here.house.crm.faults.add({match: creates, times: 1, action: 'dropAfter'})
  t502(await here.create(first, [row('a', null)]))
  t.true((await ok(here.create(first, [row('a', null)]), 200)).results[0].ok)
  await end(here, first)
  const second = await here.authorise(10, {importId})
  for (let n = 0; n < 2; n++) t.like((await ok(here.create(second, [row('a', null)]), 200)).results, [{outcome: 'inherited'}])
  const {entries, run} = await assertLedger(here, second)
  t.deepEqual(
    entries.map(({outcome}) => outcome),
    ['inherited', 'made_after_no_answer'],
  )
  t.is(run.mayExistTwice, 1)
  await end(here, second)
})

test('a row that the engine reported as failed is inherited once its create shows an earlier record', async t => {
  const here = t.context
  const importId = await importOf(here)
  const first = await here.authorise(10, {importId})
  await ok(here.create(first, [row('a')], {flowId: 'f'}), 200)
  await end(here, first)
  const second = await here.authorise(10, {importId})
  await ok(here.tell(second, 'entries', {entries: [{rowKey: 'a', flowId: 'f', module: 'Accounts', outcome: 'failed'}]}), 200)
  for (let n = 0; n < 2; n++) t.like((await ok(here.create(second, [row('a')]), 200)).results, [{ok: true, outcome: 'inherited'}])
  const {run} = await assertLedger(here, second)
  t.like(run.counts.Accounts, {inherited: 1, failed: 0})
  await end(here, second)
})

test('a retry whose authorisation lapsed leaves the chain, so that the next run duplicates no row, and cannot be continued', async t => {
  const here = t.context
  const importId = await importOf(here)
  const first = await here.authorise(10, {importId})
  await ok(here.create(first, [row('a')], {flowId: 'f'}), 200)
  await end(here, first)
  const lapsed = await here.authorise(10, {importId, retryOf: first})
  await here.house.ahead('24 hours 1 minute')
  await releaseIdle(here.house.db, {most: 10})
  await here.house.ahead('0 seconds')
  t.is((await here.read(lapsed)).stop.stopped, 'LAPSED')
  const {imports} = await ok(here.org.call('GET', `/orgs/${here.org.org}/imports?lastRun=true`), 200)
  t.is(imports.find(({id}: {id: string}) => id === importId).lastRun.id, first)
  t.like(await here.org.call('POST', '/entitlements/runs/authorise', {declaredRows: 5, importId, retryOf: lapsed}), {
    status: 409,
    body: {code: 'NOT_READY'},
  })
  const next = await here.authorise(10, {importId})
  t.like((await ok(here.create(next, [row('a')]), 200)).results, [{ok: true, outcome: 'inherited'}])
  t.is(here.held().length, 1)
  await end(here, next)
})

test('an unused retry gives way to a run that begins before it, and continues that run later, so that no row is duplicated', async t => {
  const here = t.context
  const importId = await importOf(here)
  const first = await here.authorise(10, {importId})
  await ok(here.create(first, [row('a')], {flowId: 'f'}), 200)
  await end(here, first)
  const unused = await here.authorise(10, {importId, retryOf: first})
  const second = await here.authorise(10, {importId})
  const inherited = [{ok: true, outcome: 'inherited'}]
  t.like((await ok(here.create(second, [row('a')]), 200)).results, inherited)
  t.is((await here.read(unused)).retryOf, null)
  t.like(await here.tell(unused, 'lease'), {status: 409, body: {code: 'IMPORT_RUNNING'}})
  await end(here, second)
  t.like((await ok(here.create(unused, [row('a')]), 200)).results, inherited)
  t.is((await here.read(unused)).retryOf, second)
  t.is(here.held().length, 1)
  await end(here, unused)
})

test('a script without an import continues its own run with retryOf', async t => {
  const here = t.context
  const first = await here.authorise()
  await ok(here.create(first, [row('s')]), 200)
  t.like(await here.org.call('POST', '/entitlements/runs/authorise', {declaredRows: 5, retryOf: first}), {
    status: 409,
    body: {code: 'IMPORT_RUNNING'},
  })
  await end(here, first)
  const unused = await here.authorise(5, {retryOf: first})
  const second = await here.authorise(5, {retryOf: first})
  t.like((await ok(here.create(second, [row('s')]), 200)).results, [{ok: true, outcome: 'inherited'}])
  t.is((await here.read(unused)).retryOf, null, 'a run that never began gives way')
  const again = await here.org.call('POST', '/entitlements/runs/authorise', {declaredRows: 5, retryOf: first})
  t.like(again, {status: 409, body: {code: 'RUN_RETRIED', run: second}})
})

test('a run of another import or org, or an unknown run, cannot be continued', async t => {
  const here = t.context
  const first = await here.authorise(10, {importId: await importOf(here)})
  await ok(here.create(first, [row('o')]), 200)
  await end(here, first)
  const ask = (more: object) => here.org.call('POST', '/entitlements/runs/authorise', {declaredRows: 5, ...more})
  for (const more of [{retryOf: first}, {importId: await importOf(here), retryOf: first}, {retryOf: 'run_none'}])
    t.like(await ask(more), {status: 404, body: {code: 'RUN_NOT_FOUND'}})
  const {token} = await here.house.makeOrg()
  const foreign = await here.house.as(token)('POST', '/entitlements/runs/authorise', {declaredRows: 5, retryOf: first})
  t.like(foreign, {status: 404, body: {code: 'RUN_NOT_FOUND'}})
})
