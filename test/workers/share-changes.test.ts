import test, {type ExecutionContext} from 'ava'
import pg from 'pg'
import {z} from 'zod'
import type {Config} from '../../shared/config.ts'
import {openBudget, type SlotShare} from '../../shared/crm/limits/budget.ts'
import type {Log} from '../../shared/telemetry/log.ts'
import {shareChannel} from '../../sql/budgets.ts'
import {openDatabase, type Pool, sql} from '../../sql/database.ts'
import {freePort} from '../stack/port.ts'
import {createDatabase, type Database} from '../support/database.ts'
import {until} from '../support/until.ts'

// In this file, each budget represents one process.
const slots = 6
let database: Database
let db: Pool

test.before(async () => {
  database = await createDatabase('share_changes')
  db = await openDatabase(database.url)
})
test.after.always(async () => {
  await db?.end()
  await database?.drop()
})

type Context = ExecutionContext<unknown>
type ConnectionConfig = Partial<Pick<Config, 'DATABASE_URL' | 'DATABASE_DIRECT_URL'>>

/** Opens the budget of a process. `seen` counts its transactions and keeps the messages that it logs. */
const openProcess = (t: Context, connection: ConnectionConfig = {}) => {
  const seen = {renewals: 0, logged: [] as string[]}
  const counted = Object.assign(Object.create(db) as Pool, {
    transaction: (...given: Parameters<Pool['transaction']>) => {
      seen.renewals++
      return db.transaction(...given)
    },
  })
  const note = (...given: unknown[]) => void seen.logged.push(String(given.at(-1)))
  const log = {info: note, warn: note} as unknown as Log
  const config = {CRM_SLOTS: slots, DATABASE_URL: database.url, DATABASE_DIRECT_URL: undefined, ...connection}
  const budget = openBudget({db: counted, config, log})
  t.teardown(budget.close)
  return {open: budget.open, seen}
}

let lastOrg = 0
const newOrg = () => ({dc: 'us', crmOrgId: `${++lastOrg}`})
const never = new AbortController().signal
const take = (share: SlotShare, count: number) => Array.from({length: count}, () => share.large.take(never))

const countListeners = () =>
  db.oneFirst(sql.type(z.object({count: z.number()}))`
    select count(*) from pg_stat_activity where datname = current_database() and application_name = 'lading-listener'`)
const killListeners = () =>
  db.query(sql.unsafe`
    select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'lading-listener'`)

type Process = ReturnType<typeof openProcess>

/**
 * Lets one process use all slots while another wants them. Ends three calls of the first process, and returns the ms from the end of each to the
 * grant in the second.
 */
const handOver = async ([one, other]: [Process, Process]) => {
  const org = newOrg()
  const [using, waiting] = [one.open(org, 1), other.open(org, 2)]
  await Promise.all(take(using, slots))
  const grants = take(waiting, slots)
  // Waits until both shares are stored, so that the first process knows that it must return three slots.
  await until(
    () => db.anyFirst(sql.type(z.object({want: z.number()}))`select want from crm_shares where crm_org_id = ${org.crmOrgId}`),
    wants => wants.length === 2 && wants.every(want => want >= slots),
  )
  const delays: number[] = []
  for (const grant of grants.slice(0, slots / 2)) {
    const since = performance.now()
    using.large.give()
    await grant
    delays.push(performance.now() - since)
  }
  for (let n = 0; n < slots / 2; n++) using.large.give()
  await using.close()
  await Promise.all(grants)
  await waiting.close()
  return delays
}

const medianOf = (numbers: number[]) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)]!
const handOverOften = async (pair: [Process, Process]) => {
  const delays: number[] = []
  for (let round = 0; round < 4; round++) delays.push(...(await handOver(pair)))
  return medianOf(delays)
}

test.beforeEach('the listeners of the test before have ended', () => until(countListeners, count => count === 0))

/** Opens two processes that listen. */
const openListening = async (t: Context): Promise<[Process, Process]> => {
  const pair: [Process, Process] = [openProcess(t), openProcess(t)]
  for (const {open} of pair) await open(newOrg(), 9).close()
  await until(countListeners, count => count === 2)
  return pair
}

test.serial('a slot that one process returns reaches a waiting one at once', async t => {
  const median = await handOverOften(await openListening(t))
  t.log(`median ${Math.round(median)} ms`)
  t.true(median < 200, `${median} ms`)
})

