import test from 'ava'
import {accountRows, accounts, type Org, ok, openOrg, prepareImport, runImport, undoRun, untilEnded} from '../support/importing.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'

let here: TestDeployment
let org: Org

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['discovery', 'imports'], environment: {CRM_TIMEOUT_SECONDS: '5', CRM_LAG_SECONDS: '1'}})
  here.crm.addField('example', 'Accounts', {name: 'Story', type: 'textarea', length: 50_000, rich: true})
  org = await openOrg(here)
})

const list = (prefix: string) =>
  here.crm.records('example', 'Accounts').filter(({Account_Number: number}) => String(number).startsWith(prefix))
const recordOf = (number: string) => list(number).find(({Account_Number: one}) => one === number)
const edit = (number: string, values: object) =>
  here.crm.update('example', 'Accounts', [{id: recordOf(number)!.id, ...values}], {as: 'ben@example.org'})
const valuesOf = (prefix: string) =>
  list(prefix)
    .map(({id, Account_Name, Account_Number, Billing_City}) => ({id, Account_Name, Account_Number, Billing_City}))
    .sort((a, b) => (String(a.id) < String(b.id) ? -1 : 1))

const statusOf = async ({path, run}: {path: string; run: {id: string}}) =>
  (await ok(org.call('GET', `${path}/runs/${run.id}/undo`), 200)).undo

test.serial('an undo restores replaced values, keeps later edits, and says who made them', async t => {
  await runImport(org, {csv: accountRows(4, 'U-'), flow: accounts})
  const before = valuesOf('U-')
  const imported = await runImport(org, {
    csv: accountRows(4, 'U-').replaceAll('Town', 'City').replaceAll('Company', 'Firm'),
    flow: accounts,
  })
  t.not(recordOf('U-1')!.Account_Name, before[0]!.Account_Name)
  edit('U-2', {Billing_City: 'Mine'})
  edit('U-3', {Billing_City: 'Mine', Account_Name: 'Mine Ltd'})
  edit('U-4', {Billing_City: 'Town 3', Account_Name: 'Company 4'})
  t.like(await statusOf(imported), {available: true, why: null, undoneBy: null})
  const planned = await undoRun(org, imported, {dryRun: true})
  t.like(planned.run, {dryRun: true, undoOf: imported.run.id, undo: {restored: 2, deleted: 0, changedSince: 1}, unchanged: 0})
  t.is(recordOf('U-1')!.Billing_City, 'City 0')
  const {run, log} = await undoRun(org, imported)
  t.like(run, {state: 'ended', stop: null, undoOf: imported.run.id, rowsWritten: 0, keptEdits: 3})
  t.like(run.undo, {restored: 2, deleted: 0, changedSince: 1})
  const [first] = before
  t.like(recordOf('U-1'), {Account_Name: first!.Account_Name, Billing_City: first!.Billing_City})
  t.like(recordOf('U-2'), {Account_Name: 'Company 2', Billing_City: 'Mine'})
  t.like(recordOf('U-3'), {Account_Name: 'Mine Ltd', Billing_City: 'Mine'})
  const codes = log.filter(({phase}) => phase === 'write').map(({rowNumber, outcome, code}) => [rowNumber, outcome, code])
  t.deepEqual(
    codes.sort(([a], [b]) => a - b),
    [
      [1, 'updated', 'RESTORED'],
      [2, 'updated', 'RESTORED'],
      [3, 'skipped', 'CHANGED_SINCE'],
      [4, 'skipped', 'UNCHANGED'],
    ],
  )
  const kept = log.find(({phase, rowNumber}) => phase === 'edit' && rowNumber === 2)
  t.like(kept, {target: 'Billing_City', code: 'CHANGED_SINCE', outcome: 'skipped'})
  t.regex(kept.message, /last changed by .+ at \d{4}-/)
  t.like(await statusOf(imported), {available: false, why: 'UNDO_DONE', undoneBy: run.id})
  t.like(await org.call('POST', `${imported.path}/runs/${imported.run.id}/undo`, {}), {status: 409, body: {code: 'UNDO_DONE', run: run.id}})
  t.like(await org.call('POST', `${imported.path}/runs`, {retryOf: imported.run.id}), {
    status: 409,
    body: {code: 'RUN_UNDONE', run: run.id},
  })
})

test.serial('long texts, which reads of several records cut, are restored whole', async t => {
  const [long, longer] = ['long '.repeat(300).trim(), 'longer '.repeat(300).trim()]
  const make = (number: string, Story: string) =>
    here.crm.create('example', 'Accounts', [{Account_Name: number, Account_Number: number, Billing_City: 'Bern', Story}])
  for (const [number, story] of [
    ['S-1', long],
    ['S-2', 'short'],
    ['S-3', long],
  ] as const)
    make(number, story)
  const flow = {...accounts, fields: [...accounts.fields, {field: 'Story', mode: 'column', source: 'story'}]}
  const csv = `name,number,city,story\nS-1,S-1,Bern,short\nS-2,S-2,Bern,${longer}\nS-3,S-3,Bern,${longer}\n`
  const imported = await runImport(org, {csv, flow})
  t.is(recordOf('S-2')!.Story, longer)
  edit('S-3', {Story: `${longer} edited`})
  const {run} = await undoRun(org, imported)
  t.like(run.undo, {restored: 2, changedSince: 1})
  t.is(recordOf('S-1')!.Story, long)
  t.is(recordOf('S-2')!.Story, 'short')
  t.is(recordOf('S-3')!.Story, `${longer} edited`)
})

