import anyTest, {type TestFn} from 'ava'
import {newId} from '../../shared/ids.ts'
import {keyOf} from '../../shared/runs/record-claims/keys.ts'
import {sql} from '../../sql/database.ts'
import {findDiscoveredModule} from '../../sql/discoveries.ts'
import {countAt} from '../../sql/run-log.ts'
import {ok, readLog} from '../support/importing.ts'
import {authorise, calls, type Here, importRun, lose, make, see, send, settleDown, take, taken} from '../support/record-claims.ts'
import {openHere} from '../support/record-claims-fixture.ts'

const test = anyTest.serial as TestFn<Here>

test.before(async t => void Object.assign(t.context, await openHere(t)))
test.beforeEach(t => settleDown(t.context))

const absent = '4400001000000999999'
const HOW = {made: 1, taken: 2, updated: 3, matched: 4, unchanged: 5}
const startOf = ({world}: Here, run: string, at: Date) =>
  world.db.query(sql.unsafe`update runs set authorised_at = ${at.toISOString()} where id = ${run}`)

test('claiming the record of a lost create logs the next attempt, adds no row to the meter and writes nothing', async t => {
  const here = t.context
  const run = await authorise(here)
  await lose(here, run, {flowId: 'flow-1', number: 7})
  const record = make(here, {number: 'A-1'})
  const before = await see(here, run)
  t.is(before.head.counted, 1)
  t.deepEqual(before.open, [{row: 'r1'}])
  here.world.crm.clearJournal()

  t.deepEqual((await take(here, {run, record, keys: {Account_Number: 'A-1', Nothing: 'x'}})).body, {taken: true})
  t.deepEqual(calls(here), [`GET /crm/v8/Accounts/${record}`, 'GET /crm/v8/users'])
  const after = await see(here, run)
  t.like(after.log.at(-1), {seq: 3, row: 'r1', attempt: 3, code: 'MADE_EARLIER', record, outcome: 0, number: 7})
  t.is(after.log.at(-1).flow, before.log[0].flow)
  t.like(after.rows, [{row: 'r1', record, how: HOW.taken}])
  t.deepEqual(after.admitted, [{row: 'r1', attempt: 3}])
  t.like(after, {open: [], takes: []})
  t.is(after.head.counted, 1)
  const counted = (outcome: 'created' | 'refused' | 'unanswered') => after.head.counts[countAt(1, outcome)]
  t.deepEqual([counted('created'), counted('refused'), counted('unanswered')], [1, 0, 0])
  t.is(here.world.crm.count('example', 'Accounts'), 1)
})

test('the log entry of a claim is in the log of the run', async t => {
  const here = t.context
  const {run, path} = await importRun(here)
  await lose(here, run, {flowId: 'f', number: 1})
  const record = make(here)
  t.true(await taken(here, {run, record}))
  const log = await readLog(here.org.call, path)
  t.like(log.at(-1), {rowKey: 'r1', flowId: 'f', rowNumber: 1, module: 'Accounts', phase: 'write', attempt: 3, recordId: record})
  t.like(log.at(-1), {outcome: 'created', code: 'MADE_EARLIER'})
})

test('repeating a claim succeeds without a second log entry or a call to the CRM', async t => {
  const here = t.context
  const run = await authorise(here)
  await lose(here, run)
  const record = make(here)
  t.true(await taken(here, {run, record}))
  here.world.crm.clearJournal()
  t.true(await taken(here, {run, record}))
  t.deepEqual(calls(here), [])
  t.is((await see(here, run)).log.length, 3)
})

test('an unsent row is counted once when it claims a record, and its attempts continue', async t => {
  const here = t.context
  const run = await authorise(here)
  const record = make(here)
  for (const _ of 'ab') t.true(await taken(here, {run, record}))
  const {log, head, admitted} = await see(here, run)
  t.like(log, [{attempt: 1, code: 'MADE_EARLIER', flow: null, number: null}])
  t.is(log.length, 1)
  t.is(head.counted, 1)
  t.deepEqual(admitted, [{row: 'r1', attempt: 1}])
  const settle = await send(here, run, {target: absent})
  await settle({outcome: 'refused', code: 'INVALID_DATA', message: 'no such record'})
  t.is((await see(here, run)).log.at(-1).attempt, 2)
  t.is((await see(here, run)).head.counted, 1)
})

test('a record made by another CRM user is refused as another', async t => {
  const record = make(t.context, {as: 'ben@example.org'})
  t.is(await taken(t.context, {run: await authorise(t.context), record}), 'another')
})

test('a claim reads the CRM user of the connection anew each time', async t => {
  const here = t.context
  const record = make(here)
  const me = {users: [{id: '4400001000000000777', full_name: 'Somebody else'}]}
  here.world.crm.faults.add({match: {path: '/crm/v8/users'}, action: {type: 'answer', status: 200, body: me}})
  t.is(await taken(here, {run: await authorise(here), record}), 'another')
})

