import test from 'ava'
import {accountRows, accounts, type Org, ok, openOrg, prepareImport, readLog, runImport, untilEnded} from '../support/importing.ts'
import {assertAccounted, finalsOf} from '../support/oracle.ts'
import {applyPlan, choices, makePlan, rowsOf} from '../support/sealed-plans.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

let here: TestDeployment
let org: Org

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['discovery', 'imports'], environment: {CRM_TIMEOUT_SECONDS: '5', CRM_LAG_SECONDS: '1'}})
  org = await openOrg(here)
})

const list = (prefix: string) =>
  here.crm.records('example', 'Accounts').filter(({Account_Number: number}) => String(number).startsWith(prefix))
const valuesOf = (prefix: string) =>
  list(prefix).map(({id, Account_Name, Account_Number, Billing_City}) => ({id, Account_Name, Account_Number, Billing_City}))
const make = (records: object[]) => here.crm.create('example', 'Accounts', records as any, {as: 'ben@example.org'})
const edit = (id: unknown, values: object) => here.crm.update('example', 'Accounts', [{id: String(id), ...values}], {as: 'ben@example.org'})

/** Matching options, one for each seed. */
const matches = [
  {unchanged: 'write'},
  {unchanged: 'skip'},
  {unchanged: 'skip', onEdited: 'keep'},
  {unchanged: 'write', onOne: 'skip'},
  {unchanged: 'skip', onEdited: 'overwrite'},
  {unchanged: 'skip', onMany: 'first'},
]

for (const [seed, match] of matches.entries()) {
  test.serial(`the applied rows are the planned rows without those whose record or match changed since (seed ${seed})`, async t => {
    const is = choices(seed)
    const prefix = `P${seed}-`
    const keys = Array.from({length: 160}, (_, n) => `${prefix}${n + 1}`)
    const cityOf = (key: string) => (is(`same ${key}`, 0.3) ? 'Old' : 'New')
    make(keys.filter(key => is(`there ${key}`, 0.5)).map(key => ({Account_Name: `N ${key}`, Account_Number: key, Billing_City: 'Old'})))
    const twice = keys.filter(key => is(`twice ${key}`, 0.1))
    const lines = [...keys.map(key => [`N ${key}`, key, cityOf(key)]), ...twice.map(key => [`N ${key}`, key, 'Last'])]
    const csv = `name,number,city\n${lines.map(line => line.join(',')).join('\n')}\n`
    const {path} = await prepareImport(org, {csv, flow: {...accounts, match: {...accounts.match, ...match}}})
    const dry = await makePlan(org, path)
    const planned = rowsOf(dry.log, ({outcome}) => outcome === 'planned')
    t.like(dry.plan, {state: 'sealed', rows: planned.length})

    here.crm.clock.advance(3_000)
    const there = new Map(list(prefix).map(record => [String(record.Account_Number), record]))
    const touched = new Set(keys.filter(key => is(`touched ${key}`, 0.2)))
    for (const key of touched) {
      const record = there.get(key)
      if (!record) make([{Account_Name: 'Ben', Account_Number: key, Billing_City: 'Ben'}])
      else if (is(`gone ${key}`, 0.2)) here.crm.remove('example', 'Accounts', [String(record.id)])
      else edit(record.id, {Billing_City: is(`equal ${key}`, 0.5) ? cityOf(key) : 'Ben'})
    }
    const before = valuesOf(prefix)
    const run = await applyPlan(org.call, path, dry.run.id)
    t.like(run, {planOf: dry.run.id, stop: null})
    const {log} = await assertAccounted(here, {org, path, run, rows: lines.length})
    const stale = planned.filter(row => touched.has(lines[row - 1]![1]!))
    t.true(stale.length > 5 && stale.length < planned.length)
    t.deepEqual(
      rowsOf(log, ({outcome}) => outcome === 'created' || outcome === 'updated'),
      planned.filter(row => !stale.includes(row)),
    )
    t.deepEqual(
      rowsOf(log, ({outcome, code}) => outcome === 'skipped' && code === 'PLAN_STALE').filter(row => planned.includes(row)),
      stale,
    )
    const isUntouched = ({Account_Number: number}: {Account_Number?: unknown}) => touched.has(String(number))
    t.deepEqual(valuesOf(prefix).filter(isUntouched), before.filter(isUntouched))
    const cityNow = new Map(list(prefix).map(({Account_Number, Billing_City}) => [String(Account_Number), Billing_City]))
    for (const row of planned.filter(one => !stale.includes(one))) {
      const [, key] = lines[row - 1]!
      t.is(cityNow.get(key!), lines[planned.findLast(one => lines[one - 1]![1] === key)! - 1]![2], `row ${row}`)
    }
  })
}

