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