test('an absent or deleted record is gone, and an id that no CRM has is not sent', async t => {
  const here = t.context
  const run = await authorise(here)
  t.is(await taken(here, {run, record: absent}), 'gone')
  const record = make(here)
  here.world.crm.remove('example', 'Accounts', [record])
  t.is(await taken(here, {run, record}), 'gone')
  here.world.crm.clearJournal()
  t.is(await taken(here, {run, record: 'nothing'}), 'gone')
  t.deepEqual(calls(here), [])
  t.deepEqual((await see(here, run)).takes, [])
})

test('a record without its author or its time of creation is unread', async t => {
  const here = t.context
  const run = await authorise(here)
  const record = make(here)
  const whole = {id: record, Created_By: {id: '1', name: 'Ana'}, Created_Time: '2026-01-01T00:00:00+00:00'}
  for (const left of ['Created_By', 'Created_Time'] as const) {
    const {[left]: _, ...rest} = whole
    here.world.crm.faults.add({match: {module: 'Accounts'}, action: {type: 'answer', status: 200, body: {data: [rest]}}})
    t.is(await taken(here, {run, record}), 'unread', left)
  }
})

test('a record used by another row is held, also if it was only matched or unchanged there', async t => {
  const here = t.context
  for (const [way, how] of Object.entries(HOW)) {
    const run = await authorise(here)
    const record = make(here)
    await (await send(here, run, {row: 'r0', target: record}))({outcome: 'updated', recordId: record})
    await here.world.db.query(sql.unsafe`
      update chain_rows set how = ${how} where row_key = 'r0' and run_no = (select run_no from runs where id = ${run})`)
    here.world.crm.clearJournal()
    t.is(await taken(here, {run, record}), 'held', way)
    t.is(await taken(here, {run, record, row: 'r0'}), how >= HOW.matched ? 'held' : true, `${way}, asked for the same row`)
    t.deepEqual(calls(here), [], way)
  }
})

test('a row that already has a record is refused as reused, unless it left that record as it was', async t => {
  const here = t.context
  for (const [way, how] of Object.entries(HOW)) {
    const run = await authorise(here)
    const record = make(here)
    await (await send(here, run, {target: absent}))({outcome: 'updated', recordId: absent})
    await here.world.db.query(sql.unsafe`
      update chain_rows set how = ${how} where run_no = (select run_no from runs where id = ${run})`)
    t.is(await taken(here, {run, record}), how >= HOW.matched ? true : 'reused', way)
  }
})

/** Creates an account when the CRM's clock shows `ms`, then resets the clock. */
const madeAt = (here: Here, ms: number) => {
  const {clock} = here.world.crm
  clock.freeze()
  clock.set(ms)
  const record = make(here)
  clock.set(Date.now())
  clock.unfreeze()
  return record
}

const startedAt = async (here: Here, ms: number, record: string) => {
  const run = await authorise(here)
  await startOf(here, run, new Date(ms))
  return taken(here, {run, record})
}

test('a record may be up to two whole seconds older than its chain, and not more', async t => {
  const here = t.context
  const second = Math.floor(Date.now() / 1000) * 1000 - 60_000
  t.true(await startedAt(here, second, madeAt(here, second)))
  t.true(await startedAt(here, second, madeAt(here, second - 1_000)))
  t.true(await startedAt(here, second, madeAt(here, second - 2_000)))
  t.is(await startedAt(here, second + 1, madeAt(here, second - 2_000)), 'earlier')
  t.is(await startedAt(here, second, madeAt(here, second - 3_000)), 'earlier')
  t.is(await startedAt(here, second, madeAt(here, second - 2_001)), 'earlier')
})

test('a database clock an hour off is used as it is, and one a second off counts as ours', async t => {
  const here = t.context
  await here.world.ahead('1 hour')
  const run = await authorise(here)
  t.true(await taken(here, {run, record: make(here)}))
  t.is(await taken(here, {run, record: madeAt(here, Date.now() - 10_000), row: 'r2'}), 'earlier')
  await here.world.ahead('1 second')
  const second = Math.floor(Date.now() / 1000) * 1000 - 60_000
  t.true(await startedAt(here, second, madeAt(here, second - 2_000)))
  t.is(await startedAt(here, second, madeAt(here, second - 3_000)), 'earlier')
})

test('a CRM clock an hour off is used as it is', async t => {
  const here = t.context
  for (const hours of [1, -1]) {
    const off = hours * 3_600_000
    const early = madeAt(here, Date.now() + off - 30_000)
    here.world.crm.clock.set(Date.now() + off)
    const run = await authorise(here)
    t.true(await taken(here, {run, record: make(here)}), `${hours} h`)
    t.is(await taken(here, {run, record: early, row: 'r2'}), 'earlier', `${hours} h`)
  }
})

