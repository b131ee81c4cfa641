import anyTest, {type TestFn} from 'ava'
import {z} from 'zod'
import {sql} from '../../sql/database.ts'
import {ok} from '../support/importing.ts'
import {callsOf, type ExternalEngine, nameless, openExternalEngine, row, rowsOf} from '../support/record-writes.ts'
import {until} from '../support/until.ts'

/** The tests run serially, because they share one clock. */
const test = anyTest.serial as TestFn<ExternalEngine>

test.before(async t => {
  const {house, org} = await openExternalEngine(t, {environment: {CRM_TIMEOUT_SECONDS: '2', LEASE_SECONDS: '1'}})
  // A session would expire within the day.
  const {secret} = await ok(org.call('POST', `/orgs/${org.org}/tokens`, {name: 'script'}), 201)
  Object.assign(t.context, callsOf(house, {...org, call: house.as(secret)}))
})
test.beforeEach(async ({context: {house}}) => {
  house.crm.clear()
  await house.ahead('0 seconds')
})

const Left = z.object({admissions: z.number(), released: z.number(), takes: z.number(), writes: z.number(), items: z.number()})

const leftOf = ({house: {db}}: ExternalEngine, run: string) =>
  db.one(sql.type(Left)`
    select (select count(*) from admissions a where a.run_no = r.run_no) as admissions,
      (select count(*) from released_attempts a where a.run_no = r.run_no) as released,
      (select count(*) from takes a where a.run_no = r.run_no) as takes, (select count(*) from writes a where a.run_no = r.run_no) as writes,
      (select count(*) from write_items a where a.run_no = r.run_no) as items
    from runs r where id = ${run}`)

test('an external run that was idle for a day is ended and releases its import, and a younger one is not', async t => {
  const here = t.context
  const {path} = await here.makeImport()
  const idle = await here.authorise(10, {importId: path.split('/').at(-1)!})
  await ok(here.tell(idle, 'lease'), 200)
  await here.house.ahead('20 hours')
  const busy = await here.authorise()
  await ok(here.create(busy, [row('busy')]), 200)
  await here.house.ahead('24 hours 3 minutes')
  await until(
    () => here.read(idle),
    ({state}) => state === 'ended',
  )
  t.is((await ok(here.org.call('GET', path), 200)).import.state, 'done')
  t.is((await here.read(busy)).state, 'writing')
})

test('writing state is deleted with its run, while the log stays and the writes are kept for a week', async t => {
  const here = t.context
  const run = await here.authorise()
  await ok(here.create(run, [...rowsOf(30, 'left-'), nameless('left-no')]), 200)
  t.deepEqual(await leftOf(here, run), {admissions: 30, released: 1, takes: 0, writes: 1, items: 31})
  await ok(here.tell(run, 'progress', {done: true}), 200)
  const gone = {admissions: 0, released: 0, takes: 0}
  await until(
    () => leftOf(here, run),
    left => left.admissions + left.released === 0,
  )
  t.like(await leftOf(here, run), {...gone, writes: 1, items: 31})
  await here.house.ahead('6 days')
  const other = await here.authorise()
  await ok(here.create(other, [row('other')]), 200)
  await ok(here.tell(other, 'progress', {done: true}), 200)
  await until(
    () => leftOf(here, other),
    left => left.admissions === 0,
  )
  t.is((await leftOf(here, run)).writes, 1)
  await here.house.ahead('7 days 1 hour')
  await until(
    () => leftOf(here, run),
    left => left.writes === 0,
  )
  t.deepEqual(await leftOf(here, run), {...gone, writes: 0, items: 0})
  t.is((await leftOf(here, other)).writes, 1)
  t.is((await here.log(run)).length, 31)
  t.like(await here.read(run), {rowsWritten: 30, counts: {Accounts: {created: 30, refused: 1}}})
})

test('a run that cannot be swept does not stop the sweep of other runs', async t => {
  const here = t.context
  const {db} = here.house
  const [broken, sound] = [await here.authorise(), await here.authorise()]
  for (const run of [broken, sound]) await ok(here.create(run, [row(`at ${run}`)]), 200)
  const leave = (run: string, write: string | null) =>
    db.query(sql.unsafe`
      insert into sends (run_no, batch_no, fence, flow_no, module_no, kind, row_keys, row_numbers, attempts, targets, witness, fresh, write,
        item_ats, sent_at, deadline_at)
      select run_no, 99, 1, 0, 1, 0, array[${`lost ${run}`}], array[null::int8], array[1::int2], array[null], array[true], array[false],
        ${write}, array[0::int2], lading_now(), lading_now() - interval '1 second' from runs where id = ${run}`)
  const write = await db.oneFirst(
    sql.type(z.object({id: z.string()}))`select w.id from writes w join runs r using (run_no) where r.id = ${sound}`,
  )
  // A batch of an external run always belongs to a write request. This batch does not, so the sweep fails on it.
  await leave(broken, null)
  await leave(sound, write)
  await until(
    () => here.log(sound),
    log => log.some(({outcome}) => outcome === 'unanswered'),
  )
  t.is((await here.log(broken)).length, 1)
  await db.query(sql.unsafe`delete from sends where write is null`)
})
