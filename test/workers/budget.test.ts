import type {ChildProcess} from 'node:child_process'
import {setTimeout as sleep} from 'node:timers/promises'
import test from 'ava'
import {z} from 'zod'
import {openBudget, type SlotShare} from '../../shared/crm/limits/budget.ts'
import {insertShares, lockBudget} from '../../sql/budgets.ts'
import {sql} from '../../sql/database.ts'
import {accountRows, accounts, ok, openOrg, prepareImport, untilEnded, untilRun} from '../support/importing.ts'
import {assertAccounted, assertOnce} from '../support/oracle.ts'
import {startTestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'
import {endWorker, startWorker} from '../support/worker-process.ts'

let here: Awaited<ReturnType<typeof startTestDeployment>>
let org: Awaited<ReturnType<typeof openOrg>>
const started: ChildProcess[] = []
const slots = 6

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['discovery'], environment: {CRM_SLOTS: String(slots)}})
  org = await openOrg(here)
})

test.afterEach.always(async () => {
  await Promise.all(started.splice(0).map(endWorker))
  here.crm.faults.clear()
  here.crm.setConcurrency('example', null)
  here.crm.setSwitches({latencyMs: 0})
  await here.db.query(sql.unsafe`delete from crm_budgets`)
})

const work = (environment: Record<string, string> = {}) => {
  const worker = startWorker(here.config, {CRM_SLOTS: String(slots), ...environment})
  started.push(worker)
  return worker
}

const begin = async (prefix: string, rows: number) => {
  const {path} = await prepareImport(org, {csv: accountRows(rows, prefix), flow: accounts})
  const {run} = await ok(org.call('POST', `${path}/runs`, {}), 202)
  const runPath = `${path}/runs/${run.id}`
  const end = async () => {
    const ended = await untilEnded(org.call, runPath)
    const {finals, outcomes} = await assertAccounted(here, {org, path, run: ended, rows})
    assertOnce(here.crm, prefix, finals)
    return {ended, outcomes}
  }
  return {runPath, end}
}

const refused = () => here.crm.journal({path: '/crm/v8/'}).filter(({status}) => status === 429).length

const Held = z.object({holders: z.number(), shares: z.number(), got: z.number()})
const readHeld = () =>
  here.db.one(sql.type(Held)`
    select count(distinct holder) as holders, count(*) as shares, coalesce(sum(got), 0) as got from crm_shares where until > lading_now()`)

/** Polls the shares. The returned function stops polling and returns the most slots held at once. */
const watchHeld = () => {
  let most = 0
  let going = true
  const watching = (async () => {
    for (; going; await sleep(5)) most = Math.max(most, (await readHeld()).got)
  })()
  return async () => {
    going = false
    await watching
    return most
  }
}

test.serial("two processes share one org's slots: never more calls in flight than the pool has, no 429, and neither starves", async t => {
  here.crm.setConcurrency('example', slots)
  here.crm.setSwitches({latencyMs: 300})
  here.crm.clearJournal()
  const stopWatching = watchHeld()
  const runs = [await begin('S1-', 3_000), await begin('S2-', 3_000)]
  const alone = {IMPORTS_PER_WORKER: '1'}
  work(alone)
  work(alone)
  await until(readHeld, held => held.holders === 2 && held.got === slots)
  for (const {end} of runs) t.deepEqual((await end()).outcomes, {created: 3_000})
  t.is(await stopWatching(), slots)
  t.is(here.crm.inFlightPeak('example'), slots)
  t.is(refused(), 0)
})

test.serial('a run of fifty rows beside a large run finishes quickly', async t => {
  here.crm.setConcurrency('example', slots)
  here.crm.setSwitches({latencyMs: 400})
  here.crm.clearJournal()
  const large = await begin('L-', 10_000)
  work()
  await untilRun(org.call, large.runPath, run => run.progress.done >= 100)
  const small = await begin('F-', 50)
  const startedAt = performance.now()
  t.deepEqual((await small.end()).outcomes, {created: 50})
  t.true(performance.now() - startedAt < 15_000)
  t.is(refused(), 0)
  t.is((await ok(org.call('GET', large.runPath), 200)).run.state, 'writing')
  here.crm.setSwitches({latencyMs: 0})
  await large.end()
})

