import test from 'ava'
import {accountRows, accounts, ok, openOrg, prepareImport, runImport, untilEnded, untilRun} from '../support/importing.ts'
import {assertAccounted, assertOnce, countBy} from '../support/oracle.ts'
import {startTestDeployment} from '../support/test-deployment.ts'

let here: Awaited<ReturnType<typeof startTestDeployment>>
let org: Awaited<ReturnType<typeof openOrg>>

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['imports', 'discovery'], environment: {LEASE_SECONDS: '3', CRM_TIMEOUT_SECONDS: '1'}})
  org = await openOrg(here)
})

const creates = {method: 'POST', path: '/crm/v8/Accounts'}
const rows = 600

/** Imports `count` rows with unique numbers while the faults are active, and asserts that every row is accounted for. */
const importUnder = async (
  prefix: string,
  faults: object[],
  {flow = accounts, start = {}, count = rows}: {flow?: object; start?: object; count?: number} = {},
) => {
  here.crm.faults.clear()
  for (const fault of faults) here.crm.faults.add(fault as never)
  const {run, path} = await runImport(org, {csv: accountRows(count, prefix), flow, start})
  here.crm.faults.clear()
  return {run, ...(await assertAccounted(here, {org, path, run, rows: count}))}
}

const lost = {
  'a connection dropped before the CRM acted': 'dropBefore',
  'a connection dropped after the records were created': 'dropAfter',
  'half an answer after the records were created': 'truncateAfter',
  'a 502 before the CRM acted': {type: 'status5xxBefore', status: 502},
  'a 500 after the records were created': {type: 'status5xxAfter', status: 500},
  'a page of HTML after the records were created': 'nonJson',
  'an empty answer after the records were created': 'emptyBody',
  'an answer after the timeout': {type: 'slow', ms: 4_000, when: 'after'},
}

for (const [what, action] of Object.entries(lost)) {
  test.serial(`every row is created once despite ${what}`, async t => {
    const prefix = `L${Object.keys(lost).indexOf(what)}-`
    const {outcomes, finals, log} = await importUnder(prefix, [
      {match: {...creates, nth: 2}, times: 1, action},
      {match: {...creates, nth: 4}, times: 1, action},
    ])
    t.deepEqual(outcomes, {created: rows})
    assertOnce(here.crm, prefix, finals)
    t.true(
      log.some(({outcome}) => outcome === 'unanswered'),
      'the silence is told',
    )
  })
}

test.serial('a record whose create answers success without its id is found again', async t => {
  const {outcomes, finals, log} = await importUnder('N-', [{match: creates, times: 1, action: {type: 'successNoId', index: 7}}])
  t.deepEqual(outcomes, {created: rows})
  assertOnce(here.crm, 'N-', finals)
  t.deepEqual(
    log.filter(({code}) => code === 'MADE_EARLIER').map(({attempt}) => attempt),
    [3],
  )
})

test.serial('records that are missing from an answer that is too short are found again', async t => {
  const {outcomes, finals} = await importUnder('S-', [{match: creates, times: 1, action: {type: 'shortData', by: 20}}])
  t.deepEqual(outcomes, {created: rows})
  assertOnce(here.crm, 'S-', finals)
})

test.serial('a lost create without a unique field is looked for before it is sent again, and its records are found', async t => {
  const flow = {module: 'Accounts', fields: [{field: 'Account_Name', mode: 'column', source: 'number'}]}
  const {outcomes, run, log} = await importUnder('U-', [{match: {...creates, nth: 1}, times: 1, action: 'dropAfter'}], {flow})
  t.deepEqual(outcomes, {created: rows})
  t.is(countBy(log, ({code}) => String(code)).MADE_EARLIER, 100)
  t.is(run.rowsWritten, rows, 'counted once')
  const made = here.crm.records('example', 'Accounts').filter(record => String(record.Account_Name).startsWith('U-'))
  t.is(made.length, rows)
})