test.serial('rows of one record fold into its first values before and its last sent values', async t => {
  here.crm.create('example', 'Accounts', [{Account_Name: 'Old', Account_Number: 'F-1', Billing_City: 'Old Town'}])
  const csv = 'name,number,city\nOne,F-1,Bern\nTwo,F-1,Basel\nThree,F-1,Chur\n'
  const imported = await runImport(org, {csv, flow: accounts})
  t.like(recordOf('F-1'), {Account_Name: 'Three', Billing_City: 'Chur'})
  const {run, log} = await undoRun(org, imported)
  t.like(recordOf('F-1'), {Account_Name: 'Old', Billing_City: 'Old Town'})
  t.like(run.undo, {restored: 3, deleted: 0, changedSince: 0})
  t.deepEqual(
    log.map(({code}) => code),
    ['RESTORED', 'RESTORED', 'RESTORED'],
  )
  const again = await undoRun(org, {path: imported.path, run})
  t.like(recordOf('F-1'), {Account_Name: 'Three', Billing_City: 'Chur'})
  t.is(again.run.undo.restored, 3)
  t.deepEqual(again.log.map(({rowNumber}) => rowNumber).sort(), [1, 2, 3])
})

test.serial('a record is restored although the last update that the run sent to it was lost', async t => {
  here.crm.create('example', 'Accounts', [{Account_Name: 'Old', Account_Number: 'E-1', Billing_City: 'Old Town'}])
  here.crm.faults.add({match: {method: 'PUT', path: '/crm/v8/Accounts', nth: 2}, times: 10, action: 'dropBefore'})
  const imported = await runImport(org, {csv: 'name,number,city\nOne,E-1,Bern\nTwo,E-1,Basel\n', flow: accounts})
  here.crm.faults.clear()
  t.like(imported.run.counts.Accounts, {updated: 1, unanswered: 1})
  t.like(recordOf('E-1'), {Account_Name: 'One', Billing_City: 'Bern'})
  t.like((await undoRun(org, imported)).run.undo, {changedSince: 0})
  t.like(recordOf('E-1'), {Account_Name: 'Old', Billing_City: 'Old Town'})
})

test.serial('a record whose update the CRM refused stays as it is, even if it has the refused value now', async t => {
  here.crm.create('example', 'Accounts', [{Account_Name: 'Old', Account_Number: 'R-1', Billing_City: 'Old Town'}])
  const body = {data: [{code: 'NOT_APPROVED', status: 'error', message: 'record not approved', details: {}}]}
  here.crm.faults.add({match: {method: 'PUT', path: '/crm/v8/Accounts'}, times: 1, action: {type: 'answer', status: 400, body}})
  const imported = await runImport(org, {csv: 'name,number,city\nNew,R-1,Bern\n', flow: accounts})
  here.crm.faults.clear()
  t.is(imported.run.counts.Accounts.refused, 1)
  edit('R-1', {Billing_City: 'Bern'})
  t.like((await undoRun(org, imported)).run, {undo: {restored: 0, changedSince: 0}, progress: {done: 0, total: 0}})
  t.like(recordOf('R-1'), {Account_Name: 'Old', Billing_City: 'Bern'})
})

test.serial('an undo waits for updates of the run that the CRM may still execute', async t => {
  here.crm.create('example', 'Accounts', [{Account_Name: 'Old', Account_Number: 'W-1', Billing_City: 'Old Town'}])
  here.crm.clearJournal()
  here.crm.faults.add({match: {method: 'PUT', path: '/crm/v8/Accounts'}, times: 1, action: {type: 'late', ms: 3_000}})
  const imported = await runImport(org, {csv: 'name,number,city\nNew,W-1,Bern\n', flow: accounts})
  here.crm.faults.clear()
  t.like((await undoRun(org, imported)).run.undo, {restored: 1, changedSince: 0})
  await until(
    () => here.crm.journal({method: 'PUT'}).filter(({outcome}) => outcome === 'late'),
    all => all.length > 0,
  )
  t.like(recordOf('W-1'), {Account_Name: 'Old', Billing_City: 'Old Town'})
})

