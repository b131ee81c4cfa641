import test from 'ava'
import {sql} from '../../sql/database.ts'
import {accountRows, accounts, type Org, ok, openOrg, prepareImport, readLog, untilEnded} from '../support/importing.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'
import {killAt, openLongLivedWorker, openWorkers} from '../support/worker-process.ts'

let here: TestDeployment
let org: Org
let minutes = 0

test.before(async t => {
  here = await startTestDeployment(t, {
    workers: ['discovery'],
    environment: {LEASE_SECONDS: '2', CRM_TIMEOUT_SECONDS: '5', CRM_LAG_SECONDS: '1'},
  })
  here.crm.setSwitches({bulkSeconds: 0, bulkRowMs: 0})
  org = await openOrg(here)
})
test.beforeEach(async () => {
  await usual.start()
  // Advances the clock, so that earlier runs no longer count as recent writes.
  await here.ahead(`${++minutes} minutes`)
  // The CRM allows ten downloads a minute, so its clock advances by more than a minute.
  here.crm.clock.advance(61_000)
  here.crm.clearJournal()
})
test.afterEach.always(() => {
  here.crm.release()
  here.crm.faults.clear()
})

const start = openWorkers(() => here.config)
const usual = openLongLivedWorker(() => here.config)
const skipping = {...accounts, match: {...accounts.match, unchanged: 'skip'}}
const jobs = {method: 'POST', path: '/crm/bulk/v8/read'}
const download = {path: '/crm/bulk/v8/read/*/result'}
const queries = () => here.crm.journal({method: 'POST', path: '/crm/v8/coql'}).map(({body}) => String(body.select_query))
const matchQueries = () => queries().filter(query => query.includes(' in ('))
const list = (prefix: string) =>
  here.crm.records('example', 'Accounts').filter(({Account_Number: number}) => String(number).startsWith(prefix))
const recordOf = (number: string) => list(number).find(({Account_Number: one}) => one === number)!
const edit = (number: string, values: object) =>
  here.crm.update('example', 'Accounts', [{id: recordOf(number).id, ...values}], {as: 'ben@example.org'})
const create = (count: number, prefix: string) =>
  here.crm.create(
    'example',
    'Accounts',
    Array.from({length: count}, (_, n) => ({
      Account_Name: `Company ${n + 1}`,
      Account_Number: `${prefix}${n + 1}`,
      Billing_City: n % 3 ? `Town ${n % 7}` : 'Old',
    })),
    {as: 'ben@example.org'},
  )

const begin = async (csv: string, body: object = {match: 'snapshot'}, flow: object = skipping) => {
  const {path} = await prepareImport(org, {csv, flow})
  const {run} = await ok(org.call('POST', `${path}/runs`, body), 202)
  return {path: `${path}/runs/${run.id}`, end: () => untilEnded(org.call, `${path}/runs/${run.id}`)}
}
const finish = async (csv: string, body?: object, flow?: object) => {
  const {path, end} = await begin(csv, body, flow)
  const run = await end()
  const log = await readLog(org.call, path)
  return {run, ends: log.map(({rowNumber, outcome, code}) => [rowNumber, outcome, code]).sort(([a], [b]) => a - b)}
}
/** Starts a run. `change` happens after the CRM made the export and before the run reads it. */
const changedMeanwhile = async (csv: string, change: () => unknown) => {
  here.crm.faults.add({match: download, times: 1, action: {type: 'hold', when: 'after'}})
  const {path, end} = await begin(csv)
  await until(
    () => here.crm.held(),
    held => held === 1,
  )
  change()
  here.crm.release()
  return {run: await end(), log: await readLog(org.call, path)}
}
const valuesOf = (prefix: string) =>
  list(prefix).map(({Account_Name, Account_Number, Billing_City}) => [
    Account_Name,
    String(Account_Number).slice(prefix.length),
    Billing_City,
  ])

