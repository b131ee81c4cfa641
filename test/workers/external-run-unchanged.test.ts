import anyTest, {type TestFn} from 'ava'
import {sql} from '../../sql/database.ts'
import {ok} from '../support/importing.ts'
import {assertLedger, type ExternalEngine, openExternalEngine, row} from '../support/record-writes.ts'

/** The tests run serially, because they share one stand-in. */
const test = anyTest.serial as TestFn<ExternalEngine>

test.before(async t => {
  Object.assign(t.context, await openExternalEngine(t, {environment: {CRM_TIMEOUT_SECONDS: '2'}}))
})
test.beforeEach(async ({context: {house}}) => {
  house.crm.clear()
  // After its reset, the CRM reuses record ids, so old claims would match new records.
  await house.db.query(sql.unsafe`delete from record_claims`)
  await house.db.query(sql.unsafe`delete from chain_rows`)
})

const fill = async (here: ExternalEngine, names: string[]) => {
  const run = await here.authorise()
  const {results} = await ok(
    here.create(
      run,
      names.map(name => row(name)),
    ),
    200,
  )
  here.house.crm.clearJournal()
  return new Map<string, string>(results.map(({rowKey, recordId}: any) => [rowKey, recordId]))
}
const puts = ({house}: ExternalEngine) => house.crm.journal({method: 'PUT', path: '/crm/v8/Accounts'})
const skip = {unchanged: 'skip'}
const unchanged = (key: string, recordId: string | undefined) => ({rowKey: key, ok: true, recordId, outcome: 'skipped', code: 'UNCHANGED'})

test('rows whose record holds every value are skipped unmetered, and the other rows of the request are written', async t => {
  const here = t.context
  const ids = await fill(here, ['a', 'b', 'c'])
  const run = await here.authorise()
  const items = [
    row('a', 'a', {recordId: ids.get('a')}),
    {...row('b', 'b', {recordId: ids.get('b')}), payload: {Account_Name: 'Other'}},
    row('c', 'c', {recordId: ids.get('c')}),
  ]
  const {results} = await ok(here.update(run, items, skip), 200)
  t.deepEqual(results, [
    unchanged('a', ids.get('a')),
    {rowKey: 'b', ok: true, recordId: ids.get('b'), outcome: 'updated'},
    unchanged('c', ids.get('c')),
  ])
  t.deepEqual(
    puts(here).map(({body}) => body.data.map(({id}: any) => id)),
    [[ids.get('b')]],
  )
  const {finals, run: read} = await assertLedger(here, run)
  t.like(finals.get('a'), {outcome: 'skipped', code: 'UNCHANGED', recordId: ids.get('a'), attempt: 0})
  t.like(read, {rowsWritten: 1, unchanged: 2, creditsSaved: 0})
})

test('an id that no record can have is refused, and the unchanged rows of its request are skipped', async t => {
  const here = t.context
  const ids = await fill(here, ['a'])
  const run = await here.authorise()
  const items = [row('a', 'a', {recordId: ids.get('a')}), row('b', 'b', {recordId: 'no id'})]
  const {results} = await ok(here.update(run, items, skip), 200)
  t.deepEqual(results[0], unchanged('a', ids.get('a')))
  t.like(results[1], {ok: false, crm: {unanswered: false}})
  t.like(await here.read(run), {rowsWritten: 0, unchanged: 1})
})

test('without the option, unchanged records are updated and no record is read', async t => {
  const here = t.context
  const ids = await fill(here, ['a'])
  const run = await here.authorise()
  t.like(await ok(here.update(run, [row('a', 'a', {recordId: ids.get('a')})]), 200), {results: [{outcome: 'updated'}]})
  t.deepEqual(here.house.crm.journal({method: 'GET', path: '/crm/v8/Accounts'}), [])
  t.like(await here.read(run), {rowsWritten: 1, unchanged: 0})
})