test.serial('created records are deleted, unless they were changed or deleted since', async t => {
  const imported = await runImport(org, {csv: accountRows(5, 'C-'), flow: accounts})
  edit('C-2', {Billing_City: 'Mine'})
  const [id] = [recordOf('C-3')!.id]
  here.crm.remove('example', 'Accounts', [id])
  const {run, log} = await undoRun(org, imported)
  t.deepEqual(
    list('C-').map(({Account_Number}) => Account_Number),
    ['C-2'],
  )
  t.like(run.undo, {restored: 0, deleted: 3, changedSince: 1})
  t.deepEqual(
    log.map(({rowNumber, code}) => [rowNumber, code]).sort(([a], [b]) => a - b),
    [
      [1, 'DELETED'],
      [2, 'CHANGED_SINCE'],
      [3, 'GONE'],
      [4, 'DELETED'],
      [5, 'DELETED'],
    ],
  )
})

test.serial('created records that the run tagged itself are deleted', async t => {
  const flow = {...accounts, tags: ['Fair']}
  const imported = await runImport(org, {csv: accountRows(3, 'T-'), flow})
  const tagged = list('T-').map(({Tag}) => (Tag as {name: string}[]).map(({name}) => name))
  t.deepEqual(tagged, [['Fair'], ['Fair'], ['Fair']])
  edit('T-2', {Billing_City: 'Mine'})
  const {run} = await undoRun(org, imported)
  t.like(run.undo, {restored: 0, deleted: 2, changedSince: 1})
  t.deepEqual(
    list('T-').map(({Account_Number}) => Account_Number),
    ['T-2'],
  )
})

test.serial('an undo of an update keeps the tags that the run added, and says so in the plan and in the log', async t => {
  here.crm.create('example', 'Accounts', [{Account_Name: 'Old', Account_Number: 'Tu-1', Billing_City: 'Old Town'}])
  const imported = await runImport(org, {csv: accountRows(1, 'Tu-'), flow: {...accounts, tags: ['Fair']}})
  for (const dryRun of [true, false])
    t.is((await undoRun(org, imported, {dryRun})).log[0].message, 'The earlier values were restored. Tags that the run added stay')
  t.like(list('Tu-')[0], {Billing_City: 'Old Town', Tag: [{name: 'Fair'}]})
})

test.serial('an undo of an undo brings deleted records back and writes the imported values again', async t => {
  here.crm.create('example', 'Accounts', [{Account_Name: 'Old', Account_Number: 'R-1', Billing_City: 'Old Town'}])
  const imported = await runImport(org, {csv: accountRows(3, 'R-'), flow: accounts})
  const after = valuesOf('R-')
  const undone = await undoRun(org, imported)
  t.deepEqual(list('R-').length, 1)
  const again = await undoRun(org, undone)
  t.like(again.run, {undoOf: undone.run.id, undo: {restored: 3, deleted: 0, changedSince: 0}})
  t.deepEqual(valuesOf('R-'), after)
  t.like(await statusOf(again), {available: false, why: 'UNDO_NOT_KEPT'})
  t.like(await statusOf(imported), {available: true})
})

test.serial('a run says before its end whether it will be possible to undo it', async t => {
  const settings = (undo: 'off' | null) => ok(org.call('PATCH', `/orgs/${org.org}/config/settings`, {undo}), 200)
  for (const [setting, why] of [
    ['off', 'UNDO_NOT_KEPT'],
    [null, 'RUN_ACTIVE'],
  ] as const) {
    await settings(setting)
    const {path} = await prepareImport(org, {csv: accountRows(1, 'B-'), flow: accounts})
    here.crm.faults.add({match: {method: 'POST', path: '/crm/v8/Accounts/upsert'}, times: 50, action: {type: 'rateLimit', retryAfter: 1}})
    here.crm.faults.add({match: {method: 'POST', path: '/crm/v8/Accounts'}, times: 50, action: {type: 'rateLimit', retryAfter: 1}})
    here.crm.faults.add({match: {method: 'POST', path: '/crm/v8/coql'}, times: 50, action: {type: 'rateLimit', retryAfter: 1}})
    const {run} = await ok(org.call('POST', `${path}/runs`, {}), 202)
    t.like(await statusOf({path, run}), {available: false, why})
    here.crm.faults.clear()
    await untilEnded(org.call, `${path}/runs/${run.id}`)
  }
})

test.serial('a lost answer to a restore or a delete is settled by reading the records again', async t => {
  await runImport(org, {csv: accountRows(2, 'L-'), flow: accounts})
  const csv = accountRows(4, 'L-').replaceAll('Town', 'City')
  const imported = await runImport(org, {csv, flow: accounts})
  for (const method of ['PUT', 'DELETE']) here.crm.faults.add({match: {method, path: '/crm/v8/Accounts'}, times: 1, action: 'dropAfter'})
  const {run, log} = await undoRun(org, imported)
  here.crm.faults.clear()
  t.like(run.undo, {restored: 2, deleted: 2, changedSince: 0})
  t.is(run.counts.Accounts.unanswered, 0)
  t.is(log.filter(({outcome}) => outcome === 'unanswered').length, 4)
  t.deepEqual(
    list('L-').map(({Billing_City}) => Billing_City),
    ['Town 0', 'Town 1'],
  )
  const calls = here.crm.journal({method: 'DELETE', path: '/crm/v8/Accounts'})
  t.is(calls.filter(({query}) => query.wf_trigger !== 'false').length, 0)
})
