import anyTest, {type TestFn} from 'ava'
import {lockExternalRun} from '../../shared/runs/external/run.ts'
import {settleAbandonedSend} from '../../shared/runs/external/settle.ts'
import {sql} from '../../sql/database.ts'
import {listExternalSends} from '../../sql/external-ledger.ts'
import {listOpenCreates} from '../../sql/record-claims.ts'
import {countAt, outcomeNo} from '../../sql/run-log.ts'
import type {GenericSimulator} from '../simulators/generic.ts'
import {contactsPath, describeContacts, startContacts} from '../support/described.ts'
import {ok} from '../support/importing.ts'
import {authorise, calls, endRun, type Here, lose, make, see, send, settleDown, taken} from '../support/record-claims.ts'
import {openHere} from '../support/record-claims-fixture.ts'
import {until} from '../support/until.ts'

/** The tests run serially, because they share one CRM and its clock. */
const test = anyTest.serial as TestFn<Here & {there: GenericSimulator}>

test.before(async t => {
  const there = await startContacts()
  Object.assign(t.context, {there, ...(await openHere(t, {GENERIC_ORIGINS: there.url}))})
})
test.beforeEach(t => settleDown(t.context))
test.after.always(t => t.context.there?.stop())

const retry = async (here: Here, of: string) => {
  const run = await authorise(here)
  await here.world.db.query(sql.unsafe`
    update runs set retry_of = before.run_no, chain_no = before.chain_no from runs before where runs.id = ${run} and before.id = ${of}`)
  return run
}

test('a retry claims the lost create of an earlier run, which settles that create and starts a log here', async t => {
  const here = t.context
  const first = await authorise(here)
  await here.world.db.query(sql.unsafe`update runs set authorised_at = authorised_at - interval '1 hour' where id = ${first}`)
  await lose(here, first, {flowId: 'accounts', number: 7})
  here.world.crm.clock.advance(-1_800_000)
  const record = make(here)
  here.world.crm.clock.set(Date.now())
  await endRun(here, first)
  t.is((await see(here, first)).open.length, 1)

  const second = await retry(here, first)
  t.true(await taken(here, {run: second, record}))
  const {log, head, admitted} = await see(here, second)
  t.like(log, [{attempt: 1, code: 'MADE_EARLIER', record, number: 7}])
  const names = await here.world.db.any(sql.unsafe`
    select n.name from run_names n join runs using (run_no) where id = ${second} and kind = 'flow' and no = ${log[0].flow}`)
  t.deepEqual(names, [{name: 'accounts'}])
  t.is(head.counted, 0)
  t.deepEqual(admitted, [])
  t.deepEqual(
    head.counts,
    Array.from({length: countAt(1, 'created') + 1}, (_, at) => Number(at === countAt(1, 'created'))),
  )
  t.like(await see(here, first), {open: [], rows: [{row: 'r1', record}], log: {length: 2}})

  const third = await retry(here, second)
  t.is(await taken(here, {run: third, record, row: 'r2'}), 'held')
  t.is(await taken(here, {run: third, record: make(here), row: 'r1'}), 'reused')
  t.true(await taken(here, {run: third, record, row: 'r1'}))
  t.is((await see(here, third)).log.length, 0)
})

/** Creates another org of this service that writes to the same CRM org. */
const openOther = async ({world}: Here) => {
  const {org, token: session} = await world.makeOrg()
  const connector = await world.connect(session)
  const call = world.as(session)
  await ok(call('POST', `/orgs/${org}/discovery/run`, {connectorId: connector}, {prefer: 'wait=30'}), 200)
  return {call, org, connector, session}
}

test('a record claimed by another chain is held, in any org that writes to the same CRM org', async t => {
  const here = t.context
  const record = make(here)
  t.true(await taken(here, {run: await authorise(here), record}))
  t.is(await taken(here, {run: await authorise(here), record}), 'held')
  const other = {...here, org: await openOther(here)}
  t.is(await taken(other, {run: await authorise(other), record}), 'held')
})

test('a record that another chain created is held, without a call to the CRM', async t => {
  const here = t.context
  const record = make(here)
  const other = await authorise(here)
  await (await send(here, other, {row: 'r0'}))({outcome: 'created', recordId: record})
  here.world.crm.clearJournal()
  t.is(await taken(here, {run: await authorise(here), record}), 'held')
  t.deepEqual(calls(here), [])
})

