import test from 'ava'
import {accountRows, accounts, ok, openOrg, prepareImport, runImport, untilEnded, untilRun} from '../importing.ts'
import {assertAccounted, assertOnce, countBy} from '../oracle.ts'
import {world} from '../world.ts'

let here: Awaited<ReturnType<typeof world>>
let org: Awaited<ReturnType<typeof openOrg>>

test.before(async t => {
  here = await world(t, {workers: ['imports', 'discovery'], environment: {LEASE_SECONDS: '3', CRM_TIMEOUT_SECONDS: '1'}})
  org = await openOrg(here)
})

const creates = {method: 'POST', path: '/crm/v8/Accounts'}
const rows = 600

/** Imports `rows` rows of their own while the faults last, and checks all that must hold whatever happened. */
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
  'a connection dropped before anything was done': 'dropBefore',
  'a connection dropped after the records were made': 'dropAfter',
  'half an answer after the records were made': 'truncateAfter',
  'a 502 before anything was done': {type: 'status5xxBefore', status: 502},
  'a 500 after the records were made': {type: 'status5xxAfter', status: 500},
  'a page of HTML after the records were made': 'nonJson',
  'an empty answer after the records were made': 'emptyBody',
  'no answer in time': {type: 'slow', ms: 4_000, when: 'after'},
}

for (const [what, action] of Object.entries(lost)) {
  test.serial(`${what}: every row is created once all the same`, async t => {
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

test.serial('a record made without saying which is found again', async t => {
  const {outcomes, finals, log} = await importUnder('N-', [{match: creates, times: 1, action: {type: 'successNoId', index: 7}}])
  t.deepEqual(outcomes, {created: rows})
  assertOnce(here.crm, 'N-', finals)
  t.deepEqual(
    log.filter(({code}) => code === 'MADE_EARLIER').map(({attempt}) => attempt),
    [3],
  )
})

test.serial('fewer answers than records: the rest are found again', async t => {
  const {outcomes, finals} = await importUnder('S-', [{match: creates, times: 1, action: {type: 'shortData', by: 20}}])
  t.deepEqual(outcomes, {created: rows})
  assertOnce(here.crm, 'S-', finals)
})

test.serial('without a unique field a lost create is looked for before it is sent again: its records are found', async t => {
  const flow = {module: 'Accounts', fields: [{field: 'Account_Name', mode: 'column', source: 'number'}]}
  const {outcomes, run, log} = await importUnder('U-', [{match: {...creates, nth: 1}, times: 1, action: 'dropAfter'}], {flow})
  t.deepEqual(outcomes, {created: rows})
  t.is(countBy(log, ({code}) => String(code)).MADE_EARLIER, 100)
  t.is(run.rowsWritten, rows, 'counted once')
  const made = here.crm.records('example', 'Accounts').filter(record => String(record.Account_Name).startsWith('U-'))
  t.is(made.length, rows)
})

test.serial('refused rows are refused alone, are not counted, and say why', async t => {
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

test.serial('asked to slow down, the run waits and nothing is logged for it', async t => {
  const {outcomes, finals, log} = await importUnder('W-', [{match: creates, times: 4, action: {type: 'rateLimit', retryAfter: 1}}])
  t.deepEqual(outcomes, {created: rows})
  t.is(log.length, rows)
  assertOnce(here.crm, 'W-', finals)
})

test.serial('a token that dies in mid-run is renewed and nothing is lost', async t => {
  const {outcomes, log} = await importUnder('T-', [{match: {...creates, nth: 3}, times: 1, action: 'expireToken'}])
  t.deepEqual(outcomes, {created: rows})
  t.is(log.length, rows)
})

test.serial('an update that nobody answered is sent again', async t => {
  await importUnder('P-', [])
  const {outcomes} = await importUnder('P-', [{match: {method: 'PUT', path: '/crm/v8/Accounts', nth: 2}, times: 1, action: 'dropAfter'}])
  t.deepEqual(outcomes, {updated: rows})
})

test.serial('somebody else made the record meanwhile: the row updates it', async t => {
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

test.serial('a lost create that somebody else made first is not taken', async t => {
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

test.serial('a spent allowance lays the run down, and it goes on by itself', async t => {
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

test.serial('a run stops at exactly the rows it was declared to write', async t => {
  const refusals = {match: creates, times: 4, action: {type: 'refuse', index: [3, 4, 5], code: 'INVALID_DATA'}}
  const {outcomes, run} = await importUnder('D-', [refusals], {start: {declaredRows: 250}})
  t.is(outcomes.created, 250)
  t.like(run.stop, {stopped: 'LIMIT_ROWS_PER_RUN', rowsPerRun: 250, stoppedBy: 'declaration', rowsWrittenTotal: 250})
  t.is(run.rowsWritten, 250)
})
