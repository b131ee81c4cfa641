import test, {type ExecutionContext} from 'ava'
import {z} from 'zod'
import {sql} from '../../sql/database.ts'
import {accountRows, accounts, ok, openOrg, prepareImport, readLog, runImport, undoRun, untilEnded, untilRun} from '../support/importing.ts'
import {countBy} from '../support/oracle.ts'
import {startTestDeployment} from '../support/test-deployment.ts'

let here: Awaited<ReturnType<typeof startTestDeployment>>
let org: Awaited<ReturnType<typeof openOrg>>

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['imports', 'discovery'], environment: {LEASE_SECONDS: '3', CRM_TIMEOUT_SECONDS: '2'}})
  org = await openOrg(here)
})
test.afterEach.always(() => here.crm.faults.clear())

const csvOf = (rows: [string, string, string][]) => `name,number,city\n${rows.map(cells => cells.join(',')).join('\n')}\n`
const byName = (onOne: string, onMany = 'skip') => ({by: ['Account_Name'], onOne, onMany})
const writes = () =>
  here.crm.journal({}).filter(({method, path}) => method !== 'GET' && path.startsWith('/crm/v8/') && path !== '/crm/v8/coql').length

const run = async (path: string, start: object) => {
  const {run: begun} = await ok(org.call('POST', `${path}/runs`, start), 202)
  return untilEnded(org.call, `${path}/runs/${begun.id}`)
}

/** Executes a dry run and asserts that nothing was written, counted or left behind. */
const rehearse = async (t: ExecutionContext, path: string, start: object = {}) => {
  const before = writes()
  const state = (await ok(org.call('GET', path), 200)).import.state
  const ended = await run(path, {dryRun: true, ...start})
  t.is(writes(), before, 'nothing was sent')
  t.deepEqual([ended.dryRun, ended.rowsWritten], [true, 0])
  t.is((await ok(org.call('GET', path), 200)).import.state, state, 'the import is not touched')
  const left = await here.db.one(sql.type(z.object({chain: z.number(), admissions: z.number(), sends: z.number(), open: z.number()}))`
    select (select count(*) from chain_rows c where c.run_no = r.run_no) as chain, (select count(*) from unsettled u where u.run_no = r.run_no) as open,
      (select count(*) from admissions a where a.run_no = r.run_no) + (select count(*) from admitted_blocks a where a.run_no = r.run_no) as admissions, (select count(*) from sends s where s.run_no = r.run_no) as sends
    from runs r where id = ${ended.id}`)
  t.deepEqual(left, {chain: 0, open: 0, admissions: 0, sends: 0})
  t.is((await ok(org.call('GET', `${path}/results.csv?run=${ended.id}`), 409)).code, 'DRY_RUN')
  return {run: ended, log: await readLog(org.call, `${path}/runs/${ended.id}`)}
}

test.serial('a dry run plans exactly what the run then does', async t => {
  here.crm.create('example', 'Accounts', [{Account_Name: 'There', Account_Number: 'Pl-2'}])
  const csv = accountRows(400, 'Pl-').replace('Company 7,', `${'x'.repeat(300)},`)
  const {path} = await prepareImport(org, {csv, flow: accounts})
  const {log, run: rehearsed} = await rehearse(t, path)
  t.deepEqual(rehearsed.counts.Accounts.planned, 399)
  t.deepEqual(
    countBy(log, ({outcome, attempt, message}) => `${outcome} ${attempt} ${outcome === 'planned' ? message : ''}`.trim()),
    {'planned 1 create': 398, 'planned 1 update': 1, 'failed 0': 1},
  )
  const real = await run(path, {})
  const done = await readLog(org.call, `${path}/runs/${real.id}`)
  t.deepEqual(
    countBy(done, ({outcome}) => outcome),
    {created: 398, updated: 1, failed: 1},
  )
  const planned = log.find(({rowNumber}) => rowNumber === 2)
  t.like(planned, {message: 'update', recordId: done.find(({rowNumber}) => rowNumber === 2).recordId})
  t.is(log.find(({rowNumber}) => rowNumber === 1).recordId, null)
})

