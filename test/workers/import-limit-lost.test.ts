import test from 'ava'
import {accountRows, openOrg, runImport} from '../support/importing.ts'
import {assertAccounted, assertOnce} from '../support/oracle.ts'
import {startTestDeployment} from '../support/test-deployment.ts'

const flow = {
  module: 'Accounts',
  fields: [
    {field: 'Account_Name', mode: 'column', source: 'name'},
    {field: 'Account_Number', mode: 'column', source: 'number'},
  ],
}

test('rows that wait to be sent again are sent at the row limit, even in a part-filled batch', async t => {
  const here = await startTestDeployment(t, {workers: ['imports', 'discovery'], environment: {CRM_SLOTS: '1', CRM_TIMEOUT_SECONDS: '1'}})
  const org = await openOrg(here)
  here.crm.faults.add({match: {method: 'POST', path: '/crm/v8/Accounts'}, times: 1, action: 'dropBefore'})
  // The limit of 263 rows admits two full batches, of which one is lost, and 63 rows of a third. Its other 37 rows go back to the next batch. The lost
  // rows fill that batch, and the last 37 of them are in a part-filled one.
  const {run, path} = await runImport(org, {csv: accountRows(1_000, 'Li-'), flow, start: {declaredRows: 263}})
  t.like(run.stop, {stopped: 'LIMIT_ROWS_PER_RUN', rowsWrittenTotal: 263})
  const {outcomes, finals} = await assertAccounted(here, {org, path, run, rows: 1_000})
  t.deepEqual(outcomes, {created: 263})
  assertOnce(here.crm, 'Li-', finals)
})
