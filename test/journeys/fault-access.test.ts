import assert from 'node:assert/strict'
import anyTest, {type ExecutionContext, type TestFn} from 'ava'
import {sql} from '../../sql/database.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'
import {type AccessRow, accessRows} from './fault-access-table.ts'
import {arm, assertSeen, clear} from './fault-cells.ts'
import {ask, connectAnew, type FaultDoorPlace, openFaultOperations, prepare, type Request} from './fault-operations.ts'
import {declined, done, type Expected, limited, type Row, silent, spent} from './fault-table.ts'
import {expectedOf} from './fault-verdict.ts'

/** The tests run serially, because they share one stand-in. A door is one way to call the CRM. */
const test = anyTest.serial as TestFn<{here: TestDeployment; places: FaultDoorPlace[]}>

test.before(async t => {
  const here = await startTestDeployment(t, {workers: ['discovery', 'writes'], environment: {CRM_TIMEOUT_SECONDS: '4'}})
  Object.assign(t.context, {here, places: await openFaultOperations(here)})
})
test.beforeEach(t => clear(t.context.places[0]!))

/** A fault of the accounts host applies to every connection, so the doors are tested one after the other. */
for (const row of accessRows)
  test(row.fault, async t => {
    for (const place of t.context.places) await assertAccess(t, row, place)
  })

const assertAccess = async (t: ExecutionContext<any>, {ended, there, minted = 0, renewals, ...row}: AccessRow, place: FaultDoorPlace) => {
  await clear(place)
  const {world} = place
  const connector = await connectAnew(place)
  const request = await prepare(place, connector)
  await world.db.query(sql.unsafe`insert into grant_mints (connector_id) select ${connector} from generate_series(1, ${minted})`)
  if (ended) await world.db.query(sql.unsafe`update grants set access_expires_at = lading_now() where connector_id = ${connector}`)
  world.crm.clearJournal()
  const asRow: Row = {...row, faults: ended ? [] : [{action: 'expireToken'}]}
  arm(asRow, request)
  for (const action of there) world.crm.faults.add({match: {path: '/oauth/v2/token'}, action: action as never})
  const answer = await ask(request)
  t.is(world.crm.journal({path: '/oauth/v2/token'}).length, renewals, `${place.door}: tokens asked for`)
  await assertSeen(t, asRow, [request], [answer])
  await assertKept(t, request, !(row.all && 'refused' in row.all && row.all.ends))
}

/** Checks that the same request succeeds once the fault is over, unless the grant was revoked. */
const assertKept = async (t: ExecutionContext<any>, request: Request, isKept: boolean) => {
  const {world, connector, door} = request
  world.crm.faults.clear()
  await world.db.query(sql.unsafe`delete from grant_mints where connector_id = ${connector}`)
  const {status, body} = await ask(request)
  t.deepEqual([status, body.code], isKept ? [200, undefined] : [502, 'CONNECTION_UNAVAILABLE'], `${door} afterwards`)
}

/** Exhausts the quota of each door's org by one call, which is also the one call of the minute. Returns a prepared request for each door. */
const spendDay = async (places: FaultDoorPlace[]): Promise<Request[]> => {
  const requests = await Promise.all(places.map(place => prepare(place)))
  for (const {world, key, org} of requests) {
    world.crm.faults.add({match: {org: key}, action: {type: 'rateLimit', credits: 0}})
    const {status} = await org.call('GET', `/orgs/${org.org}/connectors/${org.connector}/records/Accounts/word-search?word=anybody`)
    assert.equal(status, 429)
  }
  places[0]!.world.crm.clearJournal()
  return requests
}

const nextMinute = ({db}: TestDeployment) => db.query(sql.unsafe`update crm_allowances set probe_at = probe_at - interval '61 seconds'`)

test('20: no door sends a call when the quota is exhausted and the call of the minute was made', async t => {
  const requests = await spendDay(t.context.places)
  const row: Row = {fault: '', faults: [], all: {refused: 'DAILY_ALLOWANCE_SPENT'}, does: false}
  await assertSeen(t, row, requests, await Promise.all(requests.map(ask)))
})

const both = declined('RECORD_LOCKED', 400, {part: 'item', retryable: true})
const locked: Expected = {items: [{said: both}, {said: both}]}
const denied: Expected = {relayed: declined('NO_PERMISSION', 403)}
const slowed: Expected = {relayed: limited()}
const lost: Expected = {relayed: silent(null)}
const over: Expected = {relayed: spent()}

/** Answers to the one call that a door may make in the next minute. For a replacement, this call reads the rows of the first parent. */
const minutes: Row[] = [
  {fault: 'answered: it succeeds, and the quota counts as available again', faults: [], all: done},
  {
    fault: 'answered, with every record refused: the quota counts as available again',
    faults: [{action: {type: 'refuse', index: [0, 1]}}],
    create: locked,
    update: locked,
    rows: locked,
    does: false,
  },
  {
    fault: 'declined: the quota still counts as exhausted',
    faults: [{action: {type: 'answer', status: 403, body: {code: 'NO_PERMISSION'}}}],
    create: denied,
    update: denied,
    byIds: denied,
    one: denied,
    does: false,
    spent: true,
  },
  {
    fault: 'rate-limited: the quota still counts as exhausted',
    faults: [{action: 'rateLimit'}],
    spent: true,
    does: false,
    create: slowed,
    update: slowed,
    byIds: slowed,
    one: slowed,
  },
  {
    fault: 'not answered: the quota still counts as exhausted',
    faults: [{action: 'dropAfter'}],
    spent: true,
    does: true,
    create: lost,
    update: lost,
    byIds: lost,
    one: lost,
  },
  {
    fault: 'refused for the quota again: the quota still counts as exhausted',
    faults: [{action: {type: 'rateLimit', credits: 0}}],
    create: over,
    update: over,
    rowsRead: over,
    byIds: over,
    one: over,
    does: false,
  },
]

for (const row of minutes)
  test(`a door's single call per minute is ${row.fault}`, async t => {
    const requests = (await spendDay(t.context.places)).filter(({door}) => expectedOf(row, door))
    await nextMinute(t.context.here)
    for (const request of requests) arm(row, request)
    await assertSeen(t, row, requests, await Promise.all(requests.map(ask)))
  })
