import test from 'ava'
import {z} from 'zod'
import {sql} from '../../sql/database.ts'
import {accountRows, accounts, ok, openOrg, prepareImport, readLog, untilEnded, untilRun} from '../support/importing.ts'
import {column, companies, prepareFiles, runFiles} from '../support/lookups.ts'
import {assertAccounted, assertOnce, countBy} from '../support/oracle.ts'
import {assertSheets, lineSheet, lines, orderSheet, orders} from '../support/subforms.ts'
import {startTestDeployment} from '../support/test-deployment.ts'

let here: Awaited<ReturnType<typeof startTestDeployment>>
let org: Awaited<ReturnType<typeof openOrg>>

test.before(async t => {
  here = await startTestDeployment(t, {
    workers: ['imports', 'discovery'],
    environment: {LEASE_SECONDS: '1.5', CRM_TIMEOUT_SECONDS: '5', CRM_SLOTS: '2'},
  })
  org = await openOrg(here)
})
test.afterEach.always(() => here.crm.faults.clear())

const creates = {method: 'POST', path: '/crm/v8/Accounts'}
const updates = {method: 'PUT', path: '/crm/v8/Accounts'}
const replaces = {method: 'PUT', path: '/crm/v8/Orders'}
const queries = {method: 'POST', path: '/crm/v8/coql'}
const unmatched = {...accounts, match: undefined}

const envelope = (code: string, details: object = {}) => ({code, details, message: `${code}, said the CRM`, status: 'error'})
const refusal = (status: number, code: string, details?: object) => ({type: 'answer', status, body: envelope(code, details)})
const tooLarge = {type: 'answer', status: 413, text: '<h1>Too large</h1>'}

const fail = (match: object, times: number, action: unknown) => here.crm.faults.add({match, times, action} as never)

/** Starts a run of `count` rows with unique numbers. */
const begin = async (prefix: string, {count = 300, flow = unmatched as object} = {}) => {
  const {path} = await prepareImport(org, {csv: accountRows(count, prefix), flow})
  const {run} = await ok(org.call('POST', `${path}/runs`, {}), 202)
  const runPath = `${path}/runs/${run.id as string}`
  const end = async () => {
    const run = await untilEnded(org.call, runPath)
    return {run, ...(await assertAccounted(here, {org, path, run, rows: count}))}
  }
  return {path, runPath, id: run.id as string, end}
}

const openSends = (id: string) =>
  here.db.oneFirst(sql.type(z.object({count: z.number()}))`select count(*) from sends join runs using (run_no) where id = ${id}`)

let minutes = 0
/** Advances our clock and the CRM's by eleven minutes, so that the CRM's limit on token renewals is reset. */
const passTime = async () => {
  here.crm.clock.advance(11 * 60_000)
  minutes += 11
  await here.ahead(`${minutes} minutes`)
}

const untilPaused = (runPath: string) => untilRun(org.call, runPath, run => run.state === 'paused')

const writes = (match: {method: string; path: string}) =>
  here.crm.journal({}).filter(({method, path}) => method === match.method && path === match.path)

for (const {name, match, flow} of [
  {name: 'a write', match: creates, flow: unmatched},
  {name: 'a query', match: queries, flow: accounts},
]) {
  test.serial(`a run pauses and resumes by itself if the CRM refuses the renewed token for ${name}, and no row is refused`, async t => {
    fail(match, 10_000, 'expireToken')
    const begun = await begin(`To${match.path.length}-`, {flow})
    const paused = await untilPaused(begun.runPath)
    t.is(paused.pause.code, 'CONNECTION_UNAVAILABLE')
    t.regex(paused.pause.message, /INVALID_TOKEN.*Connect the CRM again/)
    t.is(paused.rowsWritten, 0)
    t.deepEqual(await readLog(org.call, begun.runPath), [])
    t.is(await openSends(begun.id), 0)
    here.crm.faults.clear()
    await passTime()
    const {outcomes, log, finals} = await begun.end()
    t.deepEqual([outcomes, log.length], [{created: 300}, 300])
    assertOnce(here.crm, `To${match.path.length}-`, finals)
  })
}

