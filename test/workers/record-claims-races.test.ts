import anyTest, {type TestFn} from 'ava'
import {findModule} from '../../shared/crm/records/module.ts'
import {claimRecord} from '../../shared/runs/record-claims/claim.ts'
import {sql} from '../../sql/database.ts'
import {ok} from '../support/importing.ts'
import {
  authorise,
  calls,
  endRun,
  type Here,
  importRun,
  lose,
  make,
  see,
  send,
  settleDown,
  stopRun,
  take,
  taken,
} from '../support/record-claims.ts'
import {openHere} from '../support/record-claims-fixture.ts'
import {until} from '../support/until.ts'

/** The tests run serially, because they share one CRM and its clock. */
const test = anyTest.serial as TestFn<Here>

test.before(async t => void Object.assign(t.context, await openHere(t)))
test.beforeEach(t => settleDown(t.context))

/** Starts a claim, which stops between the CRM's answers for the record and for the user. Returns a function that continues it. */
const askHeld = async (here: Here, asked: Parameters<typeof take>[1]) => {
  const {crm} = here.world
  crm.faults.add({match: {path: '/crm/v8/users'}, action: 'hold'})
  const answer = taken(here, asked)
  await until(crm.held, held => held === 1)
  return async () => {
    crm.release()
    return answer
  }
}

const readyRun = async (here: Here) => {
  const run = await authorise(here)
  await lose(here, run)
  return {run, record: make(here)}
}

test('a record reserved by one row is held for every other row until the claim ends', async t => {
  const here = t.context
  const {run, record} = await readyRun(here)
  const goOn = await askHeld(here, {run, record})
  t.like((await see(here, run)).takes, [{row: 'r1', record}])
  here.world.crm.clearJournal()
  t.is(await taken(here, {run, record, row: 'r2'}), 'held')
  t.deepEqual(calls(here), [])
  t.true(await goOn())
  t.is(await taken(here, {run, record, row: 'r2'}), 'held')
})

test('claiming another record releases the first one, even if the other claim is refused', async t => {
  const here = t.context
  const {run, record} = await readyRun(here)
  const others: [string, string][] = [
    [make(here, {as: 'ben@example.org'}), 'another'],
    [await heldBy(here, run, 'r9'), 'held'],
  ]
  for (const [other, why] of others) {
    const goOn = await askHeld(here, {run, record})
    t.is(await taken(here, {run, record: other}), why)
    t.deepEqual((await see(here, run)).takes, [])
    t.is(await goOn(), 'held', 'it is reserved for nobody any more')
  }
  const goOn = await askHeld(here, {run, record})
  t.is(await taken(here, {run, record: others[1]![0]}), 'held')
  t.true(await taken(here, {run, record, row: 'r2'}))
  t.is(await goOn(), 'held')
  t.like((await see(here, run)).rows, [{row: 'r2', record}, {row: 'r9'}])
})

test('claiming another record releases the first one, even if the run has stopped or rows in flight fill it', async t => {
  const here = t.context
  const {run, record} = await readyRun(here)
  const goOn = await askHeld(here, {run, record})
  await stopRun(here, run)
  t.like(await take(here, {run, record: make(here)}), {status: 403, body: {code: 'RUN_STOPPED'}})
  t.deepEqual((await see(here, run)).takes, [])
  t.is(await goOn(), 'held')

  const full = await authorise(here, {connectorId: here.org.connector, declaredRows: 1})
  const goOnFull = await askHeld(here, {run: full, record})
  const settle = await send(here, full, {row: 'r2'})
  t.like(await take(here, {run: full, record: make(here)}), {status: 503, body: {code: 'BUSY'}})
  t.deepEqual((await see(here, full)).takes, [])
  await settle({outcome: 'created', recordId: make(here)})
  t.is(await goOnFull(), 'held')
})

const heldBy = async (here: Here, run: string, row: string) => {
  const record = make(here)
  await ok(take(here, {run, record, row}), 200)
  return record
}
test('a reservation expires after two minutes', async t => {
  const here = t.context
  const {run, record} = await readyRun(here)
  const goOn = await askHeld(here, {run, record})
  await here.world.ahead('119 seconds')
  t.is(await taken(here, {run, record, row: 'r2'}), 'held')
  await here.world.ahead('121 seconds')
  t.true(await taken(here, {run, record, row: 'r2'}))
  t.is(await goOn(), 'held')
})

test('an expired reservation that no other row took still belongs to its row', async t => {
  const here = t.context
  const {run, record} = await readyRun(here)
  const goOn = await askHeld(here, {run, record})
  await here.world.ahead('5 minutes')
  t.true(await goOn())
})

test('a claim is held if its row was sent again meanwhile, regardless of the outcome', async t => {
  const here = t.context
  const refused = {outcome: 'refused', code: 'DUPLICATE_DATA', message: 'duplicate data'} as const
  for (const end of [refused, {outcome: 'unanswered', message: 'silence'} as const, null]) {
    const {run, record} = await readyRun(here)
    const goOn = await askHeld(here, {run, record})
    const settle = await send(here, run)
    if (end) await settle(end)
    t.is(await goOn(), 'held', end?.outcome ?? 'in flight')
    t.like(await see(here, run), {takes: [], rows: []})
    here.world.crm.clearJournal()
    t.is(await taken(here, {run, record}), end ? true : 'held', 'asked again')
    t.is(calls(here).length, end ? 2 : 0)
  }
})