test.serial('rows that the CRM refuses are refused alone, are not counted, and give the reason', async t => {
  const {outcomes, run, log} = await importUnder('R-', [
    {match: creates, times: 3, action: {type: 'refuse', index: [0, 5], code: 'RECORD_LOCKED'}},
  ])
  t.deepEqual(outcomes, {created: rows - 6, refused: 6})
  t.is(run.rowsWritten, rows - 6)
  t.deepEqual(
    countBy(
      log.filter(({outcome}) => outcome === 'refused'),
      ({code}) => code,
    ),
    {RECORD_LOCKED: 6},
  )
})

for (const [what, action] of [
  ['a redirect', 'redirect'],
  ['a 408', {type: 'answer', status: 408}],
] as const)
  test.serial(`a query that gets ${what} is sent again`, async t => {
    const {outcomes, run} = await importUnder(`M${what.length}-`, [{match: {path: '/crm/v8/coql'}, times: 1, action}], {count: 40})
    t.deepEqual([outcomes, run.stop], [{created: 40}, null])
  })

test.serial('a run that the CRM rate-limits waits, and logs nothing for the wait', async t => {
  const {outcomes, finals, log} = await importUnder('W-', [{match: creates, times: 4, action: {type: 'rateLimit', retryAfter: 1}}])
  t.deepEqual(outcomes, {created: rows})
  t.is(log.length, rows)
  assertOnce(here.crm, 'W-', finals)
})

test.serial('rows that the CRM rate-limits within an otherwise successful answer are sent again, and logged once', async t => {
  const {outcomes, finals, log} = await importUnder('P-', [
    {match: creates, times: 2, action: {type: 'refuse', index: [0, 5], code: 'TOO_MANY_REQUESTS'}},
  ])
  t.deepEqual(outcomes, {created: rows})
  t.is(log.length, rows)
  assertOnce(here.crm, 'P-', finals)
})

test.serial('an access token that expires during a run is renewed, and no row is lost', async t => {
  const {outcomes, log} = await importUnder('T-', [{match: {...creates, nth: 3}, times: 1, action: 'expireToken'}])
  t.deepEqual(outcomes, {created: rows})
  t.is(log.length, rows)
})

test.serial('an update without an answer is sent again', async t => {
  await importUnder('P-', [])
  const {outcomes} = await importUnder('P-', [{match: {method: 'PUT', path: '/crm/v8/Accounts', nth: 2}, times: 1, action: 'dropAfter'}])
  t.deepEqual(outcomes, {updated: rows})
})

test.serial('a row whose record another user creates meanwhile updates that record', async t => {
  const foreign = {
    type: 'foreignCreate',
    module: 'Accounts',
    record: {Account_Name: 'Theirs', Account_Number: 'F-1'},
    user: 'ben@example.org',
    when: 'before',
  }
  const {outcomes, log} = await importUnder('F-', [{match: creates, times: 1, action: foreign}])
  t.deepEqual(outcomes, {created: rows - 1, updated: 1})
  t.deepEqual(
    log.filter(({rowNumber}) => rowNumber === 1).map(({outcome, attempt}) => [outcome, attempt]),
    [
      ['refused', 1],
      ['updated', 2],
    ],
  )
})

test.serial('a lost create does not claim a record that another user created first', async t => {
  const foreign = {
    type: 'foreignCreate',
    module: 'Accounts',
    record: {Account_Name: 'Theirs', Account_Number: 'G-1'},
    user: 'ben@example.org',
    when: 'before',
  }
  const {outcomes, log} = await importUnder('G-', [{match: creates, times: 1, action: [foreign, 'dropBefore']}], {count: 100})
  t.deepEqual(outcomes, {created: 99, refused: 1})
  const [, refused] = log.filter(({rowNumber}) => rowNumber === 1)
  t.like(refused, {outcome: 'refused', code: 'DUPLICATE_DATA', attempt: 2})
  t.regex(refused.message, /another user created it/)
})

