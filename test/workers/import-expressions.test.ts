import test from 'ava'
import {ok, openOrg, prepareImport, readLog, runImport, untilEnded} from '../support/importing.ts'
import {assertAccounted, assertOnce} from '../support/oracle.ts'
import {startTestDeployment} from '../support/test-deployment.ts'
import {killAt, killAtRows, openLongLivedWorker, openWorkers} from '../support/worker-process.ts'

let here: Awaited<ReturnType<typeof startTestDeployment>>
let org: Awaited<ReturnType<typeof openOrg>>

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['discovery'], environment: {LEASE_SECONDS: '1.5', CRM_TIMEOUT_SECONDS: '5'}})
  org = await openOrg(here)
  await ok(org.call('PUT', `/orgs/${org.org}/libraries/prices`, {manifest, source: 'export const gross = n => Number(n) * 1.25\n'}), 200)
  await ok(org.call('PATCH', `/orgs/${org.org}/config/settings`, {expressionContext: {region: 'north'}}), 200)
})
test.afterEach.always(() => here.crm.faults.clear())

const manifest = {
  namespace: 'prices',
  version: '1.0.0',
  scope: 'org',
  description: '',
  functions: [{name: 'gross', description: '', parameters: [], examples: [{arguments: [4], result: 5}]}],
}

const startWorker = openWorkers(() => here.config)
const standing = openLongLivedWorker(() => here.config)

const column = (field: string, source: string, more: object = {}) => ({field, mode: 'column', source, ...more})
const made = (field: string, transform: string, more: object = {}) => ({field, mode: 'expression', transform, ...more})
const found = (by: string, value: string) => here.crm.records('example', 'Orders').filter(record => record[by] === value)
const run = async (csv: string, flow: object) => {
  await standing.start()
  return runImport(org, {csv, flow: {module: 'Orders', ...flow}})
}

test.serial('rows carry the results of their expressions, which read the context and the libraries', async t => {
  const csv = 'first,last,price,when\nAna,Ruiz,8,31.01.2026\n Bo ,  ,\\N,\n'
  const {run: ended, path} = await run(csv, {
    fields: [
      made('Name', 'row.first.trim() + " " + (row.last.trim() || context.region)'),
      column('Amount', 'price', {transform: 'prices.gross(value)'}),
      made('Quantity', 'row.first.length'),
      made('Paid', 'row.last.trim() !== ""'),
      column('Order_Date', 'when', {transform: 'helpers.date(value, "DD.MM.YYYY")'}),
      made('Channels', 'row.last.trim() ? ["web", "Shop"] : null', {empty: 'clear'}),
    ],
  })
  t.like(ended.counts.Orders, {created: 2, failed: 0})
  t.like(found('Name', 'Ana Ruiz'), [{Amount: 10, Quantity: 3, Paid: true, Order_Date: '2026-01-31', Channels: ['Web', 'Shop']}])
  t.like(found('Name', 'Bo north'), [{Amount: null, Quantity: 4, Paid: false, Order_Date: null}])
  t.like(await readLog(org.call, `${path}/runs/${ended.id}`), [{outcome: 'created'}, {outcome: 'created'}])
})

test.serial('an expression that fails in a row fails that row alone, with the line and column of its own source', async t => {
  const csv = 'name,code\nGood,e-1\nBad,\nGood,many\n'
  const {run: ended, path} = await run(csv, {
    fields: [column('Name', 'name'), made('Quantity', 'row.code ===\n "many" ? "lots" : Number(row.code.split("-")[1].trim())')],
  })
  t.like(ended.counts.Orders, {created: 1, failed: 2})
  const log = await readLog(org.call, `${path}/runs/${ended.id}`)
  const failed = log.filter(({outcome}) => outcome === 'failed').sort((a, b) => a.rowNumber - b.rowNumber)
  t.like(failed, [
    {rowNumber: 2, code: 'EXPRESSION_THROWN', target: 'Quantity', attempt: 0},
    {rowNumber: 3, code: 'INVALID_VALUE', target: 'Quantity'},
  ])
  t.regex(failed[0].message, /\(line 2, column \d+\)$/)
})

