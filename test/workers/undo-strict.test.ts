import test from 'ava'
import {sql} from '../../sql/database.ts'
import {accountRows, accounts, type Org, ok, openOrg, readLog, runImport, untilEnded} from '../support/importing.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'

let here: TestDeployment
let org: Org

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['discovery', 'imports'], environment: {CRM_TIMEOUT_SECONDS: '30', CRM_LAG_SECONDS: '1'}})
  org = await openOrg(here)
})

const list = (prefix: string) =>
  here.crm.records('example', 'Accounts').filter(({Account_Number: number}) => String(number).startsWith(prefix))
const recordOf = (number: string) => list(number)[0]!

/** Undoes updates of three records. A person edits one of them after the undo has read it and before the CRM writes it. */
const undoUnderEdit = async (prefix: string, found: 'whole' | 'record' | 'ignored') => {
  const refuses = found === 'ignored' ? 'whole' : found
  here.crm.setSwitches({unmodifiedSince: refuses})
  await here.db.query(
    sql.unsafe`update connectors set capabilities = coalesce(capabilities, '{}') || ${sql.jsonb({unmodifiedSince: found})} where id = ${org.connector}`,
  )
  await runImport(org, {csv: accountRows(3, prefix), flow: accounts})
  const imported = await runImport(org, {csv: accountRows(3, prefix).replaceAll('Town', 'City'), flow: accounts})
  here.crm.clock.advance(5_000)
  here.crm.faults.add({match: {method: 'PUT', path: '/crm/v8/Accounts'}, times: 1, action: {type: 'hold', when: 'before'}})
  const {run: begun} = await ok(org.call('POST', `${imported.path}/runs/${imported.run.id}/undo`, {}), 202)
  await until(here.crm.held, held => held === 1)
  here.crm.update('example', 'Accounts', [{id: recordOf(`${prefix}2`).id, Billing_City: 'Mine'}], {as: 'ben@example.org'})
  here.crm.release()
  const run = await untilEnded(org.call, `${imported.path}/runs/${begun.id}`)
  here.crm.clock.advance(-5_000)
  return {run, log: await readLog(org.call, `${imported.path}/runs/${begun.id}`)}
}

for (const found of ['whole', 'record'] as const) {
  test.serial(`an edit between read and write is kept if the CRM refuses the ${found} that changed`, async t => {
    const prefix = `S${found}-`
    const {run, log} = await undoUnderEdit(prefix, found)
    t.like(run, {stop: null, undo: {restored: 2, deleted: 0, changedSince: 1, strict: true}})
    t.deepEqual(
      list(prefix).map(({Billing_City}) => Billing_City),
      ['Town 0', 'Mine', 'Town 2'],
    )
    t.is(log.filter(({code}) => code === 'ALREADY_MODIFIED').length, 0)
    const kept = log.find(({phase, code}) => phase === 'edit' && code === 'CHANGED_SINCE')
    t.like(kept, {rowNumber: 2, target: 'Billing_City'})
  })
}

test.serial('without that check, an undo reports that such an edit is overwritten', async t => {
  const {run} = await undoUnderEdit('I-', 'ignored')
  t.like(run.undo, {restored: 3, changedSince: 0, strict: false})
  t.is(recordOf('I-2').Billing_City, 'Town 1')
})
