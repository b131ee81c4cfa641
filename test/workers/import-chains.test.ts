import test from 'ava'
import {accountRows, accounts, ok, openOrg, prepareImport, readLog, runImport, untilEnded} from '../support/importing.ts'
import {assertAccounted, assertChain, assertOnce, countBy} from '../support/oracle.ts'
import {startTestDeployment} from '../support/test-deployment.ts'

let here: Awaited<ReturnType<typeof startTestDeployment>>
let org: Awaited<ReturnType<typeof openOrg>>

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['imports', 'discovery'], environment: {LEASE_SECONDS: '3', CRM_TIMEOUT_SECONDS: '2'}})
  org = await openOrg(here)
})
test.afterEach.always(() => here.crm.faults.clear())

const creates = {method: 'POST', path: '/crm/v8/Accounts'}
const named = {module: 'Accounts', fields: [{field: 'Account_Name', mode: 'column', source: 'number'}]}

/** Starts a run of an existing import and waits for its end. */
const run = async (path: string, start: object = {}) => {
  const {run: begun} = await ok(org.call('POST', `${path}/runs`, start), 202)
  return untilEnded(org.call, `${path}/runs/${begun.id}`)
}
const retry = (path: string, of: any, start: object = {}) => run(path, {retryOf: of.id, ...start})
const mine = (prefix: string) => here.crm.records('example', 'Accounts').filter(one => String(one.Account_Number).startsWith(prefix))
const calledBy = (prefix: string) => here.crm.records('example', 'Accounts').filter(one => String(one.Account_Name).startsWith(prefix))
const setFlows = async (path: string, sourceId: string, flows: object[]) =>
  ok(
    org.call(
      'PUT',
      `${path}/flows`,
      flows.map((flow, at) => ({id: at === 0 ? 'f' : `f${at + 1}`, sourceId, ...flow})),
    ),
    200,
  )

test.serial('retries continue a run that stopped at its row limit, and no row is written or counted twice', async t => {
  const rows = 500
  const {path, run: first} = await runImport(org, {csv: accountRows(rows, 'Li-'), flow: accounts, start: {declaredRows: 150}})
  t.regex(first.stop.message, /Retry this run/)
  const second = await retry(path, first, {declaredRows: 200})
  const third = await retry(path, second)
  t.deepEqual([second.retryOf, third.retryOf, first.retryOf], [first.id, second.id, null])
  t.deepEqual(
    [first, second, third].map(({rowsWritten}) => rowsWritten),
    [150, 200, 150],
  )
  const {outcomes, finals} = await assertChain(here, {org, path, runs: [first, second, third], rows})
  t.deepEqual(outcomes, {inherited: 350, created: 150})
  assertOnce(here.crm, 'Li-', finals)
  const log = await readLog(org.call, `${path}/runs/${third.id}`)
  t.true(log.filter(({outcome}) => outcome === 'inherited').every(({attempt, recordId}) => attempt === 0 && recordId))
})

test.serial('a retry of a flow without matching writes only the rows that are not written yet', async t => {
  const {path, run: first} = await runImport(org, {csv: accountRows(300, 'Nm-'), flow: named, start: {declaredRows: 120}})
  const second = await retry(path, first)
  t.deepEqual((await assertChain(here, {org, path, runs: [first, second], rows: 300})).outcomes, {inherited: 120, created: 180})
  t.is(calledBy('Nm-').length, 300)
})

