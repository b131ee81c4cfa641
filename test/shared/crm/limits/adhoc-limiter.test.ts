import anyTest, {type TestFn} from 'ava'
import {z} from 'zod'
import type {Connection} from '../../../../shared/crm/crm.ts'
import {openAdhocLimiter} from '../../../../shared/crm/limits/adhoc-limiter.ts'
import type {SlotShare} from '../../../../shared/crm/limits/budget.ts'
import {sql} from '../../../../sql/database.ts'
import {until} from '../../../support/until.ts'
import {type CrmPlace, place} from '../crm-fixture.ts'

/** The tests run serially, because they share one stand-in and one budget. */
const test = anyTest.serial as TestFn<{place: CrmPlace; id: string; connection: Connection}>
const slots = 4
const crmOrg = {dc: 'local', crmOrgId: 'example'}

anyTest.before(async t => {
  const context = t.context as {place: CrmPlace; id: string; connection: Connection}
  context.place = await place(t, {environment: {CRM_SLOTS: String(slots)}})
  context.id = await context.place.connect()
  context.connection = await context.place.crm.open(context.id)
})
anyTest.afterEach.always(t => {
  const {place} = t.context as {place: CrmPlace}
  place.standIn.clear()
  place.standIn.setSwitches({latencyMs: 0})
  place.standIn.setConcurrency('example', null)
})

const never = new AbortController().signal

/** Starts a run that uses every slot. Returns functions to give one slot back and to end the run. */
const fill = async ({budget}: CrmPlace, run: number) => {
  const share = budget.open(crmOrg, run)
  let held = 0
  const gone = new AbortController()
  for (let n = 0; n < slots; n++) {
    share.large.take(gone.signal).then(
      () => held++,
      () => {},
    )
  }
  await until(
    () => held,
    count => count === slots,
  )
  const give = () => {
    held--
    share.large.give()
  }
  const end = async () => {
    gone.abort()
    while (held) give()
    await share.close()
  }
  return {give, end}
}

const read = (connection: Connection, signal?: AbortSignal) =>
  connection.readRecords({module: 'Leads', ids: ['1'], fields: ['Last_Name']}, signal && {signal})

const refused = ({standIn}: CrmPlace) => standIn.journal().filter(({status}) => status === 429).length

const Shares = z.object({shares: z.number(), want: z.number()})
const readShares = ({db}: CrmPlace) =>
  db.one(
    sql.type(
      Shares,
    )`select count(*) as shares, coalesce(sum(want), 0) as want from crm_shares where run_no is null and until > lading_now()`,
  )

test('an ad-hoc read waits until the runs leave a slot, and is then sent', async t => {
  const {place, connection} = t.context
  const run = await fill(place, 1)
  const reading = read(connection)
  await until(
    () => readShares(place),
    ({want}) => want === 1,
  )
  t.is(place.standIn.journal().length, 0)
  run.give()
  t.deepEqual(await reading, [])
  t.is(place.standIn.journal().length, 1)
  await run.end()
})

test('a cancelled call that waits for a slot is refused, and nothing is sent', async t => {
  const {place, connection} = t.context
  const run = await fill(place, 1)
  const gone = new AbortController()
  const reading = read(connection, gone.signal)
  const writing = connection.createRecords('Leads', [{Last_Name: 'One'}], {signal: gone.signal})
  await until(
    () => readShares(place),
    ({want}) => want === 2,
  )
  gone.abort()
  await t.throwsAsync(reading, {name: 'Refusal', message: /cancelled/})
  t.like((await writing).results, [{ok: false, sent: false, refusal: {code: 'UNAVAILABLE'}}])
  t.is(place.standIn.journal().length, 0)
  await run.end()
})

test('waiting for a slot ends after its timeout', async t => {
  const {place} = t.context
  const run = await fill(place, 1)
  const guests = openAdhocLimiter(place.budget, {waitSeconds: 0.2})
  await t.throwsAsync(guests.limiterOf(crmOrg).enter({large: false, signal: undefined}), {name: 'Refusal', message: /Try again/})
  await guests.close()
  await run.end()
})

test('a connection opened with its own slots takes none of the ad-hoc ones', async t => {
  const {place, id} = t.context
  const run = await fill(place, 1)
  t.deepEqual(await read(await place.crm.open(id, {slots: 'own'})), [])
  await run.end()
})