test('a skipped row that is sent with other values is written, metered and no longer counted as unchanged', async t => {
  const here = t.context
  const ids = await fill(here, ['a'])
  const run = await here.authorise()
  const item = row('a', 'a', {recordId: ids.get('a')})
  await ok(here.update(run, [item], skip), 200)
  t.like(await here.read(run), {rowsWritten: 0, unchanged: 1})
  const changed = {...item, payload: {Account_Name: 'Other'}}
  t.like(await ok(here.update(run, [changed], skip), 200), {results: [{outcome: 'updated'}]})
  t.like(await here.read(run), {rowsWritten: 1, unchanged: 0, counts: {Accounts: {updated: 1, skipped: 0}}})
  await assertLedger(here, run)
})

test('a writeId returns the skipped result again, and refuses the item without the option', async t => {
  const here = t.context
  const ids = await fill(here, ['a'])
  const run = await here.authorise()
  const item = row('a', 'a', {recordId: ids.get('a'), writeId: 'w-1'})
  const first = await ok(here.update(run, [item], skip), 200)
  here.house.crm.update('example', 'Accounts', [{id: ids.get('a'), Account_Name: 'Changed by a person'}])
  t.deepEqual(await ok(here.update(run, [item], skip), 200), first)
  t.like(await here.update(run, [item]), {status: 409, body: {code: 'WRITE_ID_REUSED'}})
  t.is((await here.log(run)).length, 1)
})

test('a row that the run counts as refused is sent although its record holds every value, so it ends as updated', async t => {
  const here = t.context
  const ids = await fill(here, ['a'])
  const run = await here.authorise()
  const refused = await ok(here.create(run, [row('a')]), 200)
  t.like(refused.results, [{ok: false, duplicateOf: ids.get('a')}])
  const {results} = await ok(here.update(run, [row('a', 'a', {recordId: ids.get('a')})], skip), 200)
  t.like(results, [{ok: true, outcome: 'updated'}])
  const {finals, run: read} = await assertLedger(here, run)
  t.like(finals.get('a'), {outcome: 'updated', attempt: 2})
  t.like(read, {rowsWritten: 1, unchanged: 0, counts: {Accounts: {updated: 1, refused: 0}}})
})

test('a row is not skipped while an update of its record has no answer', async t => {
  const here = t.context
  const ids = await fill(here, ['a'])
  const run = await here.authorise()
  here.house.crm.faults.add({match: {method: 'PUT', path: '/crm/v8/Accounts'}, action: {type: 'late', ms: 4_000}})
  await here.update(run, [{...row('x', 'a', {recordId: ids.get('a')}), payload: {Account_Name: 'Other'}}])
  const {results} = await ok(here.update(run, [row('a', 'a', {recordId: ids.get('a')})], skip), 200)
  t.like(results, [{outcome: 'updated'}])
  t.like(await here.read(run), {unchanged: 0})
})

test('if the records cannot be read, every row is written', async t => {
  const here = t.context
  const ids = await fill(here, ['a'])
  const run = await here.authorise()
  here.house.crm.faults.add({match: {method: 'GET', path: '/crm/v8/Accounts'}, times: 9, action: {type: 'status5xxBefore', status: 500}})
  t.like(await ok(here.update(run, [row('a', 'a', {recordId: ids.get('a')})], skip), 200), {results: [{outcome: 'updated'}]})
  here.house.crm.faults.clear()
})

test('a row that was unchanged and then claims the record is counted as created only', async t => {
  const here = t.context
  const run = await here.authorise()
  const [made] = here.house.crm.create('example', 'Accounts', [{Account_Name: 'Mine'}], {as: 'ana@example.org'})
  const recordId = String(made!.details.id)
  const entry = {rowKey: 'a', module: 'Accounts', outcome: 'skipped', code: 'UNCHANGED'}
  await ok(here.tell(run, 'entries', {entries: [entry]}), 200)
  t.is((await here.read(run)).unchanged, 1)
  t.deepEqual((await here.org.call('POST', `${here.path}/${recordId}/made`, {runId: run, rowKey: 'a'})).body, {taken: true})
  t.like((await assertLedger(here, run)).run, {unchanged: 0, counts: {Accounts: {created: 1, skipped: 0}}})
})