test.serial('a dry run matches later rows with records that earlier rows would create', async t => {
  const {path} = await prepareImport(org, {
    csv: csvOf([
      ['Same', 'Me-1', 'A'],
      ['Other', 'Me-2', 'B'],
      ['Same', 'Me-3', 'C'],
    ]),
    flow: {...accounts, match: byName('update')},
  })
  const {log} = await rehearse(t, path)
  t.deepEqual(
    log.toSorted((a, b) => a.rowNumber - b.rowNumber).map(({message, recordId}) => [message, recordId]),
    [
      ['create', null],
      ['create', null],
      ['update of the record that row 1 would make', null],
    ],
  )
  const {path: skipping} = await prepareImport(org, {
    csv: csvOf([
      ['Twin', 'Me-4', 'A'],
      ['Twin', 'Me-5', 'B'],
    ]),
    flow: {...accounts, match: byName('skip')},
  })
  t.deepEqual(
    countBy((await rehearse(t, skipping)).log, ({outcome}) => outcome),
    {planned: 1, skipped: 1},
  )
})

test.serial('a dry run asks about a row that matches several records, and an answer applies to the next dry run', async t => {
  here.crm.create('example', 'Accounts', [{Account_Name: 'Many dry'}, {Account_Name: 'Many dry'}, {Account_Name: 'Many dry'}])
  const {path} = await prepareImport(org, {csv: csvOf([['Many dry', 'As-1', 'A']]), flow: {...accounts, match: byName('update', 'ask')}})
  const {log, run: rehearsed} = await rehearse(t, path)
  t.deepEqual(log.map(({phase, attempt, outcome, code}) => [phase, attempt, outcome, code]).toSorted(), [
    ['match', 0, 'would_ask', '3'],
    ['write', 0, 'skipped', 'MATCH_MANY'],
  ])
  t.is(rehearsed.questions, 1)
  const {questions} = await ok(org.call('GET', `${path}/runs/${rehearsed.id}/questions`), 200)
  const [{key, candidates}] = questions
  await ok(org.call('POST', `${path}/runs/${rehearsed.id}/questions`, {answers: [{key, recordId: candidates[1].id}]}), 200)
  t.like((await rehearse(t, path)).log, [{outcome: 'planned', message: 'update', recordId: candidates[1].id}])
})

test.serial('a dry run stops where the run would stop', async t => {
  const {path} = await prepareImport(org, {csv: accountRows(700, 'St-'), flow: accounts})
  const {run: rehearsed, log} = await rehearse(t, path, {declaredRows: 250})
  t.is(countBy(log, ({outcome}) => outcome).planned, 250)
  t.like(rehearsed.stop, {stopped: 'LIMIT_ROWS_PER_RUN', rowsPerRun: 250, stoppedBy: 'declaration', rowsWrittenTotal: 250})
  t.regex(rehearsed.stop.message, /^A run would stop here/)
  t.is((await rehearse(t, path, {rows: {from: 101, to: 110}})).log.length, 10)
})

test.serial('a dry run of a retry shows the rows to inherit, to write again and to leave open', async t => {
  const {path, run: first} = await runImport(org, {csv: accountRows(40, 'Rt-'), flow: accounts, start: {declaredRows: 10}})
  const before = await rehearse(t, path, {retryOf: first.id})
  t.is(before.run.retryOf, first.id)
  t.deepEqual(
    countBy(before.log, ({outcome}) => outcome),
    {inherited: 10, planned: 30},
  )
  here.crm.faults.add({match: {method: 'POST', path: '/crm/v8/Accounts'}, times: 3, action: 'dropAfter'})
  const second = await run(path, {retryOf: first.id, rows: {to: 20}})
  t.deepEqual([second.counts.Accounts.inherited, second.counts.Accounts.unanswered], [10, 10])
  here.crm.faults.clear()
  const {log} = await rehearse(t, path, {retryOf: second.id})
  t.deepEqual(
    countBy(log, ({outcome, code}) => `${outcome} ${code}`),
    {'inherited null': 10, 'planned SENT_BEFORE': 10, 'planned null': 20},
  )
  const third = await run(path, {retryOf: second.id})
  t.deepEqual([third.counts.Accounts.inherited, third.counts.Accounts.created], [10, 30])
})