test('concurrent reads of two processes never exceed the concurrency of the CRM', async t => {
  const {place, id, connection} = t.context
  const other = await (await place.openAnother()).open(id)
  place.standIn.setConcurrency('example', slots)
  place.standIn.setSwitches({latencyMs: 20})
  const reads = Array.from({length: 60}, (_, n) => read(n % 2 ? connection : other))
  for (const records of await Promise.all(reads)) t.deepEqual(records, [])
  t.is(refused(place), 0)
  t.is(place.standIn.inFlightPeak('example'), slots)
})

test('queries and writes of more than ten records are large calls, limited to ten at once', async t => {
  const {place} = t.context
  await place.db.query(sql.unsafe`
    insert into crm_allowances (dc, crm_org_id, edition) values ('local', 'example', 'enterprise')
    on conflict (dc, crm_org_id) do update set edition = excluded.edition`)
  const twenty = await place.openAnother({config: {CRM_SLOTS: 20}})
  // Other processes keep their recent demand for a moment, so the test waits until no process wants a slot.
  await until(
    () => readShares(place),
    ({want}) => want === 0,
  )
  const {createRecords, findRecords} = await twenty.open(t.context.id)
  place.standIn.setSwitches({latencyMs: 300})
  place.standIn.create('example', 'Leads', [{Last_Name: 'One'}])
  const query = {module: 'Leads', field: 'Last_Name', values: ['One'], fields: []}
  const batch = (count: number) => Array.from({length: count}, (_, n) => ({Last_Name: `One ${n}`}))
  const answers = await Promise.all(
    Array.from({length: 24}, async (_, n) =>
      n % 2 ? (await findRecords(query)).records : (await createRecords('Leads', batch(11), {})).results,
    ),
  )
  t.is(answers.length, 24)
  t.is(refused(place), 0)
  const large = place.standIn.inFlightPeak('example')
  t.true(large > 5 && large <= 10, `${large} large calls at once`)
  place.standIn.clear()
  await Promise.all(Array.from({length: 40}, () => createRecords('Leads', batch(10), {})))
  t.is(refused(place), 0)
  const small = place.standIn.inFlightPeak('example')
  t.true(small > 10 && small <= 20, `${small} calls at once`)
  // Otherwise the other process would keep raising the budget to its own cap.
  await twenty.close()
  await place.db.query(sql.unsafe`delete from crm_allowances`)
})

test('a call refused for too much concurrency cuts the budget of all processes', async t => {
  const {place, connection} = t.context
  await read(connection)
  const total = () => place.db.oneFirst(sql.type(z.object({total: z.number()}))`select total from crm_budgets`)
  const before = await total()
  place.standIn.faults.add({action: {type: 'rateLimit'}})
  await t.throwsAsync(read(connection), {name: 'CrmError', message: 'The CRM limits the rate of calls. Try again later'})
  t.is(await total(), Math.floor(0.7 * before))
})

test('a process has one ad-hoc share, and returns it after a while without use', async t => {
  const {place} = t.context
  const opened: SlotShare[] = []
  const counting = {
    ...place.budget,
    open: (...asked: Parameters<typeof place.budget.open>) => {
      const share = place.budget.open(...asked)
      opened.push(share)
      return share
    },
  }
  const guests = openAdhocLimiter(counting, {idleMs: 100})
  const elsewhere = guests.limiterOf({dc: 'local', crmOrgId: 'other'})
  const [one, two] = await Promise.all([1, 2].map(() => elsewhere.enter({large: false, signal: never})))
  const Count = z.object({count: z.number()})
  const others = () => place.db.oneFirst(sql.type(Count)`select count(*) from crm_shares where crm_org_id = 'other'`)
  t.is(opened.length, 1)
  t.is(await others(), 1)
  one!.leave()
  two!.leave()
  await until(others, count => count === 0)
  const again = await elsewhere.enter({large: true, signal: never})
  t.is(opened.length, 2)
  const closing = guests.close()
  again.leave()
  await closing
  t.is(await others(), 0)
  await t.throwsAsync(elsewhere.enter({large: false, signal: never}), {name: 'Refusal'})
})