test.serial('a run that matches against an export writes the same records and outcomes as one that queries', async t => {
  create(90, 'Ma-')
  create(90, 'Mb-')
  const queried = await finish(accountRows(120, 'Ma-'), {})
  t.true(matchQueries().length > 0)
  t.like(queried.run.routes, [{flowId: 'f', match: 'query'}])
  await here.ahead(`${++minutes} minutes`)
  here.crm.clearJournal()
  const exported = await finish(accountRows(120, 'Mb-'))
  t.like(exported.run.routes, [{flowId: 'f', match: 'snapshot'}])
  t.deepEqual(exported.ends, queried.ends)
  t.deepEqual(valuesOf('Mb-'), valuesOf('Ma-'))
  t.like(exported.run.counts.Accounts, {created: 30, updated: 30, skipped: 60})
  t.is(here.crm.journal(jobs).length, 1)
  t.true(
    matchQueries().every(query => !query.includes("'Mb-1'")),
    'only rows that the export lacks are queried',
  )
  t.is(exported.run.cost.byKind.bulk_read >= 50, true)
})

test.serial('a run whose records are all in the export makes no match query', async t => {
  create(50, 'Mc-')
  const {run} = await finish(accountRows(50, 'Mc-'))
  t.like(run.counts.Accounts, {updated: 17, skipped: 33, created: 0})
  t.deepEqual(matchQueries(), [])
})

test.serial('a record that a person changed after the export is matched and compared as it is now', async t => {
  create(6, 'Md-')
  const {run, log} = await changedMeanwhile(accountRows(6, 'Md-'), () => {
    edit('Md-2', {Billing_City: 'Mine'})
    edit('Md-3', {Account_Number: 'Elsewhere-3'})
  })
  t.like(run.counts.Accounts, {created: 1, updated: 3, skipped: 2})
  const codes = Object.fromEntries(log.map(({rowNumber, outcome}) => [rowNumber, outcome]))
  t.deepEqual(codes, {1: 'updated', 2: 'updated', 3: 'created', 4: 'updated', 5: 'skipped', 6: 'skipped'})
  t.is(recordOf('Md-2').Billing_City, 'Town 1')
})

test.serial('a record that a person created or deleted after the export is found as it is now', async t => {
  create(4, 'Me-')
  const {run} = await changedMeanwhile(accountRows(5, 'Me-'), () => {
    here.crm.create('example', 'Accounts', [{Account_Name: 'Theirs', Account_Number: 'Me-5', Billing_City: 'Mine'}], {
      as: 'ben@example.org',
    })
    here.crm.remove('example', 'Accounts', [String(recordOf('Me-2').id)])
  })
  t.like(run.counts.Accounts, {created: 1, updated: 3, skipped: 1})
  t.deepEqual(
    list('Me-')
      .map(({Account_Number}) => Account_Number)
      .sort(),
    ['Me-1', 'Me-2', 'Me-3', 'Me-4', 'Me-5'],
  )
})

test.serial('pages of a module whose records were counted are requested at once, and pages beyond them one after another', async t => {
  create(50, 'Mq-')
  here.crm.setSwitches({bulkReadPage: Math.ceil(here.crm.records('example', 'Accounts').length / 5)})
  t.teardown(() => here.crm.setSwitches({bulkReadPage: 200_000}))
  await here.db.query(sql.unsafe`
    insert into crm_module_sizes (connector_id, module, records) values (${org.connector}, 'Accounts', 450000)
    on conflict (connector_id, module) do update set records = 450000, counted_at = lading_now()`)
  here.crm.faults.add({match: {path: '/crm/bulk/v8/read/*'}, times: 1, action: {type: 'hold', when: 'before'}})
  const {end} = await begin(accountRows(50, 'Mq-'))
  await until(
    () => here.crm.held(),
    held => held === 1,
  )
  const pages = () => here.crm.journal(jobs).map(({body}) => (body as any).query.page ?? 'token')
  t.deepEqual(pages(), [1, 2, 3])
  here.crm.release()
  t.like(await end(), {routes: [{match: 'snapshot'}], counts: {Accounts: {created: 0, updated: 17, skipped: 33}}})
  t.deepEqual(matchQueries(), [])
  t.deepEqual(pages(), [1, 2, 3, 'token', 'token'])
})