test('a claim is held if another row wrote the record meanwhile', async t => {
  const here = t.context
  const {run, record} = await readyRun(here)
  const goOn = await askHeld(here, {run, record})
  await (await send(here, run, {row: 'r2', target: record}))({outcome: 'updated', recordId: record})
  t.is(await goOn(), 'held')
})

test('a claim has ended if its run ended or lost its import during the CRM call', async t => {
  const here = t.context
  const {run, record} = await readyRun(here)
  const goOn = await askHeld(here, {run, record})
  await endRun(here, run)
  t.is(await goOn(), 'ended')
  t.like(await see(here, run), {rows: [], log: {length: 2}, takes: []})

  const {run: lapsing} = await importRun(here)
  await lose(here, lapsing)
  const goOnLate = await askHeld(here, {run: lapsing, record})
  await here.world.ahead('10 minutes')
  t.is(await goOnLate(), 'ended')
})

test('a claim in progress when its run is stopped is recorded, because it adds no row', async t => {
  const here = t.context
  const {run, record} = await readyRun(here)
  const goOn = await askHeld(here, {run, record})
  await stopRun(here, run)
  t.true(await goOn())
})

test('a claim renews the lease at its start and its end, and never shortens it', async t => {
  const here = t.context
  const {run} = await importRun(here)
  await lose(here, run)
  const secondsLeft = async () => {
    const {head} = await see(here, run)
    return (Date.parse(head.lease_until) - Date.parse(head.now)) / 1000
  }
  await here.world.ahead('100 seconds')
  const goOn = await askHeld(here, {run, record: make(here)})
  t.true((await secondsLeft()) > 110)
  await here.world.ahead('200 seconds')
  t.true((await secondsLeft()) < 30)
  t.true(await goOn())
  t.true((await secondsLeft()) > 110)
  await here.world.db.query(sql.unsafe`
    update run_heads set lease_until = lading_now() + interval '1 hour' where run_no = (select run_no from runs where id = ${run})`)
  t.true(await taken(here, {run, record: make(here), row: 'r2'}))
  t.true((await secondsLeft()) > 3_500)
})

test('a caller that disconnects releases the record', async t => {
  const here = t.context
  const {run, record} = await readyRun(here)
  here.world.crm.faults.add({match: {path: '/crm/v8/users'}, action: 'hold'})
  const going = new AbortController()
  const asked = askAlone(here, {run, record}, going.signal)
  await until(here.world.crm.held, held => held === 1)
  going.abort()
  await t.throwsAsync(asked)
  t.deepEqual((await see(here, run)).takes, [])
  t.true(await taken(here, {run, record, row: 'r2'}))
})

test('a row that disconnects and claims again keeps its second reservation', async t => {
  const here = t.context
  const {run, record} = await readyRun(here)
  const {crm} = here.world
  crm.faults.add({match: {path: '/crm/v8/users'}, action: 'hold', times: 2})
  const going = new AbortController()
  const first = askAlone(here, {run, record}, going.signal)
  await until(crm.held, held => held === 1)
  const second = taken(here, {run, record})
  await until(crm.held, held => held === 2)
  going.abort()
  await t.throwsAsync(first)
  t.is(await taken(here, {run, record, row: 'r2'}), 'held')
  crm.release()
  t.true(await second)
})

/** Claims a record without the API, so that the test knows when the claim of a disconnected caller has ended. */
const askAlone = async ({world, org}: Here, {run, record}: {run: string; record: string}, signal: AbortSignal) => {
  const named = {org: org.org, connector: org.connector, module: 'Accounts'}
  const asker = {org: org.org, person: '', admin: true}
  const module = await findModule(world.db, named)
  return claimRecord(world.tools, {...named, asker, module, runId: run, recordId: record, rowKey: 'r1', keys: {}}, {signal})
}

test('of fifty rows that claim one record at once, one gets it', async t => {
  const here = t.context
  const run = await authorise(here)
  const record = make(here)
  const answers = await Promise.all(Array.from({length: 50}, (_, n) => taken(here, {run, record, row: `r${n}`})))
  t.deepEqual(answers.filter(answer => answer === true).length, 1)
  t.deepEqual(answers.filter(answer => answer === 'held').length, 49)
  t.like(await see(here, run), {log: {length: 1}, rows: {length: 1}, takes: []})
})

test('one row that claims its record fifty times at once is recorded once', async t => {
  const here = t.context
  const {run, record} = await readyRun(here)
  const answers = await Promise.all(Array.from({length: 50}, () => taken(here, {run, record})))
  t.deepEqual(new Set(answers), new Set([true]))
  t.like(await see(here, run), {log: {length: 3}, rows: {length: 1}, takes: [], head: {counted: 1}})
})

test('of fifty rows that claim two records each at once, none gets more than one', async t => {
  const here = t.context
  const run = await authorise(here)
  const records = Array.from({length: 50}, () => make(here))
  const asked = records.flatMap((record, n) => [record, records[(n + 1) % 50]!].map(one => ({run, record: one, row: `r${n}`})))
  const answers = await Promise.all(asked.map(async one => ({...one, answer: await taken(here, one)})))
  const {rows, log, takes} = await see(here, run)
  const won = answers.filter(({answer}) => answer === true)
  t.deepEqual(won.map(({row, record}) => `${row} ${record}`).toSorted(), rows.map(({row, record}) => `${row} ${record}`).toSorted())
  t.is(new Set(rows.map(({record}) => record)).size, rows.length)
  t.is(log.length, rows.length)
  t.deepEqual(takes, [])
  t.deepEqual(
    [...new Set(answers.map(({answer}) => answer))].filter(answer => ![true, 'held', 'reused'].includes(answer)),
    [],
  )
})