test('a claim waits for creates of other runs that were in flight when the record was read', async t => {
  const here = t.context
  const [first, second] = [await authorise(here), await authorise(here)]
  for (const [number, end] of [
    ['made', (record: string) => ({outcome: 'created', recordId: record})],
    ['lost', () => ({outcome: 'unanswered', message: 'The CRM did not answer'})],
  ] as const) {
    const record = make(here)
    const settle = await send(here, first, {row: number})
    const asked = taken(here, {run: second, record, row: number})
    await until(
      () => calls(here).filter(call => call.endsWith('/users')).length,
      count => count === (number === 'made' ? 1 : 2),
    )
    await settle(end(record) as Parameters<typeof settle>[0])
    t.is(await asked, number === 'made' ? 'held' : true)
  }
})

test('a claim does not wait for creates of other runs in another module, nor for answered ones', async t => {
  const here = t.context
  const [first, second] = [await authorise(here), await authorise(here)]
  const settle = await send(here, first, {row: 'lead', module: 'Leads'})
  const open = async (module: string) => {
    const {crmOrgId, dc, run} = (await here.world.db.one(sql.unsafe`
      select c.crm_org_id as "crmOrgId", c.dc, r.run_no as run from runs r join connectors c on c.id = r.connector_id where r.id = ${second}`)) as any
    return (await listOpenCreates(here.world.db, {crmOrgId, dc, run, module})).length
  }
  t.deepEqual([await open('Leads'), await open('Accounts')], [1, 0])
  t.true(await taken(here, {run: second, record: make(here), row: 'account'}))
  t.is(await open('Leads'), 1, 'the take did not wait until it was over')
  await here.world.db.query(sql.unsafe`update sends set answered = true where run_no = (select run_no from runs where id = ${first})`)
  t.is(await open('Leads'), 0, 'an answered batch creates no further record')
  await settle({outcome: 'unanswered', message: 'The CRM did not answer'})
})

test('of concurrent claims by rows of several chains, one gets the record', async t => {
  const here = t.context
  const record = make(here)
  const runs = await Promise.all(Array.from({length: 6}, () => authorise(here)))
  const answers = await Promise.all(runs.map(run => taken(here, {run, record})))
  t.deepEqual(answers.toSorted(), ['held', 'held', 'held', 'held', 'held', true].toSorted())
})

test('a late answer that names a record claimed by another chain leaves its create unanswered', async t => {
  const here = t.context
  const [first, second] = [await authorise(here), await authorise(here)]
  const record = make(here)
  const settle = await send(here, first, {row: 'r0'})
  await here.world.ahead('10 minutes')
  await here.world.db.transaction(async tx => {
    const run = await lockExternalRun(tx, here.org.org, first)
    for (const one of await listExternalSends(tx, run.no)) await settleAbandonedSend(tx, run, one)
  })
  await here.world.ahead('0 seconds')
  t.true(await taken(here, {run: second, record}))
  await settle({outcome: 'created', recordId: record}, {late: true})
  const {log, rows} = await see(here, first)
  t.deepEqual(rows, [])
  t.deepEqual(
    log.map(({outcome, code}) => [outcome, code]),
    [[outcomeNo('unanswered'), null]],
  )
})

test('a claim at a destination without users is unread, because the author of a record is unknown', async t => {
  const here = t.context
  const {call, org} = here.org
  const asked = {kind: 'generic', name: 'Plain', document: describeContacts(here.there)}
  const {connector} = await ok(call('POST', `/orgs/${org}/connectors`, asked), 201)
  await ok(call('POST', `/orgs/${org}/discovery/run`, {connectorId: connector.id}, {prefer: 'wait=30'}), 200)
  const made = await fetch(`${here.there.url}${contactsPath}`, {
    method: 'POST',
    body: JSON.stringify([{name: 'Ann', email: 'ann@example.org'}]),
  })
  const [{id}] = ((await made.json()) as any).results
  const run = await authorise(here, {connectorId: connector.id})
  const place = {run, connector: connector.id, module: 'Contacts'}
  t.is(await taken(here, {...place, record: id}), 'unread')
  t.is(await taken(here, {...place, record: 'nobody'}), 'gone')
})