test.serial('a dry run does not block a real run or need write permission, and only one runs at a time', async t => {
  const {path} = await prepareImport(org, {csv: accountRows(600, 'Bs-'), flow: accounts})
  here.crm.faults.add({match: {method: 'POST', path: '/crm/v8/coql'}, times: 1, action: {type: 'hold', when: 'before'}})
  const {run: rehearsed} = await ok(org.call('POST', `${path}/runs`, {dryRun: true}), 202)
  await untilRun(org.call, `${path}/runs/${rehearsed.id}`, ({state}) => state === 'writing' && here.crm.held() === 1)
  t.is((await ok(org.call('POST', `${path}/runs`, {dryRun: true}), 409)).code, 'IMPORT_RUNNING')
  t.is((await ok(org.call('POST', `${path}/runs`, {dryRun: true, runId: 'run_none'}), 400)).code, 'INVALID')
  const real = await run(path, {})
  t.is(real.counts.Accounts.created, 600)
  here.crm.release()
  t.is((await untilEnded(org.call, `${path}/runs/${rehearsed.id}`)).stop, null)
  await ok(org.call('PATCH', `/orgs/${org.org}/config/writing?connector=${org.connector}`, {paused: true}), 200)
  t.is((await ok(org.call('POST', `${path}/runs`, {}), 409)).code, 'WRITES_PAUSED')
  await rehearse(t, path)
  await ok(org.call('PATCH', `/orgs/${org.org}/config/writing?connector=${org.connector}`, {paused: false}), 200)
})

test.serial('a list of runs can leave out dry runs or contain only dry runs, however many dry runs there are', async t => {
  const {path, run: real} = await runImport(org, {csv: accountRows(2, 'Li-'), flow: accounts})
  const dry: string[] = []
  for (let n = 0; n < 3; n++) dry.unshift((await run(path, {dryRun: true})).id)
  const {run: undo} = await undoRun(org, {path, run: real})
  const list = async (query: string) => (await ok(org.call('GET', `${path}/runs?${query}`), 200)).runs.map(({id}: {id: string}) => id)
  t.deepEqual(await list('limit=2'), [undo.id, dry[0]])
  t.deepEqual(await list('limit=2&dryRun=false'), [undo.id, real.id])
  t.deepEqual(await list('limit=2&dryRun=true'), dry.slice(0, 2))
  t.is((await ok(org.call('GET', `${path}/runs?dryRun=no`), 400)).code, 'INVALID')
})

test.serial('a cancelled dry run ends, and its message does not suggest a retry', async t => {
  const {path} = await prepareImport(org, {csv: accountRows(600, 'Ca-'), flow: accounts})
  here.crm.faults.add({match: {method: 'POST', path: '/crm/v8/coql'}, times: 1, action: {type: 'hold', when: 'before'}})
  const {run: rehearsed} = await ok(org.call('POST', `${path}/runs`, {dryRun: true}), 202)
  await untilRun(org.call, `${path}/runs/${rehearsed.id}`, () => here.crm.held() === 1)
  await ok(org.call('POST', `${path}/runs/${rehearsed.id}/cancel`), 200)
  here.crm.release()
  const ended = await untilEnded(org.call, `${path}/runs/${rehearsed.id}`)
  t.is(ended.stop.stopped, 'CANCELLED')
  t.notRegex(ended.stop.message, /Retry/)
})