test.serial('a run pauses if the CRM refuses the token in the answer to a single record', async t => {
  fail(creates, 2, {type: 'answer', status: 401, body: {data: [envelope('INVALID_TOKEN')]}})
  const begun = await begin('Ts-', {count: 1})
  t.is((await untilPaused(begun.runPath)).pause.code, 'CONNECTION_UNAVAILABLE')
  await passTime()
  t.deepEqual((await begun.end()).outcomes, {created: 1})
})

for (const {name, action, says} of [
  {
    name: 'a permission is missing',
    action: refusal(403, 'NO_PERMISSION', {permissions: ['Crm_Implied_Create_Accounts']}),
    says: /NO_PERMISSION.*Give the connection's CRM user this permission: Crm_Implied_Create_Accounts\. Retry this run/,
  },
  {
    name: 'a scope is missing',
    action: refusal(401, 'OAUTH_SCOPE_MISMATCH'),
    says: /OAUTH_SCOPE_MISMATCH.*Connect the CRM again.*Retry this run/,
  },
  {
    name: 'the module is refused',
    action: refusal(400, 'INVALID_MODULE', {resource_path_index: 0}),
    says: /INVALID_MODULE.*Correct this in the CRM\. If the module was renamed there, run a discovery\. Retry this run/,
  },
]) {
  test.serial(`a run stops with advice where ${name}, and a retry writes every row`, async t => {
    const prefix = `No${name.length}-`
    fail(creates, 10_000, action)
    const begun = await begin(prefix)
    const {run, log} = await begun.end()
    t.is(run.stop.stopped, 'CRM_REFUSED')
    t.regex(run.stop.message, says)
    t.deepEqual([log, run.rowsWritten], [[], 0])
    here.crm.faults.clear()
    const {run: retry} = await ok(org.call('POST', `${begun.path}/runs`, {retryOf: begun.id}), 202)
    t.is((await untilEnded(org.call, `${begun.path}/runs/${retry.id}`)).counts.Accounts.created, 300)
  })
}

test.serial('a batch that is too large for the CRM is sent in halves', async t => {
  fail(creates, 1, tooLarge)
  const before = writes(creates).length
  const {outcomes, log} = await (await begin('La-', {count: 100})).end()
  t.deepEqual([outcomes, log.length], [{created: 100}, 100])
  t.deepEqual(
    writes(creates)
      .slice(before)
      .map(({body}) => (body as any).data.length),
    [100, 50, 50],
  )
})

test.serial('a record that is too large by itself is refused alone', async t => {
  fail(creates, 8, tooLarge)
  const begun = await begin('Lo-', {count: 100})
  const {outcomes, log, run} = await begun.end()
  t.deepEqual([outcomes, log.length, run.rowsWritten], [{created: 99, refused: 1}, 100, 99])
  t.like(
    log.find(({outcome}) => outcome === 'refused'),
    {
      rowNumber: 1,
      attempt: 1,
      code: 'HTTP_413',
      message: 'The request is too large for the CRM. Shorten its values, or send fewer records at once',
    },
  )
})

test.serial('a request that the CRM refuses because of one record refuses that row alone', async t => {
  fail(creates, 8, refusal(400, 'INVALID_DATA', {api_name: 'Account_Name', json_path: '$.data[0].Account_Name'}))
  const {outcomes, log} = await (await begin('On-', {count: 100})).end()
  t.deepEqual(outcomes, {created: 99, refused: 1})
  t.like(
    log.find(({outcome}) => outcome === 'refused'),
    {rowNumber: 1, code: 'INVALID_DATA'},
  )
})

test.serial('refusals that name each record of a batch refuse those rows, and the run continues', async t => {
  const body = {data: Array.from({length: 100}, () => envelope('NOT_ALLOWED'))}
  fail(creates, 1, {type: 'answer', status: 400, body})
  const {outcomes, run} = await (await begin('Ea-', {count: 300})).end()
  t.deepEqual([outcomes, run.stop], [{created: 200, refused: 100}, null])
})

test.serial('a run stops if the CRM refuses a hundred single-record requests as a whole', async t => {
  fail(creates, 100_000, refusal(400, 'BRAND_NEW'))
  const {outcomes, run} = await (await begin('Ev-', {count: 300})).end()
  t.is(run.stop.stopped, 'CRM_REFUSED')
  t.regex(run.stop.message, /BRAND_NEW/)
  t.true(outcomes.refused! <= 101, `${outcomes.refused} rows`)
})