test.serial('a retry processes refused, failed and skipped rows again, with the corrected mapping', async t => {
  here.crm.create('example', 'Accounts', [{Account_Name: 'There', Account_Number: 'Re-4'}])
  here.crm.faults.add({match: creates, times: 1, action: {type: 'refuse', index: [0, 1], code: 'INVALID_DATA'}})
  const flow = {...accounts, match: {by: ['Account_Number'], onOne: 'skip', onMany: 'skip'}}
  const csv = accountRows(5, 'Re-').replace('Company 5', 'x'.repeat(300))
  const {path, source} = await prepareImport(org, {csv, flow})
  const first = await run(path)
  t.deepEqual((await assertAccounted(here, {org, path, run: first, rows: 5})).outcomes, {refused: 2, created: 1, skipped: 1, failed: 1})
  const number = {field: 'Account_Name', mode: 'column', source: 'number'}
  await setFlows(path, source.id, [{...accounts, fields: [number, ...accounts.fields.slice(1)]}])
  const second = await retry(path, first)
  const {outcomes, finals} = await assertChain(here, {org, path, runs: [first, second], rows: 5})
  t.deepEqual(outcomes, {created: 3, inherited: 1, updated: 1})
  t.is(finals.get(3).outcome, 'inherited')
  t.is(mine('Re-').length, 5)
  t.is(second.rowsWritten, 4)
})

test.serial('a retry claims the records of unanswered creates first, and does not count them again', async t => {
  here.crm.faults.add({match: creates, times: 3, action: 'dropAfter'})
  const {path, run: first} = await runImport(org, {csv: accountRows(60, 'Un-'), flow: accounts})
  t.deepEqual((await assertAccounted(here, {org, path, run: first, rows: 60})).outcomes, {unanswered: 60})
  here.crm.faults.clear()
  const second = await retry(path, first)
  const {outcomes, finals} = await assertChain(here, {org, path, runs: [first, second], rows: 60})
  t.deepEqual(outcomes, {created: 60})
  assertOnce(here.crm, 'Un-', finals)
  t.deepEqual([first.rowsWritten, second.rowsWritten], [60, 0], 'a take counts no row')
  t.true([...finals.values()].every(({code, attempt}) => code === 'MADE_EARLIER' && attempt === 2))
  const third = await retry(path, second)
  t.deepEqual((await assertChain(here, {org, path, runs: [first, second, third], rows: 60})).outcomes, {inherited: 60})
})

test.serial('a retry creates the records of unanswered creates that never reached the CRM', async t => {
  here.crm.faults.add({match: creates, times: 3, action: 'dropBefore'})
  const {path, run: first} = await runImport(org, {csv: accountRows(60, 'Ne-'), flow: accounts})
  here.crm.faults.clear()
  const second = await retry(path, first)
  const {outcomes, finals} = await assertChain(here, {org, path, runs: [first, second], rows: 60})
  t.deepEqual(outcomes, {created: 60})
  assertOnce(here.crm, 'Ne-', finals)
})

test.serial('a record of a lost create is not treated as a match: with onOne skip its row is created, not skipped', async t => {
  const flow = {...accounts, match: {by: ['Account_Number'], onOne: 'skip', onMany: 'skip'}}
  here.crm.faults.add({match: creates, times: 3, action: 'dropAfter'})
  const {path, run: first} = await runImport(org, {csv: accountRows(20, 'Ls-'), flow})
  here.crm.faults.clear()
  const second = await retry(path, first)
  t.deepEqual((await assertChain(here, {org, path, runs: [first, second], rows: 20})).outcomes, {created: 20})
})

test.serial('a lost create that the retry sees refused is reported as one that may exist', async t => {
  here.crm.faults.add({match: creates, times: 3, action: 'dropAfter'})
  const {path, source, run: first} = await runImport(org, {csv: accountRows(1, 'Lr-'), flow: accounts})
  here.crm.faults.clear()
  here.crm.faults.add({match: creates, times: 1, action: {type: 'refuse', index: 0, code: 'INVALID_DATA'}})
  const second = await retry(path, first)
  const {finals} = await assertChain(here, {org, path, runs: [first, second], rows: 1})
  t.like(finals.get(1), {outcome: 'refused', code: 'INVALID_DATA'})
  t.regex((await org.call('GET', `${path}/results.csv?run=${second.id}`)).text, /may exist/)
  const {rows} = (await org.call('GET', `${path}/runs/${second.id}/rows`)).body
  t.like(rows[0].entries[0], {outcome: 'refused', mayExist: true, mayExistTwice: false})
  const {text} = await org.call('GET', `${path}/failed.csv?run=${second.id}`)
  t.is(text.trim(), `lading: row of ${second.id} ${source.id},lading: error,name,number,city`, 'imported again it might be there twice')
  t.is(second.rowsWritten, 0)
})

