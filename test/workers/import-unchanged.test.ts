import test from 'ava'
import {
  accountRows,
  ok,
  openOrg,
  prepareImport,
  readLog,
  runImport,
  untilEnded,
  untilRun,
  accounts as writing,
} from '../support/importing.ts'
import {companies, people, runFiles} from '../support/lookups.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

/** A flow as a client sets it without the option `unchanged`. */
const accounts = {...writing, match: {...writing.match, unchanged: undefined}}
const peopleMatch = {by: ['Email'], onOne: 'update', onMany: 'skip'}
const creates = {method: 'POST', path: '/crm/v8/Accounts'}
const updates = {method: 'PUT', path: '/crm/v8/Accounts'}
const reads = {method: 'GET', path: '/crm/v8/Accounts'}

type Org = Awaited<ReturnType<typeof openOrg>>
type Ended = Awaited<ReturnType<typeof runImport>>

const open = async (t: Parameters<typeof startTestDeployment>[0], environment = {}) => {
  const here = await startTestDeployment(t, {
    workers: ['discovery', 'imports'],
    environment: {CRM_TIMEOUT_SECONDS: '20', CRM_LAG_SECONDS: '1', ...environment},
  })
  return {here, org: await openOrg(here)}
}

const writes = ({crm}: TestDeployment) => [creates, updates].flatMap(match => crm.journal(match))
const logOf = (org: Org, {path, run}: Ended) => readLog(org.call, `${path}/runs/${run.id}`)
const cityOf = ({crm}: TestDeployment, number: string) =>
  crm.records('example', 'Accounts').find(({Account_Number: one}) => one === number)?.Billing_City

test('a repeated import sends nothing, and logs each row as unchanged with its record', async t => {
  const {here, org} = await open(t)
  const csv = accountRows(120)
  await runImport(org, {csv, flow: accounts})
  here.crm.clearJournal()
  const again = await runImport(org, {csv, flow: accounts})
  t.deepEqual(writes(here), [])
  t.like(again.run.counts.Accounts, {skipped: 120, updated: 0, created: 0})
  const log = await logOf(org, again)
  t.true(log.every(({outcome, code, recordId}) => outcome === 'skipped' && code === 'UNCHANGED' && typeof recordId === 'string'))
  const planned = await runImport(org, {csv, flow: accounts, start: {dryRun: true}})
  t.like(planned.run.counts.Accounts, {skipped: 120, planned: 0})
})

test('only the rows whose values differ are written, also where a value is cleared', async t => {
  const {here, org} = await open(t)
  await runImport(org, {csv: accountRows(5, 'D-'), flow: accounts})
  here.crm.clearJournal()
  const csv = accountRows(5, 'D-').replace('D-2,Town 1', 'D-2,Bern').replace('D-4,Town 3', 'D-4,\\N')
  const {run} = await runImport(org, {csv, flow: accounts})
  t.like(run.counts.Accounts, {skipped: 3, updated: 2})
  t.deepEqual([cityOf(here, 'D-2'), cityOf(here, 'D-4') ?? null], ['Bern', null])
  t.is(writes(here).length, 1)
})

test('rows of one record are written in their order, so that the last one stays', async t => {
  const {here, org} = await open(t)
  await runImport(org, {csv: 'name,number,city\nAcme,E-1,Bern\n', flow: accounts})
  const csv = 'name,number,city\nAcme,E-1,Bern\nAcme,E-1,Basel\nAcme,E-1,Bern\n'
  const {run} = await runImport(org, {csv, flow: accounts})
  t.like(run.counts.Accounts, {skipped: 1, updated: 2})
  t.is(cityOf(here, 'E-1'), 'Bern')
})

test('a flow that asks to write unchanged records updates them', async t => {
  const {here, org} = await open(t)
  await runImport(org, {csv: accountRows(3, 'F-'), flow: writing})
  here.crm.clearJournal()
  const {run} = await runImport(org, {csv: accountRows(3, 'F-'), flow: writing})
  t.like(run.counts.Accounts, {updated: 3, skipped: 0})
})

test('flows skip unchanged records unless they are stored without the option', async t => {
  const {here, org} = await open(t)
  const {path} = await prepareImport(org, {csv: accountRows(3, 'G-'), flow: accounts})
  const importOf = async () => (await ok(org.call('GET', path), 200)).import
  t.is((await importOf()).flows[0].match.unchanged, 'skip')
  const begin = async () => {
    const {run} = await ok(org.call('POST', `${path}/runs`, {}), 202)
    return untilEnded(org.call, `${path}/runs/${run.id}`)
  }
  await begin()
  const {sql} = await import('../../sql/database.ts')
  await here.db.query(sql.unsafe`update imports set flows = flows #- '{0,match,unchanged}' where id = ${path.split('/').at(-1)!}`)
  t.like((await begin()).counts.Accounts, {updated: 3, skipped: 0})
})