test('the chain begins with its first run, found through at most a thousand earlier runs', async t => {
  const here = t.context
  const {db} = here.world
  const grow = async (before: number) => {
    const run = await authorise(here)
    await db.query(sql.unsafe`
      insert into runs (id, org_id, declared_rows, state, authorised_at)
      select ${run} || '.' || n, org_id, 1, 'ended', authorised_at - n * interval '1 minute' from runs, generate_series(1, ${before}) n
      where id = ${run}`)
    const nth = (n: number) => sql.fragment`(select run_no from runs where id = ${n === 0 ? run : `${run}.${n}`})`
    await db.query(sql.unsafe`
      update runs set retry_of = f.run_no from (
        select a.id, b.run_no from generate_series(1, ${before}) n
        join runs a on a.id = case when n = 1 then ${run} else ${run} || '.' || (n - 1) end join runs b on b.id = ${run} || '.' || n) f
      where runs.id = f.id`)
    await db.query(sql.unsafe`
      update runs set chain_no = ${nth(before)} where id = ${run} or id like ${`${run}.%`}`)
    return run
  }
  const record = madeAt(here, Date.now() - 999 * 60_000)
  t.is(await taken(here, {run: await grow(998), record}), 'earlier')
  t.true(await taken(here, {run: await grow(1_000), record}))
  here.world.crm.clearJournal()
  t.is(await taken(here, {run: await grow(1_001), record}), 'unread')
  const broken = await grow(3)
  await db.query(sql.unsafe`update runs set retry_of = null where id = ${`${broken}.2`}`)
  t.is(await taken(here, {run: broken, record}), 'unread')
  t.deepEqual(calls(here), [])
})

test('a claimed record can be matched by its key fields, with the values as they are read back', async t => {
  const here = t.context
  const module = (await findDiscoveredModule(here.world.db, {connector: here.org.connector, module: 'Accounts'}))!
  const keyed = async (keys?: object) => {
    const run = await authorise(here)
    t.true(await taken(here, {run, record: make(here), ...(keys && {keys})}))
    return (await see(here, run)).rows[0].key
  }
  const key = await keyed({Account_Number: ' a-1', Nothing: 'x'})
  t.deepEqual(key, keyOf({Account_Number: 'A-1'}, module))
  t.notDeepEqual(key, keyOf({Account_Name: 'A-1'}, module))
  t.deepEqual(await keyed({Parent_Account: {id: absent, name: 'Acme'}}), keyOf({Parent_Account: {id: absent}}, module))
  for (const none of [undefined, {}, {Nothing: 'x'}, {Account_Number: ''}, {Account_Number: null}, {Account_Number: {a: 1}}])
    t.is(await keyed(none), null, JSON.stringify(none))
})

test('a run without a connection adopts that of its first claim', async t => {
  const here = t.context
  const touched = await authorise(here, {})
  await ok(here.org.call('POST', `/entitlements/runs/${touched}/lease`), 200)
  for (const run of [touched, await authorise(here, {})]) {
    t.true(await taken(here, {run, record: make(here)}))
    const row = await here.world.db.one(sql.unsafe`select connector_id, state, engine from runs where id = ${run}`)
    t.deepEqual(row, {connector_id: here.org.connector, state: 'writing', engine: 'outside'})
  }
})

test('a lost create sent again is refused as a duplicate, and the named record can be claimed', async t => {
  const here = t.context
  const {crm} = here.world
  const run = await authorise(here)
  const path = `/orgs/${here.org.org}/connectors/${here.org.connector}/records/Accounts`
  const items = [{rowKey: 'r1', payload: {Account_Name: 'Acme', Account_Number: 'A-1'}}]
  const create = async () => (await here.org.call('POST', path, {runId: run, items})).body.results[0]
  crm.faults.add({match: {method: 'POST', module: 'Accounts'}, action: 'dropAfter'})
  t.like(await create(), {ok: false, crm: {unanswered: true}})
  const refused = await create()
  t.like(refused, {ok: false, crm: {code: 'DUPLICATE_DATA'}})
  const record = crm.records('example', 'Accounts')[0]!.id as string
  t.true(JSON.stringify(refused).includes(record))
  t.true(await taken(here, {run, record, keys: {Account_Number: 'A-1'}}))
  t.like(await create(), {ok: true, recordId: record}, 'it is not made a second time')
  t.is(crm.count('example', 'Accounts'), 1)
  const {head, log} = await see(here, run)
  t.is(head.counted, 1)
  t.deepEqual(
    log.map(({attempt, code}) => [attempt, code]),
    [
      [1, null],
      [2, 'DUPLICATE_DATA'],
      [3, 'MADE_EARLIER'],
    ],
  )
})

test('a claim under an unknown connection, an unknown module or the wrong module is not found', async t => {
  const here = t.context
  const run = await authorise(here)
  const record = make(here)
  t.like(await take(here, {run, record, connector: newId('con')}), {status: 404, body: {code: 'NOT_FOUND'}})
  t.like(await take(here, {run, record, module: 'Nothings'}), {status: 404, body: {code: 'MODULE_NOT_FOUND'}})
  t.is(await taken(here, {run, record, module: 'Contacts'}), 'gone')
})
