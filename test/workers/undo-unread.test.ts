import test from 'ava'
import {accounts, openOrg, readLog, runImport, undoRun} from '../support/importing.ts'
import {startTestDeployment} from '../support/test-deployment.ts'

test('rows whose earlier values the CRM does not show are written, and an undo leaves them and says so', async t => {
  const here = await startTestDeployment(t, {
    workers: ['discovery', 'imports'],
    environment: {CRM_TIMEOUT_SECONDS: '5', CRM_LAG_SECONDS: '1'},
  })
  const org = await openOrg(here)
  const long = 'x'.repeat(600)
  for (const [number, text] of [
    ['N-1', long],
    ['N-2', 'short'],
  ])
    here.crm.create('example', 'Accounts', [{Account_Name: number, Account_Number: number, Billing_City: 'Bern', Description: text}])
  const recordOf = (number: string) => here.crm.records('example', 'Accounts').find(({Account_Number: one}) => one === number)!
  // A query may show only the beginning of a long text, so this record must be read by id.
  const readsById = {method: 'GET', path: '/crm/v8/Accounts'}
  here.crm.faults.add({match: readsById, times: 10, action: {type: 'answer', status: 403, body: {code: 'NO_PERMISSION', status: 'error'}}})
  const fields = [...accounts.fields, {field: 'Description', mode: 'static', staticValue: 'new'}]
  const csv = 'name,number,city\nN-1,N-1,Basel\nN-2,N-2,Basel\n'
  const {path, run} = await runImport(org, {csv, flow: {...accounts, fields}})
  here.crm.faults.clear()
  t.like(run, {stop: null, counts: {Accounts: {updated: 2}}})
  const log = await readLog(org.call, `${path}/runs/${run.id}`)
  t.regex(log.find(({rowNumber}) => rowNumber === 1).message, /did not show the earlier values/)
  t.is(log.find(({rowNumber}) => rowNumber === 2).message, null)
  const {run: undone, log: undoLog} = await undoRun(org, {path, run})
  t.like(undone, {stop: null, undo: {restored: 1, deleted: 0, changedSince: 0}})
  const codes = undoLog.map(({rowNumber, outcome, code}) => [rowNumber, outcome, code])
  t.deepEqual(
    codes.sort(([a], [b]) => a - b),
    [
      [1, 'skipped', 'UNDO_NOT_KEPT'],
      [2, 'updated', 'RESTORED'],
    ],
  )
  t.like(recordOf('N-1'), {Billing_City: 'Basel', Description: 'new'})
  t.like(recordOf('N-2'), {Billing_City: 'Bern', Description: 'short'})
})
