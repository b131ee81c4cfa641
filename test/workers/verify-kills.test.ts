import test from 'ava'
import {accountRows, accounts, ok, openOrg, prepareImport, untilEnded} from '../support/importing.ts'
import {startTestDeployment} from '../support/test-deployment.ts'
import {endWorker, killAt, openWorkers} from '../support/worker-process.ts'

let here: Awaited<ReturnType<typeof startTestDeployment>>
let org: Awaited<ReturnType<typeof openOrg>>

test.before(async t => {
  here = await startTestDeployment(t, {
    workers: ['discovery'],
    environment: {LEASE_SECONDS: '1.5', CRM_TIMEOUT_SECONDS: '5', CRM_LAG_SECONDS: '1', VERIFY_AFTER_SECONDS: '1'},
  })
  org = await openOrg(here)
})

const startWorker = openWorkers(() => here.config)
const rows = 2_500

/** The points at which workers die in one run. A run that loses more owners without progress is executed in a child process. */
const deaths = [['after_send:4', 'before_verified:1'], ['before_settle:3', 'after_verified:1'], ['in_close']]

for (const [at, points] of deaths.entries()) {
  test.serial(`each row is verified once when workers are killed at ${points.join(' and ')}`, async t => {
    const prefix = `K${at}-`
    const values = Array.from({length: rows}, (_, n) => `${prefix}${n + 1}`).filter((_, n) => n % 50 === 0)
    here.crm.setSwitches({
      rewrites: [{module: 'Accounts', where: {field: 'Account_Number', values}, how: 'cut', field: 'Account_Name', length: 8}],
    })
    const {path} = await prepareImport(org, {csv: accountRows(rows, prefix), flow: accounts})
    const {run} = await ok(org.call('POST', `${path}/runs`, {verify: 'all'}), 202)
    for (const point of points) await killAt(startWorker, point)
    const worker = startWorker()
    const ended = await untilEnded(org.call, `${path}/runs/${run.id}`)
    await endWorker(worker)
    t.like(ended, {stop: null, counts: {Accounts: {unanswered: 0}}})
    const {created, updated} = ended.counts.Accounts
    t.is(created + updated, rows)
    t.like(ended.verify, {rows, coerced: values.length, changed: 0, missing: 0, waiting: 0, unverified: 0})
    const {fields, differences, nextCursor} = await ok(org.call('GET', `${path}/runs/${run.id}/verify?limit=1000`), 200)
    t.is(nextCursor, null)
    t.deepEqual(
      differences.map(({rowNumber, field, result}: any) => `${rowNumber} ${field} ${result}`).toSorted(),
      values.map(number => `${number.slice(prefix.length)} Account_Name truncated`).toSorted(),
    )
    t.like(
      fields.find(({field}: any) => field === 'Account_Name'),
      {asSent: rows - values.length, truncated: values.length},
    )
  })
}
