import test, {type ExecutionContext} from 'ava'
import {z} from 'zod'
import {sql} from '../../sql/database.ts'
import {startWorkers} from '../../workers/start.ts'
import {accountRows, accounts, ok, openOrg, prepareImport, untilEnded} from '../support/importing.ts'
import {assertAccounted, assertOnce} from '../support/oracle.ts'
import {openPostgresProxy} from '../support/postgres-proxy.ts'
import {startTestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'

let here: Awaited<ReturnType<typeof startTestDeployment>>
let org: Awaited<ReturnType<typeof openOrg>>

test.before(async t => {
  here = await startTestDeployment(t, {
    workers: ['discovery'],
    environment: {LEASE_SECONDS: '3', CRM_TIMEOUT_SECONDS: '5', CRM_SLOTS: String(slots)},
  })
  org = await openOrg(here)
})

const rows = 600
const slots = 5

/** Queues a run of rows with unique numbers. `work` starts workers behind a separate proxy. */
const begin = async (t: ExecutionContext, prefix: string, {flow = accounts as object, count = rows} = {}) => {
  const proxy = await openPostgresProxy(here.config.DATABASE_URL!)
  const {path} = await prepareImport(org, {csv: accountRows(count, prefix), flow})
  const {run} = await ok(org.call('POST', `${path}/runs`, {}), 202)
  const work = async () => {
    const workers = await startWorkers(['imports'], {...here.config, DATABASE_URL: proxy.url})
    t.teardown(async () => {
      proxy.restore()
      await workers.stop()
      await proxy.close()
    })
  }
  const end = async () => {
    const ended = await untilEnded(org.call, `${path}/runs/${run.id}`)
    return {run: ended, ...(await assertAccounted(here, {org, path, run: ended, rows: count}))}
  }
  return {id: run.id as string, proxy, work, end}
}

const fenceOf = (id: string) =>
  here.db.oneFirst(sql.type(z.object({fence: z.number()}))`select fence from run_heads join runs using (run_no) where id = ${id}`)

type Loss = [string, Parameters<Awaited<ReturnType<typeof openPostgresProxy>>['lose']>[1]?]
const losses: [string, Loss[]][] = [
  ['the answers to intents', [['admit', {nth: 2, times: 2}]]],
  ['intents before they reach Postgres', [['admit', {nth: 2, times: 2, when: 'before'}]]],
  ['the answers to settlements', [['settle', {nth: 2, times: 2}]]],
  ['settlements before they reach Postgres', [['settle', {nth: 1, times: 2, when: 'before'}]]],
  [
    'the answer to an intent and the lookups after it',
    [
      ['admit', {nth: 2}],
      ['find-send', {times: 3, when: 'before'}],
    ],
  ],
  ['answers of every kind', [['admit', {nth: 3}], ['settle', {nth: 2}], ['renew-lease']]],
]

for (const [at, [what, statements]] of losses.entries()) {
  test.serial(`every row is sent, written and logged once when the connection to Postgres loses ${what}`, async t => {
    const {id, proxy, work, end} = await begin(t, `W${at}-`)
    for (const [statement, loss] of statements) proxy.lose(statement, loss)
    await work()
    const {outcomes, finals, log, run} = await end()
    t.true(proxy.lost(statements[0]![0]) > 0)
    t.deepEqual(outcomes, {created: rows})
    t.is(log.length, rows, 'nothing was taken for unanswered')
    t.is(run.rowsWritten, rows)
    assertOnce(here.crm, `W${at}-`, finals)
    t.is(await fenceOf(id), 1)
  })
}

test.serial('a lost query for inherited rows costs an attempt of the run, and no row', async t => {
  const {proxy, work, end} = await begin(t, 'Wf-')
  proxy.lose('find-matches', {nth: 2})
  await work()
  const {outcomes, finals} = await end()
  t.is(proxy.lost('find-matches'), 1)
  t.deepEqual(outcomes, {created: rows})
  assertOnce(here.crm, 'Wf-', finals)
})

test.serial("a batch that cannot be sent because the connection's tokens cannot be read is put back, not unanswered", async t => {
  const {proxy, work, end} = await begin(t, 'Wg-', {
    flow: {module: 'Accounts', fields: [{field: 'Account_Name', mode: 'column', source: 'number'}]},
  })
  here.crm.faults.add({match: {method: 'POST', path: '/crm/v8/Accounts', nth: 2}, times: 1, action: 'expireToken'})
  proxy.lose('from grants where', {nth: 2, times: 4, when: 'before'})
  await work()
  const {outcomes, log} = await end()
  t.true(proxy.lost('from grants where') > 0)
  t.deepEqual([outcomes, log.length], [{created: rows}, rows])
})

test.serial('an intent that is committed while its statement is repeated is kept once', async t => {
  const count = 2_000
  const {id, proxy, work, end} = await begin(t, 'Wt-', {flow: {...accounts, match: undefined}, count})
  here.crm.faults.add({match: {method: 'POST', path: '/crm/v8/Accounts'}, times: slots, action: {type: 'hold', when: 'after'}})
  await work()
  await until(here.crm.held, held => held === slots)
  // The five batches that are next to get a slot store their intents ahead.
  await until(
    () => intentsStored(id),
    stored => stored === slots + 5,
  )
  const lock = await here.hot.connect()
  await lock.query('begin')
  await lock.query('select from run_heads join runs using (run_no) where id = $1 for update of run_heads', [id])
  here.crm.release(1)
  await until(intentsWaiting, count => count === 1)
  // The connection of the client is cut, while the statement still waits on the server.
  proxy.sever('admit')
  await until(intentsWaiting, count => count === 2)
  await lock.query('commit')
  lock.release()
  here.crm.release()
  const {outcomes, log} = await end()
  t.deepEqual([outcomes, log.length], [{created: count}, count])
})

const intentsStored = (id: string) =>
  here.db.oneFirst(
    sql.type(z.object({stored: z.number()}))`select count(*)::int as stored from sends join runs using (run_no) where id = ${id}`,
  )

const intentsWaiting = async () => {
  const {rows} = await here.hot.query(
    `select from pg_stat_activity where wait_event_type = 'Lock' and query like 'with gate as (select is_packed%' and datname = current_database()`,
  )
  return rows.length
}