test.serial('an unanswered create is reported by every later run, however often its row is refused', async t => {
  const refuse = {type: 'refuse', index: 0, code: 'INVALID_DATA'} as const
  here.crm.faults.add({match: creates, times: 1, action: 'dropAfter'})
  here.crm.faults.add({match: creates, times: 3, action: refuse})
  const {path, run: first} = await runImport(org, {csv: accountRows(1, 'Lo-'), flow: {...accounts, match: undefined}})
  const told = async (run: any) => (await org.call('GET', `${path}/results.csv?run=${run.id}`)).text
  t.regex(await told(first), /INVALID_DATA.*may exist already/)
  const second = await retry(path, first)
  const third = await retry(path, second)
  for (const run of [second, third]) t.regex(await told(run), /INVALID_DATA.*may exist already/)
  const fourth = await retry(path, third)
  const {finals} = await assertChain(here, {org, path, runs: [first, second, third, fourth], rows: 1})
  t.like(finals.get(1), {outcome: 'created', code: 'MADE_EARLIER'})
  t.is(mine('Lo-').length, 1)
})

test.serial('a row without a unique value that is finally written is reported as possibly existing twice', async t => {
  here.crm.faults.add({match: creates, times: 1, action: 'dropBefore'})
  here.crm.faults.add({match: creates, times: 2, action: {type: 'refuse', index: 0, code: 'INVALID_DATA'}})
  const {path, run: first} = await runImport(org, {csv: accountRows(1, 'Lt-'), flow: named})
  const second = await retry(path, first)
  const third = await retry(path, second)
  t.deepEqual((await assertChain(here, {org, path, runs: [first, second, third], rows: 1})).outcomes, {created: 1})
  t.regex((await org.call('GET', `${path}/results.csv?run=${third.id}`)).text, /may exist twice/)
})

test.serial('a lost create whose unique value changed is left unanswered and not sent', async t => {
  here.crm.faults.add({match: creates, times: 3, action: 'dropAfter'})
  const {path, source} = await prepareImport(org, {csv: accountRows(10, 'Ch-'), flow: accounts})
  const first = await run(path)
  here.crm.faults.clear()
  const city = {field: 'Account_Number', mode: 'column', source: 'name'}
  await setFlows(path, source.id, [{...accounts, fields: [accounts.fields[0], city]}])
  const second = await retry(path, first)
  const {outcomes, finals} = await assertChain(here, {org, path, runs: [first, second], rows: 10})
  t.deepEqual(outcomes, {unanswered: 10})
  t.like(finals.get(1), {code: 'PAYLOAD_CHANGED', attempt: 0})
  t.is(
    calledBy('Company').filter(({Account_Number}) => String(Account_Number).startsWith('Ch-') || /^Company/.test(String(Account_Number)))
      .length,
    10,
  )
  await setFlows(path, source.id, [accounts])
  const third = await retry(path, second)
  const settled = await assertChain(here, {org, path, runs: [first, second, third], rows: 10})
  t.deepEqual(settled.outcomes, {created: 10})
  assertOnce(here.crm, 'Ch-', settled.finals)
})