for (const [title, age] of [
  ['were never counted', null],
  ['were counted more than an hour ago', '61 minutes'],
] as const)
  test.serial(`the records of a module that ${title} are counted before its export, to know its pages`, async t => {
    const prefix = age === null ? 'Mr-' : 'Ms-'
    create(50, prefix)
    await here.db.query(sql.unsafe`delete from crm_module_sizes where connector_id = ${org.connector}`)
    if (age !== null)
      await here.db.query(sql.unsafe`
        insert into crm_module_sizes (connector_id, module, records, counted_at)
        values (${org.connector}, 'Accounts', 450000, lading_now() - ${age}::interval)`)
    const {run} = await finish(accountRows(50, prefix))
    t.like(run.counts.Accounts, {created: 0, updated: 17, skipped: 33})
    t.is(here.crm.journal({method: 'GET', path: '/crm/v8/Accounts/actions/count'}).length, 1)
    t.is(here.crm.journal(jobs).length, 1)
    const kept = await here.db.oneFirst(sql.unsafe`select records from crm_module_sizes where connector_id = ${org.connector}`)
    t.is(kept, here.crm.records('example', 'Accounts').length)
  })

for (const point of ['export_started', 'export_stored'])
  test.serial(`a worker that dies at ${point} is followed by one that uses the same export`, async t => {
    const prefix = `M${point === 'export_started' ? 'f' : 'g'}-`
    create(40, prefix)
    await usual.stop()
    const {path, end} = await begin(accountRows(40, prefix))
    await killAt(start, point)
    start()
    const run = await end()
    t.like(run.counts.Accounts, {created: 0, skipped: 26, updated: 14})
    t.is(here.crm.journal(jobs).length, 1)
    t.is((await readLog(org.call, path)).length, 40)
    const left = await here.db.anyFirst(sql.unsafe`select key from match_exports`)
    t.deepEqual(left, [])
  })

test.serial('an export that cannot be read twice is given up, and the run says why it queries', async t => {
  create(5, 'Mh-')
  here.crm.faults.add({match: download, times: 2, action: {type: 'brokenZip', how: 'checksum'}})
  const {run} = await finish(accountRows(5, 'Mh-'))
  t.like(run.counts.Accounts, {created: 0, updated: 2, skipped: 3})
  t.is(run.routes[0].match, 'query')
  t.regex(run.routes[0].why, /not readable/)
})

test.serial('a job that failed at the CRM is given up, and the run queries', async t => {
  create(3, 'Mi-')
  here.crm.faults.add({match: jobs, times: 1, action: 'bulkFailure'})
  const {run} = await finish(accountRows(3, 'Mi-'))
  t.like(run.counts.Accounts, {created: 0, updated: 1, skipped: 2})
  t.like(run.routes, [{flowId: 'f', match: 'query', why: 'The export failed at the CRM'}])
})

test.serial('an export whose download is always redirected is given up, and the run queries', async t => {
  create(3, 'Mt-')
  here.crm.faults.add({match: download, times: 99, action: {type: 'redirect'}})
  const {run} = await finish(accountRows(3, 'Mt-'))
  t.like(run.routes, [{flowId: 'f', match: 'query', why: 'The CRM no longer has the export'}])
  t.like(run.counts.Accounts, {created: 0, updated: 1, skipped: 2})
})

test.serial('the cheaper route of a small file is to query, and flows that cannot use an export say why', async t => {
  const {run} = await finish(accountRows(3, 'Mj-'), {match: 'auto'})
  t.like(run.routes, [{flowId: 'f', match: 'query', why: 'Queries cost about 2 credits'}])
  const {run: part} = await finish(accountRows(6_000, 'Mx-'), {match: 'auto', rows: {to: 3}})
  t.like(part.routes, run.routes, 'of a large file, the run reads three rows')
  const two = [skipping, {...skipping, id: 'second'}]
  const {run: both} = await finish(accountRows(3, 'Mk-'), {match: 'snapshot'}, two)
  t.like(both.routes, [{match: 'query', why: 'Several flows write this module, so an export would soon be old'}, {match: 'query'}])
  t.deepEqual(here.crm.journal(jobs), [])
})