test.serial('updates pause the run if their token is refused, and are halved if the batch is too large', async t => {
  here.crm.create(
    'example',
    'Accounts',
    Array.from({length: 100}, (_, n) => ({Account_Name: 'Old', Account_Number: `Up-${n + 1}`})),
  )
  fail(updates, 10_000, 'expireToken')
  const begun = await begin('Up-', {count: 100, flow: accounts})
  t.is((await untilPaused(begun.runPath)).pause.code, 'CONNECTION_UNAVAILABLE')
  here.crm.faults.clear()
  fail(updates, 2, tooLarge)
  await passTime()
  const {outcomes, log} = await begun.end()
  t.deepEqual([outcomes, log.length], [{updated: 100}, 100])
})

/** A flow of accounts whose city is patched after all rows are written. */
const later = companies({
  fields: [column('Account_Name', 'name'), column('Account_Number', 'number'), column('Billing_City', 'city', {patch: {}})],
})

test.serial('patches stop the run if a permission is missing, and are halved if the batch is too large', async t => {
  const csv = (prefix: string) => `name,number,city\n${Array.from({length: 40}, (_, n) => `C ${n},${prefix}-${n},Rome`).join('\n')}\n`
  fail(updates, 10_000, refusal(403, 'NO_PERMISSION'))
  const stopped = await runFiles(org, {companies: csv('Pa')}, [later])
  t.like(stopped.run, {stop: {stopped: 'CRM_REFUSED'}, counts: {Accounts: {created: 40}}})
  const log = await readLog(org.call, `${stopped.path}/runs/${stopped.run.id}`)
  t.deepEqual(
    log.filter(({phase}) => phase === 'patch'),
    [],
  )
  here.crm.faults.clear()
  fail(updates, 2, tooLarge)
  const {run, path} = await runFiles(org, {companies: csv('Pb')}, [later])
  t.is(run.stop, null)
  t.deepEqual(
    countBy(await readLog(org.call, `${path}/runs/${run.id}`), ({phase, outcome}) => `${phase} ${outcome}`),
    {'write created': 40, 'patch updated': 40},
  )
})

const codes = ['Sr-1', 'Sr-2', 'Sr-3', 'Sr-4']
const sheet = codes.flatMap(code => [[code, `${code} A`] as const, [code, `${code} B`] as const])

test.serial(
  'subform rows stop the run if a permission is missing, and are halved by whole records if the request is too large',
  async t => {
    const flows = [orders(), lines()]
    here.crm.create(
      'example',
      'Orders',
      codes.map(Code => ({Name: Code, Code, Order_Lines: [{Product: 'Old'}]})),
    )
    const files = {orders: orderSheet(codes), lines: lineSheet(sheet)}
    fail({...replaces, nth: 2}, 10_000, refusal(403, 'NO_PERMISSION'))
    const stopped = await runFiles(org, files, flows)
    t.like(stopped.run, {stop: {stopped: 'CRM_REFUSED'}, rowsWritten: 4})
    here.crm.faults.clear()
    fail({...replaces, nth: 2}, 2, tooLarge)
    const {run} = await runFiles(org, files, flows)
    t.like(run, {stop: null, rowsWritten: 12, counts: {Order_Lines: {updated: 8, refused: 0}}})
    assertSheets(here, sheet)
  },
)

test.serial('subform rows pause the run if the token is refused while a record is read', async t => {
  const read = {method: 'GET', path: '/crm/v8/Orders/*'}
  here.crm.create('example', 'Orders', [{Name: 'St-1', Code: 'St-1', Order_Lines: [{Product: 'Old'}]}])
  fail(read, 2, refusal(401, 'INVALID_TOKEN'))
  const of = [['St-1', 'A']] as const
  const {path} = await prepareFiles(org, {orders: orderSheet(['St-1']), lines: lineSheet([...of])}, [orders(), lines()])
  const {run} = await ok(org.call('POST', `${path}/runs`, {}), 202)
  const runPath = `${path}/runs/${run.id as string}`
  t.is((await untilPaused(runPath)).pause.code, 'CONNECTION_UNAVAILABLE')
  await passTime()
  t.like((await untilEnded(org.call, runPath)).counts, {Order_Lines: {updated: 1, failed: 0}})
  assertSheets(here, [...of])
})