test.serial('a chain does not fork, and runs that cannot be retried are refused', async t => {
  const {path, run: first} = await runImport(org, {csv: accountRows(3, 'Fo-'), flow: accounts})
  const refused = async (of: string, status: number, code: string, at = path) =>
    t.is((await ok(org.call('POST', `${at}/runs`, {retryOf: of}), status)).code, code)
  const rehearsed = await run(path, {dryRun: true})
  await refused(rehearsed.id, 409, 'DRY_RUN')
  const second = await retry(path, first)
  await refused(first.id, 409, 'RUN_RETRIED')
  const other = await prepareImport(org, {csv: accountRows(3, 'Fp-'), flow: accounts})
  await refused(second.id, 404, 'RUN_NOT_FOUND', other.path)
  const authorised = {declaredRows: 5, importId: path.split('/').at(-1)}
  const {runId: unbegun} = await ok(org.call('POST', '/entitlements/runs/authorise', authorised), 200)
  await ok(org.call('POST', `${path}/runs/${unbegun}/cancel`), 200)
  const {runId} = await ok(org.call('POST', '/entitlements/runs/authorise', authorised), 200)
  for (const id of [unbegun, runId]) await refused(id, 409, 'NOT_READY')
  await ok(org.call('POST', `/entitlements/runs/${runId}/lease`), 200)
  await refused(second.id, 409, 'IMPORT_RUNNING')
  await ok(org.call('POST', `/entitlements/runs/${runId}/progress`, {done: true}), 200)
  await refused(runId, 409, 'NO_FILE')
  t.is((await retry(path, second)).counts.Accounts.inherited, 3)
})

test.serial('an authorised run can be the retry', async t => {
  const {path, run: first} = await runImport(org, {csv: accountRows(10, 'Au-'), flow: accounts, start: {declaredRows: 4}})
  const importId = path.split('/').at(-1)
  const {runId} = await ok(org.call('POST', '/entitlements/runs/authorise', {declaredRows: 3, importId}), 200)
  const second = await retry(path, first, {runId})
  t.is(second.id, runId)
  t.deepEqual((await assertChain(here, {org, path, runs: [first, second], rows: 10})).outcomes, {inherited: 4, created: 3})
})

test.serial('a retry is refused if the file or its reading changed, while changed cleaning keeps the row numbers', async t => {
  const {path, source, run: first} = await runImport(org, {csv: accountRows(6, 'Sn-'), flow: accounts})
  const at = `${path}/sources/${source.id}`
  const {source: read} = await ok(org.call('PATCH', at, {reader: {skipRows: 1}}), 200)
  const columns = read.columns.map(({name}: {name: string}) => name)
  await setFlows(path, source.id, [{module: 'Accounts', fields: [{field: 'Account_Name', mode: 'column', source: columns[0]}]}])
  t.like(await ok(org.call('POST', `${path}/runs`, {retryOf: first.id}), 409), {code: 'SNAPSHOT_CHANGED', flow: 'f'})
  await ok(org.call('PATCH', at, {reader: {skipRows: 0}}), 200)
  await setFlows(path, source.id, [accounts])
  await ok(org.call('PATCH', at, {cleaning: [{step: 'strikeRows', rows: [{from: 2, to: 2}]}]}), 200)
  const second = await retry(path, first)
  const log = await readLog(org.call, `${path}/runs/${second.id}`)
  t.deepEqual(
    log.map(({rowNumber, outcome}) => [rowNumber, outcome]).toSorted(),
    [1, 3, 4, 5, 6].map(number => [number, 'inherited']),
  )
  const {source: other} = await ok(org.call('POST', `${path}/sources?name=b.csv`, accountRows(6, 'So-'), {'content-type': 'text/csv'}), 201)
  await setFlows(path, other.id, [accounts])
  t.is((await ok(org.call('POST', `${path}/runs`, {retryOf: second.id}), 409)).code, 'SNAPSHOT_CHANGED')
})