test.serial('a row whose expression takes too long fails alone', async t => {
  const csv = `name\n${['One', 'Two', 'Three'].join('\n')}\n`
  const {run: ended, path} = await run(csv, {
    fields: [
      column('Name', 'name'),
      made('Code', 'row.name === "Two" ? [..."x".repeat(1e5)].map(x => [..."y".repeat(1e5)].length).length : row.name'),
    ],
  })
  t.like(ended.counts.Orders, {created: 2, failed: 1})
  const [failed] = (await readLog(org.call, `${path}/runs/${ended.id}`)).filter(({outcome}) => outcome === 'failed')
  t.is(failed.rowNumber, 2)
  t.regex(failed.code, /^EXPRESSION_(TIMEOUT|MEMORY)$/)
})

test.serial('a run stops with EXPRESSION_TIMEOUT if an expression takes too long in every row', async t => {
  const csv = `name\n${Array.from({length: 120}, (_, n) => `Slow ${n}`).join('\n')}\n`
  const {run: ended} = await run(csv, {
    fields: [column('Name', 'name'), made('Code', 'RegExp("^(a+)+$").test("a".repeat(40) + "b")')],
  })
  t.like(ended, {stop: {stopped: 'EXPRESSION_TIMEOUT'}, rowsWritten: 0})
  t.regex(ended.stop.message, /Correct the expression\. Retry this run to continue/)
})

test.serial('a filter leaves rows out and only counts them, while a guard skips rows and logs them', async t => {
  const csv = `name,kind\n${Array.from({length: 1_200}, (_, n) => `F-${n + 1},${n % 3 ? (n % 3 === 1 ? 'no' : 'guard') : 'yes'}`).join('\n')}\n`
  const {run: ended, path} = await run(csv, {
    filter: 'row.kind !== "no"',
    guard: 'row.kind !== "guard"',
    fields: [column('Name', 'name')],
  })
  t.like(ended.counts.Orders, {created: 400, skipped: 400, filtered: 400})
  t.like(ended, {rowsWritten: 400, progress: {done: 1_200, total: 1_200}})
  const log = await readLog(org.call, `${path}/runs/${ended.id}`)
  t.is(log.length, 800)
  t.like(
    log.find(({rowNumber}) => rowNumber === 3),
    {outcome: 'skipped', code: 'GUARDED', attempt: 0, phase: 'write'},
  )
  t.false(log.some(({rowNumber}) => rowNumber % 3 === 2))
  const lines = (await org.call('GET', `${path}/results.csv?run=${ended.id}`)).text.trim().split('\r\n')
  t.regex(lines[1]!, /^F-1,yes,Written,\d+,$/)
  t.is(lines[2], 'F-2,no,,,')
  t.regex(lines[3]!, /^F-3,guard,Skipped,/)
})

test.serial('a file whose rows are all filtered out ends with all of them counted', async t => {
  const {run: ended} = await run('name\na\nb\nc\n', {filter: 'false', fields: [column('Name', 'name')]})
  t.like(ended, {counts: {Orders: {filtered: 3, created: 0}}, stop: null, progress: {done: 3, total: 3}})
})

test.serial('a library or context that changes after a run began does not affect the run', async t => {
  await standing.stop()
  const {path} = await prepareImport(org, {
    csv: 'name\nFrozen\n',
    flow: {module: 'Orders', fields: [column('Name', 'name'), made('Amount', 'prices.gross(4)'), made('Short', 'context.region')]},
  })
  const {run: begun} = await ok(org.call('POST', `${path}/runs`, {}), 202)
  const changed = {...manifest, version: '2.0.0', functions: [{...manifest.functions[0], examples: []}]}
  await ok(org.call('PUT', `/orgs/${org.org}/libraries/prices`, {manifest: changed, source: 'export const gross = n => 0\n'}), 200)
  await ok(org.call('PATCH', `/orgs/${org.org}/config/settings`, {expressionContext: {region: 'south'}}), 200)
  startWorker()
  await untilEnded(org.call, `${path}/runs/${begun.id}`)
  t.like(found('Name', 'Frozen'), [{Amount: 5, Short: 'north'}])
})

