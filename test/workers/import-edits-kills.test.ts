import {once} from 'node:events'
import test from 'ava'
import {accountRows, accounts, ok, openOrg, prepareImport, readLog, runImport, untilEnded} from '../support/importing.ts'
import {startTestDeployment} from '../support/test-deployment.ts'
import {killAt, openWorkers} from '../support/worker-process.ts'

let here: Awaited<ReturnType<typeof startTestDeployment>>
let org: Awaited<ReturnType<typeof openOrg>>

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['discovery'], environment: {LEASE_SECONDS: '1.5', CRM_TIMEOUT_SECONDS: '5'}})
  org = await openOrg(here)
})

const startWorker = openWorkers(() => here.config)
const keeping = {...accounts, match: {...accounts.match, unchanged: 'skip', onEdited: 'keep'}}
const rows = 300
const cities = (...names: string[]) => `name,number,city\n${names.map((city, n) => `Acme,S-${n + 1},${city}`).join('\n')}\n`

test.serial('every edit is kept and logged once when workers are killed before and after they send', async t => {
  const first = startWorker()
  await runImport(org, {csv: accountRows(rows, 'K-'), flow: keeping})
  first.kill('SIGKILL')
  await once(first, 'exit')
  const records: any[] = here.crm.records('example', 'Accounts')
  const edited = records.filter((_, at) => at % 3 === 0).map(({id}) => ({id, Billing_City: `Mine ${id}`}))
  for (let at = 0; at < edited.length; at += 100) here.crm.update('example', 'Accounts', edited.slice(at, at + 100))

  const csv = accountRows(rows, 'K-').replaceAll('Town', 'City').replaceAll('Company', 'Firm')
  const {path} = await prepareImport(org, {csv, flow: keeping})
  const {run} = await ok(org.call('POST', `${path}/runs`, {}), 202)
  for (const point of ['after_send:2', 'after_intent:1', 'before_settle:1']) await killAt(startWorker, point)
  startWorker()
  const ended = await untilEnded(org.call, `${path}/runs/${run.id}`)

  t.like(ended, {stop: null, keptEdits: edited.length, counts: {Accounts: {updated: rows, skipped: 0, unanswered: 0}}})
  const kept = (await readLog(org.call, `${path}/runs/${run.id}`)).filter(({code}) => code === 'KEPT_EDIT')
  t.deepEqual(kept.map(({recordId}) => recordId).toSorted(), edited.map(({id}) => id).toSorted())
  const mine = new Map(edited.map(({id, Billing_City}) => [id, Billing_City]))
  for (const record of here.crm.records('example', 'Accounts') as any[]) {
    t.is(record.Billing_City, mine.get(record.id) ?? `City ${(Number(record.Account_Number.slice(2)) - 1) % 7}`)
  }
})

test.serial('what a cancelled run sent before its worker was killed is no edit for the next import', async t => {
  const worker = startWorker()
  await runImport(org, {csv: cities('Bern', 'Bern'), flow: keeping})
  worker.kill('SIGKILL')
  await once(worker, 'exit')
  const recordOf = (number: string) => here.crm.records('example', 'Accounts').find(({Account_Number: one}) => one === number)!
  here.crm.update('example', 'Accounts', [{id: recordOf('S-2').id, Account_Name: 'Mine'}])

  const {path} = await prepareImport(org, {csv: cities('Basel', 'Basel'), flow: keeping})
  const {run} = await ok(org.call('POST', `${path}/runs`, {}), 202)
  await killAt(startWorker, 'after_send:1')
  t.is(recordOf('S-1').Billing_City, 'Basel')
  await ok(org.call('POST', `${path}/runs/${run.id}/cancel`), 200)
  startWorker()
  const ended = await untilEnded(org.call, `${path}/runs/${run.id}`)
  t.like(ended, {stop: {stopped: 'CANCELLED'}, counts: {Accounts: {unanswered: 2}}})

  const next = await runImport(org, {csv: cities('Chur', 'Chur'), flow: keeping})
  t.like(next.run, {keptEdits: 1, counts: {Accounts: {updated: 2, skipped: 0}}})
  t.like(recordOf('S-1'), {Billing_City: 'Chur'})
  t.like(recordOf('S-2'), {Billing_City: 'Chur', Account_Name: 'Mine'}, 'the edit of before stays')
})