test.serial('a new share gets slots that another process holds and does not use', async t => {
  const [one, other] = await openListening(t)
  const delays: number[] = []
  for (let round = 0; round < 5; round++) {
    const org = newOrg()
    const holding = one.open(org, 1)
    await Promise.all(take(holding, slots))
    for (let n = 0; n < slots; n++) holding.large.give()
    const since = performance.now()
    const wanting = other.open(org, 2)
    await Promise.all(take(wanting, 1))
    delays.push(performance.now() - since)
    await Promise.all([holding.close(), wanting.close()])
  }
  t.log(`median ${Math.round(medianOf(delays))} ms`)
  t.true(medianOf(delays) < 250, `${delays} ms`)
})

test.serial('unused shares send no notifications and are renewed every two seconds', async t => {
  const listener = new pg.Client(database.url)
  await listener.connect()
  t.teardown(() => listener.end())
  let messages = 0
  listener.on('notification', () => messages++)
  await listener.query(`listen ${shareChannel}`)

  const processes = [openProcess(t), openProcess(t), openProcess(t)]
  const org = newOrg()
  const shares = processes.map(({open}, at) => open(org, at + 1))
  for (const share of shares) take(share, slots)
  await until(
    () => messages,
    count => count > 0,
  )
  await Promise.all(shares.map(share => share.close()))

  const idle = processes.map(({open}, at) => open(org, at + 1))
  const read = () => ({messages, renewals: processes.map(({seen}) => seen.renewals)})
  let settled = read()
  /** Whether each process has renewed its share `times` times since the last notification. */
  const isQuietFor = (times: number) => {
    if (settled.messages !== messages) settled = read()
    return processes.every(({seen}, at) => seen.renewals >= settled.renewals[at]! + times)
  }
  await until(() => isQuietFor(2), Boolean)
  const [from, before] = [performance.now(), read()]
  await until(() => processes.every(({seen}, at) => seen.renewals >= before.renewals[at]! + 2), Boolean)
  const seconds = (performance.now() - from) / 1000
  const after = read()
  t.is(after.messages, before.messages)
  for (const [at, renewals] of after.renewals.entries()) {
    const count = renewals - before.renewals[at]!
    t.true(count <= seconds / 2 + 1, `${count} renewals in ${seconds} s`)
  }
  await Promise.all(idle.map(share => share.close()))
})

test.serial('a process that cannot listen polls, logs one warning, and still gets slots', async t => {
  const unreachable = {DATABASE_URL: `postgres://user@127.0.0.1:${await freePort()}/none`}
  const pair: [Process, Process] = [openProcess(t, unreachable), openProcess(t, unreachable)]
  const before = pair[0].seen.renewals
  t.true((await handOverOften(pair)) < 1_000)
  const share = pair[0].open(newOrg(), 1)
  await until(
    () => pair[0].seen.renewals,
    count => count >= before + 10,
  )
  await share.close()
  const warnings = pair.map(({seen}) => seen.logged.filter(text => text.startsWith('cannot listen')))
  t.deepEqual(
    warnings.map(({length}) => length),
    [1, 1],
  )
})

test.serial('a process that listens and one that polls share slots', async t => {
  const [listening] = await openListening(t)
  const polling = openProcess(t, {DATABASE_URL: `${database.url}?pooler=transaction`})
  t.true((await handOverOften([listening, polling])) < 1_000)
  t.true((await handOverOften([polling, listening])) < 1_000)
})

test.serial('a process whose listener is killed listens again', async t => {
  const pair = await openListening(t)
  await handOver(pair)
  await killListeners()
  await until(
    () => pair.map(({seen}) => seen.logged),
    logged => logged.every(texts => texts.some(text => text.startsWith('listening'))),
  )
  for (const {seen} of pair)
    t.deepEqual(
      seen.logged.filter(text => /listen/.test(text)),
      ['cannot listen for changes of CRM slots; polling until the connection is back', 'listening for changes of CRM slots again'],
    )
  t.true((await handOverOften(pair)) < 200)
})

test.serial('behind a pooler a process listens through the direct address only', async t => {
  const pooled = {DATABASE_URL: `${database.url}?pooler=transaction`}
  const polling = openProcess(t, pooled)
  const direct = openProcess(t, {...pooled, DATABASE_DIRECT_URL: database.url})
  for (const {open} of [polling, polling, direct]) await Promise.all(take(open(newOrg(), 1), 1))
  await until(countListeners, count => count === 1)
  t.deepEqual(polling.seen.logged, [
    'polling for changes of CRM slots, because DATABASE_URL leads through a pooler and DATABASE_DIRECT_URL is not set',
  ])
  t.deepEqual(direct.seen.logged, [])
})