test.serial('rows that the dry run found unchanged or edited end the same way when the plan is applied', async t => {
  const csv = (...cities: string[]) => `name,number,city\n${cities.map((city, n) => `N,Sk-${n + 1},${city}`).join('\n')}\n`
  const flow = {...accounts, match: {...accounts.match, unchanged: 'skip', onEdited: 'keep'}}
  await runImport(org, {csv: csv('A', 'A', 'A', 'A'), flow})
  edit(list('Sk-').find(({Account_Number: number}) => number === 'Sk-2')!.id, {Billing_City: 'Ben'})
  const {path} = await prepareImport(org, {csv: csv('A', 'B', 'B', 'A'), flow})
  const dry = await makePlan(org, path)
  t.like(dry.plan, {rows: 1})
  here.crm.clock.advance(3_000)
  const run = await applyPlan(org.call, path, dry.run.id)
  const log = await readLog(org.call, `${path}/runs/${run.id}`)
  const codes = [...finalsOf(log).values()].sort((a, b) => a.rowNumber - b.rowNumber).map(({outcome, code}) => code ?? outcome)
  t.deepEqual(codes, ['UNCHANGED', 'KEPT_EDIT', 'updated', 'UNCHANGED'])
  t.like(run, {planStale: 0, unchanged: 2, keptRows: 1})
})

test.serial('a row that the plan does not write is stale and raises no question if a person edited its record since', async t => {
  const csv = 'name,number,city\nN,Sq-1,A\n'
  const flow = {...accounts, match: {...accounts.match, unchanged: 'skip', onEdited: 'ask'}}
  await runImport(org, {csv, flow})
  const {path} = await prepareImport(org, {csv, flow})
  const dry = await makePlan(org, path)
  here.crm.clock.advance(3_000)
  edit(list('Sq-')[0]!.id, {Billing_City: 'Ben'})
  const run = await applyPlan(org.call, path, dry.run.id)
  t.like(run, {planStale: 1, questions: 0, counts: {Accounts: {skipped: 1}}})
  t.is(list('Sq-')[0]!.Billing_City, 'Ben')
})

test.serial('sealing twice answers the same digest, equal imports have equal digests, and another value has another one', async t => {
  const first = await prepareImport(org, {csv: accountRows(5, 'Sd-'), flow: accounts})
  const dry = await makePlan(org, first.path)
  const again = await ok(org.call('POST', `${first.path}/runs/${dry.run.id}/seal`), 200)
  t.deepEqual(again.plan, dry.plan)
  t.deepEqual((await ok(org.call('GET', `${first.path}/runs/${dry.run.id}/seal`), 200)).plan, dry.plan)
  const second = await makePlan(org, (await prepareImport(org, {csv: accountRows(5, 'Sd-'), flow: accounts})).path)
  t.is(second.plan.digest, dry.plan.digest)
  const other = await makePlan(
    org,
    (await prepareImport(org, {csv: accountRows(5, 'Sd-').replace('Company 3', 'Firm 3'), flow: accounts})).path,
  )
  t.not(other.plan.digest, dry.plan.digest)
  const {changes} = await ok(org.call('GET', `/orgs/${org.org}/config/changes?limit=50`), 200)
  t.is((changes as any[]).filter(({subject, after}) => subject === 'plan.sealed' && after.run === dry.run.id).length, 1)
})

