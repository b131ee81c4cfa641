import test from 'ava'
import {accountRows, accounts, ok, openOrg, prepareImport, readLog, untilEnded} from '../support/importing.ts'
import {assertChain, assertOnce, countBy} from '../support/oracle.ts'
import {startTestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'
import {endWorker, killAt, killAtRows, openWorkers} from '../support/worker-process.ts'

let here: Awaited<ReturnType<typeof startTestDeployment>>
let org: Awaited<ReturnType<typeof openOrg>>

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['discovery'], environment: {LEASE_SECONDS: '1.5', CRM_TIMEOUT_SECONDS: '5'}})
  org = await openOrg(here)
})
test.afterEach.always(() => here.crm.faults.clear())

const start = openWorkers(() => here.config)

const creates = {method: 'POST', path: '/crm/v8/Accounts'}
const rows = 800

const begin = async (path: string, asked: object) => (await ok(org.call('POST', `${path}/runs`, asked), 202)).run.id as string
const ended = (path: string, id: string) => untilEnded(org.call, `${path}/runs/${id}`)

/** Begins a retry chain with two ended runs: some rows are unanswered, some refused, some created, and most were not reached. */
const beginChain = async (prefix: string) => {
  const {path} = await prepareImport(org, {csv: accountRows(rows, prefix), flow: accounts})
  const worker = start()
  here.crm.faults.add({match: creates, times: 3, action: 'dropAfter'})
  const first = await ended(path, await begin(path, {rows: {to: 100}}))
  here.crm.faults.clear()
  here.crm.faults.add({match: creates, times: 1, action: {type: 'refuse', index: [0, 1, 2, 3, 4], code: 'INVALID_DATA'}})
  const second = await ended(path, await begin(path, {retryOf: first.id, rows: {from: 101, to: 300}}))
  here.crm.faults.clear()
  await endWorker(worker)
  return {path, prefix, before: [first, second], retryOf: second.id}
}

/** Asserts that the retry ends with every row created once in the whole chain. */
const assertWhole = async (
  t: {deepEqual(a: unknown, b: unknown): void},
  {path, prefix, before}: Awaited<ReturnType<typeof beginChain>>,
  id: string,
) => {
  const {outcomes, finals} = await assertChain(here, {org, path, runs: [...before, await ended(path, id)], rows})
  t.deepEqual(outcomes, {inherited: 195, created: rows - 195})
  assertOnce(here.crm, prefix, finals)
}

for (const point of ['after_intent:2', 'after_send:1', 'before_settle:3', 'in_close:1']) {
  test.serial(`a retry whose worker is killed at ${point} is resumed, and every row has one record`, async t => {
    const chain = await beginChain(`C${point}-`)
    const id = await begin(chain.path, {retryOf: chain.retryOf})
    await killAt(start, point)
    start()
    await assertWhole(t, chain, id)
  })
}

test.serial('a retry whose workers are killed repeatedly loses no row and writes none twice', async t => {
  const chain = await beginChain('Cm-')
  const id = await begin(chain.path, {retryOf: chain.retryOf})
  here.crm.faults.add({match: creates, times: 1_000, action: {type: 'slow', ms: 150, when: 'after'}})
  await killAtRows(start, {call: org.call, runPath: `${chain.path}/runs/${id}`, rows: [200, 400]})
  await assertWhole(t, chain, id)
})

for (const point of ['before_settle:3', 'in_close:1']) {
  test.serial(`a dry run whose worker is killed at ${point} plans every row once, up to its limit`, async t => {
    const {path} = await prepareImport(org, {csv: accountRows(rows, `D${point}-`), flow: accounts})
    const id = await begin(path, {dryRun: true, declaredRows: 650})
    await killAt(start, point)
    start()
    const run = await ended(path, id)
    const log = await readLog(org.call, `${path}/runs/${id}`)
    t.deepEqual(
      countBy(log, ({outcome, attempt}) => `${outcome} ${attempt}`),
      {'planned 1': 650},
    )
    t.is(new Set(log.map(({rowKey}) => rowKey)).size, 650)
    t.like(run, {rowsWritten: 0, stop: {stopped: 'LIMIT_ROWS_PER_RUN', rowsWrittenTotal: 650}})
    t.is(here.crm.records('example', 'Accounts').filter(({Account_Number}) => String(Account_Number).startsWith(`D${point}-`)).length, 0)
  })
}

test.serial('a dry run plans at most the rows of its limit, also if its worker is killed while it plans patches', async t => {
  const many = 2_500
  const named = Array.from({length: many}, (_, n) => ({Account_Name: 'Met', Account_Number: `Pd-${n + 1}`}))
  here.crm.create('example', 'Accounts', named)
  const match = {by: ['Account_Number'], onOne: 'skip', onMany: 'skip'}
  const fields = [...accounts.fields.slice(0, 2), {...accounts.fields[2], patch: {when: ['exists'], overwrite: 'if-absent'}}]
  const {path} = await prepareImport(org, {csv: accountRows(many, 'Pd-'), flow: {...accounts, match, fields}})
  const id = await begin(path, {dryRun: true, declaredRows: 2_000})
  const listPlanned = async () => (await readLog(org.call, `${path}/runs/${id}`)).filter(({outcome}) => outcome === 'planned')
  // The pass reads the records of each chunk. This call belongs to a later chunk than the first.
  here.crm.faults.add({match: {method: 'GET', path: '/crm/v8/Accounts', nth: 24}, times: 1, action: {type: 'hold', when: 'before'}})
  const worker = start()
  await until(listPlanned, ({length}) => length >= 100)
  await endWorker(worker)
  here.crm.release()
  start()
  t.like(await ended(path, id), {stop: {stopped: 'LIMIT_ROWS_PER_RUN', rowsWrittenTotal: 2_000}})
  t.is((await listPlanned()).length, 2_000)
})

test.serial('a question that a killed worker asked is asked once, with all waiting rows', async t => {
  here.crm.create('example', 'Accounts', [{Account_Name: 'Asked'}, {Account_Name: 'Asked'}])
  const csv = accountRows(rows, 'Qk-')
    .replaceAll(/^Company \d*5,/gm, 'Asked,')
    .replaceAll('Company', 'Questioned')
  const {path} = await prepareImport(org, {
    csv,
    flow: {...accounts, match: {by: ['Account_Name'], onOne: 'update', onMany: 'ask', unchanged: 'write'}},
  })
  const id = await begin(path, {})
  await killAt(start, 'before_settle:3')
  start()
  const run = await ended(path, id)
  t.deepEqual([run.counts.Accounts.skipped, run.counts.Accounts.created], [80, 720])
  const {questions} = await ok(org.call('GET', `${path}/runs/${id}/questions`), 200)
  t.like(questions, [{rows: 80, found: 2}])
  t.is(questions.length, 1)
})