test('records that another run wrote within the lag of queries are read by id before a row counts as unchanged', async t => {
  const {here, org} = await open(t, {CRM_LAG_SECONDS: '60'})
  const csvOf = (city: string) => `name,number,city\nAcme,H-1,${city}\n`
  await runImport(org, {csv: csvOf('Bern'), flow: accounts})
  here.crm.clock.advance(120_000)
  here.crm.setSwitches({coqlLagSeconds: 30})
  await runImport(org, {csv: csvOf('Basel'), flow: accounts})
  t.is(cityOf(here, 'H-1'), 'Basel')
  here.crm.clearJournal()
  await runImport(org, {csv: csvOf('Bern'), flow: accounts})
  t.is(cityOf(here, 'H-1'), 'Bern', 'the query still showed Bern')
  t.true(here.crm.journal(reads).length > 0)
})

test('if the CRM refuses to select a mapped field, the run matches without it and updates each record', async t => {
  const {here, org} = await open(t)
  await runImport(org, {csv: accountRows(3, 'I-'), flow: accounts})
  const refused = {
    status: 400,
    body: {code: 'INVALID_QUERY', details: {column_name: 'Billing_City'}, message: 'unsupported column', status: 'error'},
  }
  here.crm.faults.add({match: {method: 'POST', path: '/crm/v8/coql'}, times: 2, action: {type: 'answer', ...refused}})
  const {run} = await runImport(org, {csv: accountRows(3, 'I-'), flow: accounts})
  t.like(run.counts.Accounts, {updated: 3, failed: 0})
})

test('a row is not skipped as unchanged while the CRM may still execute an older unanswered update of its record', async t => {
  const {here, org} = await open(t, {CRM_TIMEOUT_SECONDS: '2'})
  await runImport(org, {csv: 'name,number,city\nAcme,J-1,Bern\n', flow: accounts})
  here.crm.faults.add({match: updates, times: 3, action: {type: 'late', ms: 4_000}})
  const {run} = await runImport(org, {csv: 'name,number,city\nAcme,J-1,Basel\nAcme,J-1,Bern\n', flow: accounts})
  t.like(run, {unchanged: 0, counts: {Accounts: {unanswered: 1, updated: 1}}})
  t.is(cityOf(here, 'J-1'), 'Bern')
})

test('an unanswered update is sent again after a long pause, and not reported as unchanged', async t => {
  const {here, org} = await open(t, {CRM_TIMEOUT_SECONDS: '2'})
  await runImport(org, {csv: 'name,number,city\nAcme,L-1,Bern\n', flow: accounts})
  here.crm.faults.add({match: updates, times: 1, action: 'dropAfter'})
  here.crm.faults.add({match: updates, times: 1, action: {type: 'rateLimit', retryAfter: 600}})
  const {path} = await prepareImport(org, {csv: 'name,number,city\nAcme,L-1,Basel\n', flow: accounts})
  const {run: begun} = await ok(org.call('POST', `${path}/runs`, {}), 202)
  await untilRun(org.call, `${path}/runs/${begun.id}`, ({state}) => state === 'paused')
  t.is(cityOf(here, 'L-1'), 'Basel')
  await here.ahead('11 minutes')
  const run = await untilEnded(org.call, `${path}/runs/${begun.id}`)
  t.like(run, {unchanged: 0, counts: {Accounts: {updated: 1, skipped: 0}}})
})

test('the credits that a run reports as saved are those that its updates cost otherwise', async t => {
  const {here, org} = await open(t)
  const csv = accountRows(100, 'K-')
  await runImport(org, {csv, flow: accounts})
  const spend = async (flow: object) => {
    const before = here.crm.credits('example').used
    const {run} = await runImport(org, {csv, flow})
    return {run, credits: here.crm.credits('example').used - before}
  }
  const written = await spend(writing)
  // Without this wait, unchanged records would be read by id too, because of the lag.
  await here.ahead('1 minute')
  const skipped = await spend(accounts)
  t.is(skipped.run.unchanged, 100)
  t.is(written.run.unchanged, 0)
  t.is(skipped.run.creditsSaved, written.credits - skipped.credits)
})

test('a row whose only change is its parent is written, and is skipped when repeated', async t => {
  const {here, org} = await open(t)
  const flows = [
    companies(),
    people({key: {parentColumn: 'number', childColumn: 'company'}}, {match: {...peopleMatch, unchanged: undefined}}),
  ]
  const files = (company: string) => ({
    companies: 'name,number\nOne,L-1\nTwo,L-2\n',
    people: `last,mail,company\nAsh,ash@l.example,${company}\n`,
  })
  await runFiles(org, files('L-1'), flows)
  const {run} = await runFiles(org, files('L-2'), flows)
  t.like(run.counts.Contacts, {updated: 1, skipped: 0})
  const [{Account_Name: account}] = here.crm.records('example', 'Contacts').filter(({Email}) => Email === 'ash@l.example') as any
  t.is(account.id, here.crm.records('example', 'Accounts').find(({Account_Number}) => Account_Number === 'L-2')!.id)
  const again = await runFiles(org, files('L-2'), flows)
  t.like(again.run.counts.Contacts, {updated: 0, skipped: 1})
})
