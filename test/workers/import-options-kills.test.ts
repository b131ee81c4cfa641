import test from 'ava'
import {accountRows, accounts, ok, openOrg, prepareImport, readLog, untilEnded} from '../support/importing.ts'
import {startTestDeployment} from '../support/test-deployment.ts'
import {killAt, openWorkers} from '../support/worker-process.ts'

let here: Awaited<ReturnType<typeof startTestDeployment>>
let org: Awaited<ReturnType<typeof openOrg>>

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['discovery'], environment: {LEASE_SECONDS: '1.5', CRM_TIMEOUT_SECONDS: '5'}})
  org = await openOrg(here)
})

const startWorker = openWorkers(() => here.config)

test.serial('every record is tagged and none is reported twice when workers are killed while they add tags', async t => {
  const rows = 300
  const {path} = await prepareImport(org, {csv: accountRows(rows, 'Ok-'), flow: {...accounts, tags: ['Fair', 'May']}})
  const {run} = await ok(org.call('POST', `${path}/runs`, {}), 202)
  // The first three batches of the first worker create the records.
  for (const point of ['after_send:5', 'after_intent:1', 'before_settle:1']) await killAt(startWorker, point)
  startWorker()
  const ended = await untilEnded(org.call, `${path}/runs/${run.id}`, 120)
  t.like(ended, {stop: null, rowsWritten: rows, counts: {Accounts: {created: rows, unanswered: 0}}})
  const records: any[] = here.crm.records('example', 'Accounts').filter(({Account_Number}) => String(Account_Number).startsWith('Ok-'))
  t.deepEqual(
    records.map(({Tag}) => Tag.map(({name}: any) => name)),
    Array.from({length: rows}, () => ['Fair', 'May']),
  )
  const tags = (await readLog(org.call, `${path}/runs/${run.id}`)).filter(({phase}) => phase === 'tag')
  t.true(tags.some(({outcome}) => outcome === 'unanswered'))
  const answered = tags.filter(({outcome}) => outcome === 'updated').map(({rowNumber}) => rowNumber)
  t.deepEqual(
    answered.toSorted((a, b) => a - b),
    Array.from({length: rows}, (_, at) => at + 1),
  )
})