test.serial('API reads beside a run at full load count against the slot pool and get their turn', async t => {
  here.crm.setConcurrency('example', slots)
  here.crm.setSwitches({latencyMs: 150})
  here.crm.clearJournal()
  const {runPath, end} = await begin('R-', 20_000)
  work()
  await untilRun(org.call, runPath, run => run.progress.done >= 100)
  const lane = async () => {
    let longest = 0
    for (let n = 0; n < 8; n++) {
      const since = performance.now()
      await ok(org.call('GET', `/orgs/${org.org}/connectors/${org.connector}/records/Accounts/by-ids?ids=1&fields=Account_Name`), 200)
      longest = Math.max(longest, performance.now() - since)
    }
    return longest
  }
  const longest = Math.max(...(await Promise.all([lane(), lane(), lane()])))
  t.is((await ok(org.call('GET', runPath), 200)).run.state, 'writing')
  t.true(longest < 5_000, `${longest} ms`)
  here.crm.setSwitches({latencyMs: 0})
  t.deepEqual((await end()).outcomes, {created: 20_000})
  t.is(here.crm.inFlightPeak('example'), slots)
  t.is(refused(), 0)
})

test.serial('a CRM that allows fewer concurrent calls than configured slows the run down, and no row is lost', async t => {
  here.crm.setConcurrency('example', 2)
  here.crm.setSwitches({latencyMs: 50})
  here.crm.clearJournal()
  const {end} = await begin('C-', 1_000)
  work()
  t.deepEqual((await end()).outcomes, {created: 1_000})
  t.true(refused() > 0)
  const total = await here.db.oneFirst(sql.type(z.object({total: z.number()}))`select total from crm_budgets`)
  t.true(total < slots, `${total}`)
})

const never = new AbortController().signal
const place = {dc: 'us', crmOrgId: '900'}

/** Opens a holder with a separate budget, like another process. */
const openHolder = (t: {teardown(end: () => Promise<void>): void}, cap = slots) => {
  const budget = openBudget({...here.tools, config: {...here.config, CRM_SLOTS: cap}})
  t.teardown(budget.close)
  return budget
}

/** Takes `count` large slots and never gives them back. The returned function returns how many were granted so far. */
const occupy = (share: SlotShare, count: number, signal = never) => {
  let has = 0
  for (let n = 0; n < count; n++)
    share.large.take(signal).then(
      () => has++,
      () => {},
    )
  return () => has
}

test.serial('a slot that is reclaimed is granted to another run only when its call has ended', async t => {
  const [one, other] = [openHolder(t).open(place, 1), openHolder(t).open(place, 2)]
  const has = occupy(one, slots)
  await until(has, count => count === slots)
  const otherHas = occupy(other, slots)
  const gone = new AbortController()
  occupy(one, 20, gone.signal)
  await until(
    () => here.db.anyFirst(sql.type(z.object({want: z.number()}))`select want from crm_shares where dc = 'us' order by run_no`),
    wants => wants.length === 2 && wants[0]! > slots,
  )
  t.deepEqual([has(), otherHas(), (await readHeld()).got], [slots, 0, slots])
  one.large.give()
  await until(otherHas, count => count === 1)
  t.is((await readHeld()).got, slots)
  for (let n = 1; n < slots; n++) one.large.give()
  await until(otherHas, count => count === slots / 2)
  t.is((await readHeld()).got, slots)
  gone.abort()
  await other.close()
})

