import anyTest, {type ExecutionContext, type TestFn} from 'ava'
import {sql} from '../../sql/database.ts'
import {type World, world} from '../world.ts'
import {type AccessRow, accessRows} from './fault-access-table.ts'
import {arm, assertSeen, clear} from './fault-cells.ts'
import {aimOf, ask, connectAnew, openDoors, type Place, prepare, type Request} from './fault-doors.ts'
import {declined, done, type Row} from './fault-table.ts'

/** Access that is not renewed, and the day that is spent, through every door. */
const test = anyTest.serial as TestFn<{here: World; places: Place[]}>

test.before(async t => {
  const here = await world(t, {workers: ['discovery', 'writes'], environment: {CRM_TIMEOUT_SECONDS: '2'}})
  Object.assign(t.context, {here, places: await openDoors(here)})
})
test.beforeEach(t => clear(t.context.places[0]!))

/** The accounts host cannot be asked for whom it fails: the doors take turns. */
for (const row of accessRows)
  test(row.fault, async t => {
    for (const place of t.context.places) await assertAccess(t, row, place)
  })

const assertAccess = async (t: ExecutionContext<any>, {ended, there, minted = 0, renewals, ...row}: AccessRow, place: Place) => {
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
  // A replacement goes on with its other parent where the CRM itself has answered of the first, and renews for it.
  const goesOn = place.door === 'rowsRead' && row.all !== undefined && 'relayed' in row.all
  if (!goesOn) t.is(world.crm.journal({path: '/oauth/v2/token'}).length, renewals, `${place.door}: tokens asked for`)
  await assertSeen(t, asRow, [request], [answer])
}

const mine = ({key}: Request) => sql.fragment`crm_org_id in (select crm_org_id from connectors join orgs on orgs.id = org_id where name = ${`Of ${key}`})`

test('20: the day is spent and the minute’s call is taken: nothing is sent, at any door', async t => {
  const requests = await spendDay(t.context.places)
  const row: Row = {fault: '', faults: [], all: {refused: 'DAILY_ALLOWANCE_SPENT'}}
  await assertSeen(t, row, requests, await Promise.all(requests.map(ask)))
})

test('the minute’s call is answered: it is done, and the day is there again', async t => {
  const requests = await spendDay(t.context.places)
  await nextMinute(requests)
  await assertSeen(t, {fault: '', faults: [], all: done}, requests, await Promise.all(requests.map(ask)))
})
