import test from 'ava'
import {accounts, ok, readLog, runImport} from '../support/importing.ts'
import {openExternalEngine, row} from '../support/record-writes.ts'

test('a create answered with a record that a row of another run created is unanswered', async t => {
  const here = await openExternalEngine(t, {workers: ['discovery', 'imports', 'writes'], environment: {CRM_TIMEOUT_SECONDS: '2'}})
  const [{recordId}] = (await ok(here.create(await here.authorise(), [row('X')]), 200)).results
  const data = [{code: 'SUCCESS', status: 'success', message: 'record added', details: {id: recordId}}]
  here.house.crm.faults.add({match: {method: 'POST', path: '/crm/v8/Accounts'}, action: {type: 'answer', status: 201, body: {data}}})
  const {module, fields} = accounts
  const {path, run} = await runImport(here.org, {csv: 'name,number,city\nAcme,H-1,Bern\n', flow: {module, fields}})
  const writes = (await readLog(here.org.call, `${path}/runs/${run.id}`)).filter(({phase}) => phase === 'write')
  t.like(writes[0], {outcome: 'unanswered', code: 'RECORD_HELD', recordId: null})
  t.true(writes.every(entry => entry.recordId !== recordId))
})
