import anyTest, {type TestFn} from 'ava'
import {sql} from '../../sql/database.ts'
import {countAt} from '../../sql/run-log.ts'
import {contactsPath, describeContacts, startContacts} from '../described.ts'
import {ok} from '../importing.ts'
import type {GenericStandIn} from '../simulators/generic.ts'
import {authorise, endRun, type Here, lose, make, see, settleDown, taken} from '../taking.ts'
import {openHere} from '../taking-world.ts'

/** Takes in the later runs of a chain, and at a destination that is no CRM. */
const test = anyTest.serial as TestFn<Here & {there: GenericStandIn}>

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

test('a retry takes what an earlier run of its chain lost: that one’s question is answered, this one’s log begins', async t => {
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

test('another run, of another chain, knows nothing of it', async t => {
  const here = t.context
  const record = make(here)
  for (const run of [await authorise(here), await authorise(here)]) t.true(await taken(here, {run, record}))
})

test('a destination without users cannot say whose a record is: unread', async t => {
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