test.serial('the slots of a dead process are granted to others once its share expires', async t => {
  const dead = {holder: 'dead', share: 1, run: 1, want: 25, wantLarge: 25, got: slots - 1, gotLarge: slots - 1, inUse: slots - 1}
  await here.db.transaction(async tx => {
    await lockBudget(tx, place, slots)
    await insertShares(tx, place, [dead])
  })
  const has = occupy(openHolder(t).open(place, 2), slots)
  await until(has, count => count === 1)
  t.is((await readHeld()).got, slots)
  await here.ahead('15 seconds')
  await until(has, count => count === slots)
})

test.serial('a run that is taken over keeps its share of slots, although its previous owner died', async t => {
  const dead = openHolder(t)
  await until(occupy(dead.open(place, 1), slots), count => count === slots)
  await dead.close()
  await until(occupy(openHolder(t).open(place, 1), slots), count => count === slots)
  t.is(await here.db.oneFirst(sql.type(Held.pick({shares: true}))`select count(*) as shares from crm_shares where run_no = 1`), 1)
})

test.serial('a run that ends gives its slots back at once', async t => {
  const budget = openHolder(t)
  const ending = budget.open(place, 1)
  await until(occupy(ending, slots), count => count === slots)
  const has = occupy(openHolder(t).open(place, 2), slots)
  for (let n = 0; n < slots; n++) ending.large.give()
  await ending.close()
  const since = performance.now()
  await until(has, count => count === slots)
  t.true(performance.now() - since < 10_000)
  t.is((await readHeld()).shares, 1)
})

/** Makes calls of 20 ms on all slots. `inFlight` returns the number of current calls, and `end` stops all of them. */
const churn = (share: SlotShare) => {
  const gone = new AbortController()
  let inFlight = 0
  const lane = async () => {
    while (!gone.signal.aborted) {
      await share.large.take(gone.signal)
      inFlight++
      await sleep(20)
      inFlight--
      share.large.give()
    }
  }
  const lanes = Array.from({length: slots}, () => lane().catch(() => {}))
  const end = async () => {
    gone.abort(new Error('over'))
    await Promise.all(lanes)
  }
  return {inFlight: () => inFlight, end}
}

test.serial('refusals by the CRM cut the slot pool once for all processes, and the pool grows back', async t => {
  const shares = [openHolder(t).open(place, 1), openHolder(t).open(place, 2)]
  const churns = shares.map(churn)
  const inFlight = () => churns.reduce((sum, one) => sum + one.inFlight(), 0)
  await until(inFlight, count => count === slots)
  await Promise.all([...shares, ...shares].map(({cut}) => cut()))
  await until(readHeld, ({got}) => got === 4)
  await until(inFlight, count => count === 4)
  await here.ahead('1 minute')
  await until(inFlight, count => count === slots)
  await Promise.all(churns.map(({end}) => end()))
  t.is(inFlight(), 0)
})

test.serial('every run gets its turn when there are fewer slots than runs', async t => {
  const churns = [1, 2, 3].map(run => churn(openHolder(t, 1).open(place, run)))
  const seen = new Set<number>()
  let most = 0
  const look = () => {
    for (const [at, one] of churns.entries()) if (one.inFlight()) seen.add(at)
    most = Math.max(
      most,
      churns.reduce((sum, one) => sum + one.inFlight(), 0),
    )
    return seen.size
  }
  await until(look, count => count === 3)
  await Promise.all(churns.map(({end}) => end()))
  t.is(most, 1)
})

test.serial('the concurrency limit of the CRM edition caps the slots where the edition is known', async t => {
  await here.db.query(sql.unsafe`insert into crm_allowances (dc, crm_org_id, edition) values ('us', '900', 'Enterprise')`)
  const share = openHolder(t).open(place, 1)
  const has = occupy(share, 25)
  await until(has, count => count === 10)
  let small = 0
  for (let n = 0; n < 25; n++) share.small.take(never).then(() => small++)
  await until(
    () => small,
    count => count === 10,
  )
  t.is(has(), 10, 'ten of the twenty may be large')
})
