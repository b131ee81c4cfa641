import test from 'ava'
import {sql} from '../../sql/database.ts'
import {type Receiver, startReceiver} from '../simulators/receiver.ts'
import {accountRows, accounts, type Org, ok, openOrg, runImport, undoRun} from '../support/importing.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'

let here: TestDeployment
let org: Org
let receiver: Receiver

test.before(async t => {
  receiver = await startReceiver()
  here = await startTestDeployment(t, {
    workers: ['discovery', 'imports', 'notices'],
    environment: {CRM_TIMEOUT_SECONDS: '5', CRM_LAG_SECONDS: '1', PRIVATE_HOSTS: receiver.place},
  })
  org = await openOrg(here)
})
test.after.always(() => receiver.stop())

const list = (prefix: string) =>
  here.crm.records('example', 'Accounts').filter(({Account_Number: number}) => String(number).startsWith(prefix))
const edit = (number: string, values: object) =>
  here.crm.update('example', 'Accounts', [{id: list(number)[0]!.id, ...values}], {as: 'ben@example.org'})
const linesOf = async (path: string) => {
  const {status, text} = await org.call('GET', path)
  if (status !== 200) throw new Error(text)
  return text
    .replace('\ufeff', '')
    .trim()
    .split('\r\n')
    .map(line => line.split(','))
}

test.serial('only an admin can delete created records that were changed since, with force', async t => {
  const imported = await runImport(org, {csv: accountRows(2, 'F-'), flow: accounts})
  edit('F-2', {Billing_City: 'Mine'})
  const {token} = await here.makeOrg({role: 'builder', org: org.org})
  const path = `${imported.path}/runs/${imported.run.id}/undo`
  t.like(await here.as(token)('POST', path, {force: 'created'}), {status: 403, body: {code: 'ADMIN_REQUIRED'}})
  const {run} = await undoRun(org, imported, {force: 'created'})
  t.like(run.undo, {restored: 0, deleted: 2, changedSince: 0})
  t.is(list('F-').length, 0)
})

test.serial('records whose restore the CRM only schedules count as restored once they are there', async t => {
  const imported = await runImport(org, {csv: accountRows(3, 'W-'), flow: accounts})
  const ids = list('W-').map(({id}) => id)
  const undone = await undoRun(org, imported)
  t.is(list('W-').length, 0)
  const {restoreAtOnce, restoreSeconds} = here.crm.switches()
  here.crm.setSwitches({restoreAtOnce: 1, restoreSeconds: 2})
  const again = await undoRun(org, undone)
  here.crm.setSwitches({restoreAtOnce, restoreSeconds})
  t.like(again.run, {stop: null, undo: {restored: 3, deleted: 0}, counts: {Accounts: {updated: 3, unanswered: 0}}})
  t.deepEqual(
    list('W-').map(({id}) => id),
    ids,
  )
})

test.serial('an undo of two flows restores and deletes the records of both modules', async t => {
  here.crm.create('example', 'Accounts', [{Account_Name: 'Old', Account_Number: 'T-1', Billing_City: 'Old Town'}])
  const contacts = {module: 'Contacts', fields: [{field: 'Last_Name', mode: 'column', source: 'name'}]}
  const imported = await runImport(org, {csv: accountRows(2, 'T-').replaceAll('Company', 'Twofold'), flow: [accounts, contacts]})
  const contactsLeft = () =>
    here.crm.records('example', 'Contacts').filter(({Last_Name: name}) => String(name).startsWith('Twofold')).length
  t.is(contactsLeft(), 2)
  const {run, log} = await undoRun(org, imported)
  t.like(run, {counts: {Accounts: {updated: 2}, Contacts: {updated: 2}}, undo: {restored: 1, deleted: 3, changedSince: 0}})
  t.is(contactsLeft(), 0)
  t.like(list('T-'), [{Account_Name: 'Old', Billing_City: 'Old Town'}])
  t.deepEqual(log.map(({module, rowNumber, code}) => `${module} ${rowNumber} ${code}`).sort(), [
    'Accounts 1 RESTORED',
    'Accounts 2 DELETED',
    'Contacts 1 DELETED',
    'Contacts 2 DELETED',
  ])
})

test.serial('plan.csv and results.csv of an undo show each row with what is done to its record', async t => {
  here.crm.create('example', 'Accounts', [{Account_Name: 'Old', Account_Number: 'P-1', Billing_City: 'Old Town'}])
  const imported = await runImport(org, {csv: accountRows(3, 'P-'), flow: accounts})
  edit('P-3', {Billing_City: 'Mine'})
  const dry = await undoRun(org, imported, {dryRun: true})
  const plan = await linesOf(`${imported.path}/plan.csv?run=${dry.run.id}`)
  t.deepEqual(
    plan.slice(1).map(([row, , , action, , field, old, now]) => [row, action, field, old, now]),
    [
      ['1', 'restore', 'Account Name', 'Company 1', 'Old'],
      ['1', 'restore', 'Billing City', 'Town 0', 'Old Town'],
      ['2', 'delete', '', '', ''],
      ['3', 'skip', '', '', ''],
    ],
  )
  const {run} = await undoRun(org, imported)
  const [header, ...rows] = await linesOf(`${imported.path}/results.csv?run=${run.id}`)
  const at = header!.indexOf('Result')
  t.deepEqual(
    rows.map(cells => [cells[1], cells[at]]),
    [
      ['P-1', 'Restored'],
      ['P-2', 'Deleted'],
      ['P-3', 'Skipped'],
    ],
  )
  t.regex(rows[2]!.at(-1)!, /kept: last changed by .*CHANGED_SINCE/)
})

test.serial('the end of an undo is announced with its counts and the undone run', async t => {
  await ok(org.call('POST', `/orgs/${org.org}/webhooks`, {url: receiver.url('/undone'), events: ['run.undone']}), 201)
  const imported = await runImport(org, {csv: accountRows(2, 'N-'), flow: accounts})
  await undoRun(org, imported, {dryRun: true})
  const {run} = await undoRun(org, imported)
  // Undos of earlier tests may be announced too.
  const listOwn = () =>
    receiver
      .at('/undone')
      .map(({body}) => JSON.parse(String(body)))
      .filter(({data}) => data.undoOf === imported.run.id)
  const [notice] = await until(listOwn, own => own.length > 0)
  t.like(notice, {type: 'run.undone', data: {run: run.id, undo: {restored: 0, deleted: 2, changedSince: 0}}})
  t.is(listOwn().length, 1)
})

test.serial('after the days of the plan, a run can no longer be undone', async t => {
  const imported = await runImport(org, {csv: accountRows(1, 'X-'), flow: accounts})
  await here.db.query(sql.unsafe`update runs set ended_at = ended_at - make_interval(days => undo_days + 1) where id = ${imported.run.id}`)
  const path = `${imported.path}/runs/${imported.run.id}/undo`
  t.like((await ok(org.call('GET', path), 200)).undo, {available: false, why: 'UNDO_EXPIRED'})
  t.like(await org.call('POST', path, {}), {status: 410, body: {code: 'UNDO_EXPIRED'}})
  t.is(list('X-').length, 1)
})
