import test from 'ava'
import {z} from 'zod'
import {openCrm} from '../../shared/crm/crm.ts'
import {openBudget} from '../../shared/crm/limits/budget.ts'
import {runImport as importJob} from '../../shared/jobs.ts'
import {enqueue} from '../../shared/queue.ts'
import {endConnector} from '../../sql/connectors.ts'
import {sql} from '../../sql/database.ts'
import {executeRun} from '../../workers/engine/run.ts'
import {accountRows, accounts, ok, openOrg, prepareImport, runImport, untilEnded, untilRun} from '../support/importing.ts'
import {assertAccounted, assertOnce, countBy} from '../support/oracle.ts'
import {startTestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'

let here: Awaited<ReturnType<typeof startTestDeployment>>
let org: Awaited<ReturnType<typeof openOrg>>

test.before(async t => {
  here = await startTestDeployment(t, {
    workers: ['imports', 'discovery'],
    environment: {LEASE_SECONDS: '1.5', CRM_TIMEOUT_SECONDS: '5', CRM_SLOTS: '2'},
  })
  org = await openOrg(here)
})
test.afterEach.always(() => {
  here.crm.release()
  here.crm.faults.clear()
})

const creates = {method: 'POST', path: '/crm/v8/Accounts'}
const queries = {method: 'POST', path: '/crm/v8/coql'}
/** Matches every read of a record except the first, which reads the newest record of the module. */
const reads = {method: 'GET', path: '/crm/v8/Accounts', nth: 2}
/** A flow without matching, so that a run queries nothing before it writes. */
const unmatched = {...accounts, match: undefined}

const fail = (...faults: object[]) => {
  for (const fault of faults) here.crm.faults.add(fault as never)
}

/** Starts a run of `count` rows with unique numbers. */
const begin = async (prefix: string, {count = 300, flow = unmatched as object, start = {}} = {}) => {
  const {path} = await prepareImport(org, {csv: accountRows(count, prefix), flow})
  const {run} = await ok(org.call('POST', `${path}/runs`, start), 202)
  const runPath = `${path}/runs/${run.id as string}`
  const end = async () => {
    const run = await untilEnded(org.call, runPath)
    return {run, ...(await assertAccounted(here, {org, path, run, rows: count}))}
  }
  return {path, runPath, id: run.id as string, end}
}

const Head = z.object({
  fence: z.number(),
  owner: z.string().nullable(),
  takeovers: z.number(),
  sends: z.number(),
  endedAt: z.string().nullable(),
})
const headOf = (id: string) =>
  here.db.one(sql.type(Head)`
    select fence, owner, takeovers, (select count(*) from sends where sends.run_no = h.run_no) as sends, ended_at as "endedAt"
    from run_heads h join runs using (run_no) where id = ${id}`)

const untilPaused = (runPath: string) => untilRun(org.call, runPath, run => run.state === 'paused')

/** How often `passMinute` has advanced the clocks of the service and of the CRM, each time by 61 seconds. */
let minutes = 0
const passMinute = async () => {
  here.crm.clock.advance(61_000)
  await here.ahead(`${++minutes * 61} seconds`)
}

test.serial('rows that wait at the row limit leave the slots to batches in flight', async t => {
  fail({match: creates, times: 2, action: {type: 'rateLimit', retryAfter: 1}})
  const {outcomes, run} = await (await begin('Li-', {count: 900, start: {declaredRows: 150}})).end()
  t.deepEqual(outcomes, {created: 150})
  t.like(run.stop, {stopped: 'LIMIT_ROWS_PER_RUN', rowsWrittenTotal: 150})
})

test.serial('refused rows free room: a run writes exactly as many rows as it may', async t => {
  fail({match: creates, times: 100, action: {type: 'refuse', index: [3, 17, 40, 41, 66, 80, 99], code: 'INVALID_DATA'}})
  const {outcomes, run} = await (await begin('Ex-', {count: 2_000, start: {declaredRows: 1_050}})).end()
  t.is(outcomes.created, 1_050)
  t.is(run.rowsWritten, 1_050)
})

test.serial('unanswered rows are sent again before the run stops at its limit', async t => {
  fail({match: creates, times: 1, action: 'dropAfter'})
  const {outcomes, finals} = await (await begin('Re-', {count: 600, start: {declaredRows: 250}})).end()
  t.deepEqual(outcomes, {created: 250})
  assertOnce(here.crm, 'Re-', finals)
})

test.serial('a row refused after an unanswered attempt stays counted, and its results say that it may exist', async t => {
  fail(
    {match: creates, times: 1, action: 'dropAfter'},
    {match: creates, times: 1, action: {type: 'refuse', index: [0, 1], code: 'NOT_ALLOWED'}},
  )
  const begun = await begin('Di-', {count: 100})
  const {outcomes, run} = await begun.end()
  t.deepEqual(outcomes, {created: 98, refused: 2})
  t.is(run.rowsWritten, 100)
  const {text} = await org.call('GET', `${begun.path}/results.csv?run=${begun.id}`)
  t.is(text.split('may exist already').length - 1, 2)
  t.false(text.includes('may exist twice'), 'the field is unique')
})

test.serial('a run that pauses while it looks up lost records leaves no batch open and finds them later', async t => {
  fail({match: creates, times: 1, action: 'dropAfter'}, {match: reads, times: 1, action: {type: 'rateLimit', retryAfter: 50}})
  const begun = await begin('Pa-', {count: 100})
  t.is((await untilPaused(begun.runPath)).pause.code, 'RATE_LIMITED')
  t.is((await headOf(begun.id)).sends, 0)
  await passMinute()
  const {outcomes, finals, log} = await begun.end()
  t.deepEqual(outcomes, {created: 100})
  t.true([...finals.values()].every(({code}) => code === 'MADE_EARLIER'))
  t.deepEqual(
    countBy(log, ({outcome}) => outcome),
    {unanswered: 200, refused: 100, created: 100},
  )
  assertOnce(here.crm, 'Pa-', finals)
})

test.serial('a run that may not look up its lost records ends with an outcome for every row', async t => {
  fail(
    {match: creates, times: 1, action: 'dropAfter'},
    {match: reads, times: 10, action: {type: 'answer', status: 403, body: {code: 'NO_PERMISSION', status: 'error'}}},
  )
  const {outcomes, run} = await (await begin('No-', {count: 100})).end()
  t.is(run.stop.stopped, 'CRM_REFUSED')
  t.deepEqual(outcomes, {unanswered: 100})
  t.is(run.rowsWritten, 100)
})

test.serial('a run that only waits for the CRM is not counted as a failed takeover', async t => {
  fail({match: queries, times: 2, action: {type: 'rateLimit', retryAfter: 50}})
  const begun = await begin('Wa-', {count: 1, flow: accounts})
  for (const fence of [1, 2]) {
    const laidDown = await until(
      () => headOf(begun.id),
      head => head.fence === fence && head.owner === null,
    )
    t.is(laidDown.takeovers, 0)
    await untilPaused(begun.runPath)
    await passMinute()
  }
  t.deepEqual((await begun.end()).outcomes, {created: 1})
})

test.serial('a run pauses if the CRM stops answering, instead of sending the rest of the file', async t => {
  fail({match: creates, times: 10_000, action: 'dropBefore'})
  const begun = await begin('Si-', {count: 3_000})
  const paused = await untilPaused(begun.runPath)
  t.is(paused.pause.code, 'CRM_UNAVAILABLE')
  t.true(paused.counts.Accounts.unanswered < 1_000)
  here.crm.faults.clear()
  await passMinute()
  const {outcomes, finals} = await begun.end()
  t.deepEqual(outcomes, {created: 3_000})
  assertOnce(here.crm, 'Si-', finals)
})

test.serial('the last rows get all their attempts before a run ends with them unanswered', async t => {
  fail({match: creates, times: 10_000, action: 'dropBefore'})
  const {outcomes, log} = await (await begin('Sl-', {count: 100})).end()
  t.deepEqual([outcomes, log.length], [{unanswered: 100}, 300])
})

test.serial('a paused run that is cancelled ends at once', async t => {
  fail({match: queries, times: 1, action: {type: 'rateLimit', retryAfter: 3_000}})
  const begun = await begin('Ca-', {count: 20, flow: accounts})
  await untilPaused(begun.runPath)
  await ok(org.call('POST', `${begun.runPath}/cancel`), 200)
  const {run} = await begun.end()
  t.is(run.stop.stopped, 'CANCELLED')
})

test.serial('a job delivered twice finds the run held: one owner, one fence', async t => {
  fail({match: creates, times: 1, action: {type: 'hold', when: 'after'}})
  const begun = await begin('Jo-')
  await until(here.crm.held, held => held > 0)
  const job = await here.db.transaction(tx => enqueue(here.queue, importJob, {org: org.org, run: begun.id}, {tx, track: false}))
  const [again] = await until(
    () => here.queue.findJobs(importJob.name, {id: job!}),
    ([found]) => found?.state === 'completed',
  )
  t.deepEqual(again!.output, {answer: {state: 'held'}})
  here.crm.release()
  const {outcomes, log} = await begun.end()
  t.deepEqual([outcomes, log.length], [{created: 300}, 300])
  t.is((await headOf(begun.id)).fence, 1)
})

test.serial('a run that ends while another worker waits for its lease is not started again', async t => {
  const begun = await begin('En-', {count: 5})
  await begun.end()
  await here.db.query(sql.unsafe`update runs set state = 'writing' where id = ${begun.id}`)
  const {endedAt} = await headOf(begun.id)
  const drain = new AbortController().signal
  const budget = openBudget(here.tools)
  const tools = {...here.tools, crm: openCrm({...here.tools, budget}), budget, drain}
  const lock = await here.hot.connect()
  await lock.query('begin')
  await lock.query('select from run_heads join runs using (run_no) where id = $1 for update of run_heads', [begun.id])
  const carried = executeRun(tools, {org: org.org, id: begun.id}, {signal: drain, log: here.tools.log})
  await until(() => here.db.exists(sql.type(z.object({}))`select from pg_locks where not granted`), Boolean)
  await lock.query(`update runs set state = 'ended' where id = $1`, [begun.id])
  await lock.query('commit')
  lock.release()
  t.is(await carried, 'ended')
  await tools.crm.close()
  t.is((await headOf(begun.id)).endedAt, endedAt)
})

test.serial('messages of the CRM are logged even if they hold invalid characters', async t => {
  fail({match: creates, times: 1, action: {type: 'refuse', index: 0, code: 'ODD', message: 'half \ud800, none \u0000'}})
  const {outcomes} = await (await begin('Nu-', {count: 5})).end()
  t.deepEqual(outcomes, {created: 4, refused: 1})
})

test.serial('a run whose file is missing from storage stops with FILE_GONE', async t => {
  const {path, source} = await prepareImport(org, {csv: accountRows(5, 'Go-'), flow: accounts})
  await here.storage.remove(`${org.org}/${path.split('/').at(-1)}/${source.id}`)
  const {run} = await ok(org.call('POST', `${path}/runs`, {}), 202)
  t.like((await untilEnded(org.call, `${path}/runs/${run.id}`)).stop, {stopped: 'FILE_GONE'})
  const results = await org.call('GET', `${path}/results.csv?run=${run.id}`)
  t.like({status: results.status, code: results.body.code}, {status: 410, code: 'FILE_GONE'})
})

test.serial('a run whose connection has ended stops with GRANT_ENDED', async t => {
  await endConnector(here.db, org.connector)
  const {run} = await runImport(org, {csv: accountRows(5, 'Gr-'), flow: accounts})
  t.is(run.stop.stopped, 'GRANT_ENDED')
})
