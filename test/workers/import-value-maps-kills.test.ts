import test from 'ava'
import {accounts, ok, openOrg, prepareImport, readLog, untilEnded, untilRun} from '../support/importing.ts'
import {assertAccounted} from '../support/oracle.ts'
import {startTestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'
import {endWorker, killAt, openWorkers} from '../support/worker-process.ts'

let here: Awaited<ReturnType<typeof startTestDeployment>>
let org: Awaited<ReturnType<typeof openOrg>>

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['discovery'], environment: {LEASE_SECONDS: '1.5', CRM_TIMEOUT_SECONDS: '5'}})
  org = await openOrg(here)
})
test.afterEach.always(() => here.crm.faults.clear())

const startWorker = openWorkers(() => here.config)

const rows = 700
/** Entries of the value map. Every third city has none. */
const values = [0, 1].map(n => ({from: `town ${n}`, to: `City ${n}`}))
const flow = {
  ...accounts,
  fields: accounts.fields.map(mapping => (mapping.field === 'Billing_City' ? {...mapping, values, otherwise: 'empty'} : mapping)),
}
const csvOf = (prefix: string) =>
  `name,number,city\n${Array.from({length: rows}, (_, n) => `Company ${n},${prefix}${n},Town ${n % 3}`).join('\n')}\n`
const unmapped = [{flowId: 'f', field: 'Billing_City', cells: Math.floor(rows / 3)}]

const begin = async (prefix: string) => {
  const {path} = await prepareImport(org, {csv: csvOf(prefix), flow})
  const {run} = await ok(org.call('POST', `${path}/runs`, {}), 202)
  return {path, runPath: `${path}/runs/${run.id}`}
}

for (const point of ['after_intent:2', 'after_send:3', 'before_settle:2']) {
  test.serial(`unmapped cells are counted once after a worker was killed at ${point}`, async t => {
    const {path, runPath} = await begin(`U${point}-`)
    await killAt(startWorker, point)
    startWorker()
    const run = await untilEnded(org.call, runPath)
    t.like(run.counts.Accounts, {created: rows, failed: 0})
    t.deepEqual(run.unmapped, unmapped)
    await assertAccounted(here, {org, path, run, rows})
  })
}

test.serial('unmapped cells are counted once if the worker dies while batches settle out of order', async t => {
  const {runPath} = await begin('V-')
  const posts = {method: 'POST', path: '/crm/v8/Accounts'}
  here.crm.faults.add({match: posts, times: 1, action: {type: 'slow', ms: 3_000, when: 'after'}})
  const worker = startWorker()
  // The first batch is still in flight, so these rows are above the low-water mark.
  await untilRun(org.call, runPath, ({progress}) => progress.done >= 200)
  await endWorker(worker)
  startWorker()
  const run = await untilEnded(org.call, runPath)
  t.like(run.counts.Accounts, {created: rows})
  t.deepEqual(run.unmapped, unmapped)
})

test.serial('after a takeover in the patch pass, only unmapped cells of fields that apply to the row are counted', async t => {
  const patched = (field: string, when: string) => ({
    field,
    mode: 'column',
    source: 'city',
    values,
    otherwise: 'keep',
    patch: {when: [when]},
  })
  const fields = [...accounts.fields.slice(0, 2), patched('Billing_City', 'created'), patched('Billing_Country', 'updated')]
  const {path} = await prepareImport(org, {csv: csvOf('W-'), flow: {...accounts, fields}})
  const {run: begun} = await ok(org.call('POST', `${path}/runs`, {}), 202)
  const runPath = `${path}/runs/${begun.id}`
  here.crm.faults.add({match: {method: 'PUT', path: '/crm/v8/Accounts'}, times: 1, action: {type: 'hold', when: 'after'}})
  const worker = startWorker()
  await until(
    () => readLog(org.call, runPath),
    log => log.filter(({phase}) => phase === 'patch').length >= 200,
  )
  await endWorker(worker)
  here.crm.release()
  startWorker()
  const run = await untilEnded(org.call, runPath)
  t.deepEqual(run.unmapped, unmapped)
})