const rows = 700
const changing = {
  module: 'Accounts',
  match: {by: ['Account_Number'], onOne: 'update', onMany: 'skip', unchanged: 'write'},
  filter: 'row.n % 10 !== 9',
  fields: [
    made('Account_Name', 'row.number + " " + Math.random()'),
    column('Account_Number', 'number'),
    made('Billing_City', 'String(Date.now())'),
    made('Employees', 'Math.floor(Math.random() * 1e6)'),
  ],
}
const numbered = (prefix: string) => `number,n\n${Array.from({length: rows}, (_, n) => `${prefix}${n},${n}`).join('\n')}\n`

/** Returns every payload sent for each account, over all requests. */
const sentPayloads = (prefix: string) => {
  const sent = new Map<string, Set<string>>()
  for (const {method, path, body} of here.crm.journal()) {
    if (method !== 'POST' || path !== '/crm/v8/Accounts') continue
    for (const record of body.data) {
      const number = String(record.Account_Number)
      if (number.startsWith(prefix)) sent.set(number, (sent.get(number) ?? new Set()).add(JSON.stringify(record)))
    }
  }
  return sent
}

for (const point of ['after_intent:2', 'after_send:3', 'before_settle:2']) {
  test.serial(`a run killed at ${point} sends every row as before the kill, because clock and random values belong to the run`, async t => {
    const prefix = `D${point}-`
    const {path} = await prepareImport(org, {csv: numbered(prefix), flow: changing})
    const {run: begun} = await ok(org.call('POST', `${path}/runs`, {}), 202)
    here.crm.clearJournal()
    await killAt(startWorker, point)
    startWorker()
    const ended = await untilEnded(org.call, `${path}/runs/${begun.id}`)
    t.like(ended.counts.Accounts, {created: 630, filtered: 70})
    const sent = sentPayloads(prefix)
    t.is(sent.size, 630)
    t.true([...sent.values()].every(payloads => payloads.size === 1))
    const cities = new Set([...sent.values()].map(([payload]) => JSON.parse(payload!).Billing_City))
    t.is(cities.size, 1, 'one moment for all rows')
    t.true(new Set([...sent.values()].map(([payload]) => JSON.parse(payload!).Account_Name)).size > 600)
  })
}

test.serial('rows that are filtered out are counted once, even if the worker is killed repeatedly', async t => {
  const {path} = await prepareImport(org, {csv: numbered('Y-'), flow: {...changing, filter: 'row.n % 2'}})
  const {run: begun} = await ok(org.call('POST', `${path}/runs`, {}), 202)
  here.crm.faults.add({match: {method: 'POST', path: '/crm/v8/Accounts'}, times: 1_000, action: {type: 'slow', ms: 150, when: 'after'}})
  await killAtRows(startWorker, {call: org.call, runPath: `${path}/runs/${begun.id}`, rows: [200, 400]})
  const ended = await untilEnded(org.call, `${path}/runs/${begun.id}`)
  t.like(ended, {counts: {Accounts: {created: 350, filtered: 350}}, progress: {done: rows, total: rows}})
  assertOnce(
    here.crm,
    'Y-',
    new Map(
      (await readLog(org.call, `${path}/runs/${begun.id}`))
        .filter(({outcome}) => outcome === 'created')
        .map(entry => [entry.rowNumber, entry]),
    ),
  )
})

test.serial('a run with expressions accounts for every row like any other run', async t => {
  startWorker()
  const csv = `name,number\n${Array.from({length: 700}, (_, n) => `N ${n},Q-${n}`).join('\n')}\n`
  const {run: ended, path} = await runImport(org, {
    csv,
    flow: {module: 'Accounts', fields: [made('Account_Name', 'row.name.toUpperCase()'), column('Account_Number', 'number')]},
  })
  const {outcomes} = await assertAccounted(here, {org, path, run: ended, rows: 700})
  t.deepEqual(outcomes, {created: 700})
})