test.serial('stored files of an export are sealed, and are deleted with the run', async t => {
  create(3, 'Ml-')
  here.crm.faults.add({match: {method: 'PUT', path: '/crm/v8/Accounts'}, times: 1, action: {type: 'hold', when: 'before'}})
  const {end} = await begin(accountRows(3, 'Ml-'))
  const [key] = await until(
    async () => here.db.anyFirst(sql.unsafe`select key from match_exports where key is not null`),
    keys => keys.length === 1 && here.crm.held() === 1,
  )
  const stored = Buffer.concat(await Array.fromAsync(await here.storage.read(String(key))))
  t.not(stored.subarray(0, 2).toString(), 'PK')
  t.false(stored.includes('Company'))
  here.crm.release()
  await end()
  const loose = await here.db.anyFirst(sql.unsafe`select key from loose_objects where key = ${String(key)} and doomed`)
  t.deepEqual(loose, [key])
})

test.serial('values for edits of people and for an undo are read by id before a record of the export is updated', async t => {
  const keeping = {...skipping, match: {...skipping.match, onEdited: 'keep'}}
  create(4, 'Mm-')
  await finish(accountRows(4, 'Mm-'), {}, keeping)
  edit('Mm-3', {Billing_City: 'Mine'})
  const before = valuesOf('Mm-')
  await here.ahead(`${++minutes} minutes`)
  const csv = accountRows(4, 'Mm-').replaceAll('Town', 'City')
  const {path, end} = await begin(csv, {match: 'snapshot'}, keeping)
  t.like(await end(), {routes: [{match: 'snapshot'}], keptEdits: 1, counts: {Accounts: {updated: 3, skipped: 1}}})
  t.is(recordOf('Mm-3').Billing_City, 'Mine')
  t.is(recordOf('Mm-2').Billing_City, 'City 1')
  const {run: undo} = await ok(org.call('POST', `${path}/undo`, {}), 202)
  t.like(await untilEnded(org.call, `${path.slice(0, path.lastIndexOf('/'))}/${undo.id}`), {undo: {restored: 3, changedSince: 0}})
  t.deepEqual(valuesOf('Mm-'), before)
})

test.serial('a dry run matches against an export too, and plans what the run does', async t => {
  create(30, 'Mn-')
  const {path} = await prepareImport(org, {csv: accountRows(40, 'Mn-'), flow: skipping})
  const dry = (await ok(org.call('POST', `${path}/runs`, {dryRun: true, match: 'snapshot'}), 202)).run
  const planned = await untilEnded(org.call, `${path}/runs/${dry.id}`)
  t.like(planned, {routes: [{match: 'snapshot'}], counts: {Accounts: {planned: 20, skipped: 20}}})
  const real = (await ok(org.call('POST', `${path}/runs`, {match: 'snapshot'}), 202)).run
  t.like(await untilEnded(org.call, `${path}/runs/${real.id}`), {counts: {Accounts: {created: 10, updated: 10, skipped: 20}}})
})

const refusal = (status: number, code: string) => ({
  type: 'answer' as const,
  status,
  body: {code, details: {}, message: code, status: 'error'},
})

test.serial('a connection without the scope for exports, and a CRM that refuses to list changes, are queried instead', async t => {
  create(3, 'Mo-')
  here.crm.faults.add({match: jobs, times: 1, action: refusal(401, 'OAUTH_SCOPE_MISMATCH')})
  const {run} = await finish(accountRows(3, 'Mo-'))
  t.like(run, {stop: null, routes: [{match: 'query', why: 'The CRM refuses to export this module'}]})
  t.like(run.counts.Accounts, {created: 0, updated: 1, skipped: 2})
  await here.ahead(`${++minutes} minutes`)
  create(3, 'Mp-')
  here.crm.faults.add({match: {method: 'POST', path: '/crm/v8/coql'}, times: 1, action: refusal(400, 'INVALID_QUERY')})
  const {run: unlisted} = await finish(accountRows(3, 'Mp-'))
  t.like(unlisted, {stop: null, routes: [{match: 'query', why: 'The changes of the module could not be read'}]})
  t.like(unlisted.counts.Accounts, {created: 0, updated: 1, skipped: 2})
})
