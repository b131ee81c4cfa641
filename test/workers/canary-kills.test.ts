import test from 'ava'
import {accountRows, ok, openOrg, prepareImport, untilEnded} from '../support/importing.ts'
import {startTestDeployment} from '../support/test-deployment.ts'
import {killAt, openWorkers} from '../support/worker-process.ts'

let here: Awaited<ReturnType<typeof startTestDeployment>>
let org: Awaited<ReturnType<typeof openOrg>>

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['discovery'], environment: {LEASE_SECONDS: '1', CRM_TIMEOUT_SECONDS: '0.6'}})
  org = await openOrg(here)
})

const start = openWorkers(() => here.config)

test.serial('a resumed run whose canary meets the row limit while lost creates are searched for sends these again, and ends', async t => {
  const flow = {module: 'Accounts', fields: [{field: 'Account_Name', mode: 'column', source: 'number'}]}
  const {path} = await prepareImport(org, {csv: accountRows(100, 'Cl-'), flow})
  const {run} = await ok(org.call('POST', `${path}/runs`, {declaredRows: 60, guard: {coerced: 0.05, canary: 50}}), 202)
  await killAt(start, 'after_intent:1')
  start({VERIFY_AFTER_SECONDS: '1'})
  const ended = await untilEnded(org.call, `${path}/runs/${run.id}`, 40)
  t.like(ended, {rowsWritten: 60, stop: {stopped: 'LIMIT_ROWS_PER_RUN'}, counts: {Accounts: {created: 60}}})
})