test.serial('modules and flows keep their numbers through a chain, even if a retry lists them in another order', async t => {
  const csv = accountRows(8, 'Or-')
  const contacts = {module: 'Contacts', fields: [{field: 'Last_Name', mode: 'column', source: 'number'}]}
  const {path, source} = await prepareImport(org, {csv, flow: accounts})
  const first = await run(path, {declaredRows: 5})
  const flow = (id: string, one: object) => ({id, sourceId: source.id, ...one})
  await ok(org.call('PUT', `${path}/flows`, [flow('c', contacts), flow('f', accounts)]), 200)
  const second = await retry(path, first)
  const log = await readLog(org.call, `${path}/runs/${second.id}`)
  const seen = (entries: any[]) => countBy(entries, ({flowId, module, outcome}) => `${flowId} ${module} ${outcome}`)
  t.deepEqual(seen(log), {'c Contacts created': 8, 'f Accounts inherited': 5, 'f Accounts created': 3})
  t.is(
    log.findIndex(({flowId}) => flowId === 'f'),
    8,
    'flows run in the order of the import',
  )
  t.deepEqual([second.counts.Contacts.created, second.counts.Accounts.inherited], [8, 5])
  await ok(org.call('PUT', `${path}/flows`, [flow('c', contacts)]), 200)
  const third = await retry(path, second)
  t.deepEqual(seen(await readLog(org.call, `${path}/runs/${third.id}`)), {'c Contacts inherited': 8})
  t.is(mine('Or-').length, 8)
})

test.serial('a row of the retry that matches an earlier row updates the record that the earlier run created', async t => {
  const csv = `name,number,city\nFirst,Ma-1,A\nOther,Ma-2,B\nFirst,Ma-3,C\n`
  const match = {by: ['Account_Name'], onOne: 'update', onMany: 'skip', unchanged: 'write'}
  const {path, run: first} = await runImport(org, {csv, flow: {...accounts, match}, start: {rows: {to: 2}}})
  t.is(first.rowsWritten, 2)
  const second = await retry(path, first)
  const log = await readLog(org.call, `${path}/runs/${second.id}`)
  t.deepEqual(
    countBy(log, ({outcome}) => outcome),
    {inherited: 2, updated: 1},
  )
  t.is(log.find(({rowNumber}) => rowNumber === 3).recordId, log.find(({rowNumber}) => rowNumber === 1).recordId)
})

test.serial('a run of a row range skips the other rows, which the results list without an outcome', async t => {
  const {path, run: first} = await runImport(org, {csv: accountRows(1_200, 'Ra-'), flow: accounts, start: {rows: {from: 501, to: 700}}})
  t.deepEqual(first.rows, {from: 501, to: 700})
  t.deepEqual({done: first.progress.done, total: first.progress.total}, {done: 200, total: 200})
  const log = await readLog(org.call, `${path}/runs/${first.id}`)
  t.deepEqual(
    log.map(({rowNumber}) => rowNumber).toSorted((a, b) => a - b),
    Array.from({length: 200}, (_, at) => 501 + at),
  )
  const results = (await org.call('GET', `${path}/results.csv?run=${first.id}`)).text.trim().split('\n')
  t.is(results.length, 1_201)
  t.is(results.filter(line => line.includes(',Written,')).length, 200)
  const second = await retry(path, first)
  const {outcomes, finals} = await assertChain(here, {org, path, runs: [first, second], rows: 1_200})
  t.deepEqual(outcomes, {inherited: 200, created: 1_000})
  assertOnce(here.crm, 'Ra-', finals)
  for (const rows of [{from: 0}, {from: 5, to: 4}, {from: 1_201}, {from: 1, until: 2}])
    t.is((await ok(org.call('POST', `${path}/runs`, {rows}), 400)).code, 'INVALID')
})

test.serial('a lost create without a unique field is found again, even if another row is equal', async t => {
  here.crm.faults.add({match: {...creates, nth: 1}, times: 1, action: 'dropAfter'})
  // Row 101 equals row 1. Row 101 is created, and the create of row 1 is lost.
  const csv = accountRows(150, 'Wi-').replace('Wi-101,', 'Wi-1,')
  const {path, run: first} = await runImport(org, {csv, flow: named})
  here.crm.faults.clear()
  const second = await retry(path, first)
  const {outcomes} = await assertChain(here, {org, path, runs: [first, second], rows: 150})
  t.deepEqual(outcomes, {inherited: 150})
  t.is(calledBy('Wi-').length, 150, 'nothing was sent twice')
  t.is(second.rowsWritten, 0)
})