test.serial('a retry keeps to the plan: it writes a refused row, and leaves a row whose record is still changed', async t => {
  make([{Account_Name: 'Theirs', Account_Number: 'Sr-2', Billing_City: 'Old'}])
  const {path} = await prepareImport(org, {csv: accountRows(4, 'Sr-'), flow: accounts})
  const dry = await makePlan(org, path)
  here.crm.clock.advance(3_000)
  edit(list('Sr-')[0]!.id, {Billing_City: 'Ben'})
  here.crm.faults.add({
    match: {method: 'POST', path: '/crm/v8/Accounts'},
    times: 1,
    action: {type: 'refuse', index: 1, code: 'INVALID_DATA'},
  })
  const run = await applyPlan(org.call, path, dry.run.id)
  here.crm.faults.clear()
  t.is(run.planStale, 1)
  const ofRows = await org.call('POST', `${path}/runs`, {retryOf: run.id, rows: {from: 1, to: 1}})
  t.like(ofRows, {status: 400, body: {code: 'INVALID'}}, 'a plan has its own rows')
  const retry = await ok(org.call('POST', `${path}/runs`, {retryOf: run.id}), 202)
  const ended = await untilEnded(org.call, `${path}/runs/${retry.run.id}`)
  t.is(ended.planOf, dry.run.id)
  const log = await readLog(org.call, `${path}/runs/${ended.id}`)
  t.deepEqual(
    rowsOf(log, ({outcome}) => outcome === 'created' || outcome === 'inherited'),
    [1, 3, 4],
  )
  t.deepEqual(
    rowsOf(log, ({code}) => code === 'PLAN_STALE'),
    [2],
  )
  t.is(list('Sr-').find(({Account_Number: number}) => number === 'Sr-2')!.Billing_City, 'Ben')
})

const signInAgain = async () => ({call: here.as(await here.signIn('ana@example.org'))})

test.serial('a plan is applied only if it is sealed, not expired, and of the import as it is', async t => {
  const {path} = await prepareImport(org, {csv: accountRows(3, 'Sx-'), flow: accounts})
  const {run} = await ok(org.call('POST', `${path}/runs`, {dryRun: true}), 202)
  await untilEnded(org.call, `${path}/runs/${run.id}`)
  t.like(await org.call('POST', `${path}/runs`, {planOf: run.id}), {status: 409, body: {code: 'NOT_READY'}})
  const {plan} = await ok(org.call('POST', `${path}/runs/${run.id}/seal`), 200)
  t.is(Date.parse(plan.expiresAt) - Date.parse(plan.sealedAt), 7 * 86_400_000)
  const settings = await ok(org.call('GET', path), 200)
  await ok(org.call('PUT', `${path}/flows`, [{...settings.import.flows[0], fields: accounts.fields.slice(0, 2)}]), 200)
  t.like(await org.call('POST', `${path}/runs`, {planOf: run.id}), {status: 409, body: {code: 'PLAN_CHANGED'}})
  t.like(await org.call('POST', `${path}/runs/${run.id}/seal`), {status: 409, body: {code: 'PLAN_CHANGED'}})
  await ok(org.call('PUT', `${path}/flows`, settings.import.flows), 200)
  await here.ahead('169 hours')
  const {call} = await signInAgain()
  t.like(await call('POST', `${path}/runs`, {planOf: run.id}), {status: 410, body: {code: 'PLAN_EXPIRED'}})
  t.like(await call('POST', `${path}/runs/${run.id}/seal`), {status: 410, body: {code: 'PLAN_EXPIRED'}})
})