test.serial('a run pauses while the daily CRM quota is exhausted, and resumes by itself', async t => {
  here.crm.faults.add({match: {...creates, nth: 3}, times: 1, action: {type: 'allowanceSpent', forSeconds: 50}})
  const {path} = await prepareImport(org, {csv: accountRows(rows, 'Q-'), flow: accounts})
  const {run: begun} = await ok(org.call('POST', `${path}/runs`, {}), 202)
  const paused = await untilRun(org.call, `${path}/runs/${begun.id}`, run => run.state === 'paused')
  t.is(paused.pause.code, 'DAILY_ALLOWANCE_SPENT')
  t.true(paused.rowsWritten < rows)
  here.crm.clock.advance(61_000)
  await here.ahead('61 seconds')
  const run = await untilEnded(org.call, `${path}/runs/${begun.id}`)
  const {outcomes, finals, log} = await assertAccounted(here, {org, path, run, rows})
  t.deepEqual(outcomes, {created: rows})
  t.is(log.length, rows)
  assertOnce(here.crm, 'Q-', finals)
})

test.serial('a run whose first query the CRM always refuses resumes after the daily CRM quota was exhausted', async t => {
  const usual = here.crm.switches()
  t.teardown(() => here.crm.setSwitches(usual))
  // The run stores the newest record's id before its first create, so it does not read it again when it resumes.
  here.crm.create('example', 'Accounts', [{Account_Name: 'Theirs', Account_Number: 'QR-0'}])
  // The CRM refuses each query with several lists, so the run begins with a refused query and then sends one list at a time.
  here.crm.setSwitches({coqlCriteria: 5})
  here.crm.faults.add({match: creates, times: 1, action: {type: 'allowanceSpent', forSeconds: 50}})
  const {path} = await prepareImport(org, {csv: accountRows(500, 'QR-'), flow: accounts})
  const {run: begun} = await ok(org.call('POST', `${path}/runs`, {}), 202)
  const paused = await untilRun(org.call, `${path}/runs/${begun.id}`, run => run.state === 'paused')
  t.is(paused.pause.code, 'DAILY_ALLOWANCE_SPENT')
  here.crm.clock.advance(61_000)
  await here.ahead('122 seconds')
  const run = await untilEnded(org.call, `${path}/runs/${begun.id}`, 40)
  const {outcomes} = await assertAccounted(here, {org, path, run, rows: 500})
  t.deepEqual(outcomes, {created: 500})
})

test.serial('a run stops at exactly the number of rows it declared', async t => {
  const refusals = {match: creates, times: 4, action: {type: 'refuse', index: [3, 4, 5], code: 'INVALID_DATA'}}
  const {outcomes, run} = await importUnder('D-', [refusals], {start: {declaredRows: 250}})
  t.is(outcomes.created, 250)
  t.like(run.stop, {stopped: 'LIMIT_ROWS_PER_RUN', rowsPerRun: 250, stoppedBy: 'declaration', rowsWrittenTotal: 250})
  t.is(run.rowsWritten, 250)
})

test.serial('a run whose user loses API access while the CRM quota is exhausted stops with that reason', async t => {
  t.teardown(() => here.crm.addProfile('example', {name: 'Administrator', like: 'Administrator'}))
  here.crm.faults.add({match: creates, times: 1, action: {type: 'allowanceSpent', forSeconds: 50}})
  const {path} = await prepareImport(org, {csv: accountRows(10, 'QA-'), flow: accounts})
  const {run: begun} = await ok(org.call('POST', `${path}/runs`, {}), 202)
  await untilRun(org.call, `${path}/runs/${begun.id}`, run => run.state === 'paused')
  here.crm.addProfile('example', {name: 'Administrator', like: 'Administrator', without: ['Crm_Implied_Api_Access']})
  here.crm.clock.advance(61_000)
  await here.ahead('183 seconds')
  const run = await untilEnded(org.call, `${path}/runs/${begun.id}`, 40)
  t.like(run.stop, {stopped: 'CRM_REFUSED'})
  t.regex(run.stop.message, /no API access/)
})
