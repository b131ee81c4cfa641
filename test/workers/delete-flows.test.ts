import test from 'ava'
import {accounts, deletion, type Org, ok, openOrg, prepareImport, readLog, undoRun, untilEnded, untilRun} from '../support/importing.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'

let here: TestDeployment
let org: Org

test.before(async t => {
  // With one slot, an undo shows that it reads restored records under the slot of their batch.
  const environment = {CRM_TIMEOUT_SECONDS: '5', CRM_LAG_SECONDS: '1', CRM_SLOTS: '1'}
  here = await startTestDeployment(t, {workers: ['discovery', 'imports'], environment})
  org = await openOrg(here)
})

const list = (prefix: string) =>
  here.crm.records('example', 'Accounts').filter(({Account_Number: number}) => String(number).startsWith(prefix))
const numbersOf = (prefix: string) => list(prefix).map(({Account_Number}) => Account_Number)
const create = (...numbers: string[]) =>
  here.crm.create(
    'example',
    'Accounts',
    numbers.map(number => ({Account_Name: `Firm ${number}`, Account_Number: number, Billing_City: 'Bern', Description: 'Long known'})),
  )
const remove = (number: string) =>
  here.crm.remove(
    'example',
    'Accounts',
    list(number).map(({id}) => id),
  )
const rowsOf = (...numbers: string[]) => `number,note\n${numbers.map(number => `${number},x\n`).join('')}`

const start = async (path: string, body: object) => {
  const {run} = await ok(org.call('POST', `${path}/runs`, body), 202)
  return {path, run: await untilEnded(org.call, `${path}/runs/${run.id}`), log: await readLog(org.call, `${path}/runs/${run.id}`)}
}
const endsOf = (log: any[]) =>
  log
    .filter(({phase, outcome}) => phase === 'write' && outcome !== 'unanswered')
    .map(({rowNumber, outcome, code}) => [rowNumber, outcome, code])
    .sort(([a], [b]) => a - b)
const undo = async (path: string, id: string) => (await undoRun(org, {path, run: {id}})).run

test.serial('only records that exactly one row value matches are deleted, once, and each row has its reason', async t => {
  create('D-1', 'D-2', 'D-3', 'D-4', 'D-5')
  here.crm.update('example', 'Accounts', [{id: list('D-4')[0]!.id, Account_Name: 'Firm D-3'}])
  const fields = [
    {field: 'Account_Name', mode: 'column', source: 'name'},
    {field: 'Billing_City', mode: 'column', source: 'city'},
  ]
  const csv = 'name,city\nFirm D-1,Bern\nFirm D-5,\nFirm D-3,Bern\nFirm D-9,Bern\nfirm  d-1,bern\nFirm D-2,Bern\n'
  const {path} = await prepareImport(org, {csv, flow: {...deletion, match: {by: ['Account_Name', 'Billing_City']}, fields}})
  const dry = await start(path, {dryRun: true})
  t.like(dry.run, {deleted: 2, counts: {Accounts: {planned: 2, skipped: 4}}})
  t.is(numbersOf('D-').length, 5)
  const expected = (outcome: string) => [
    [1, outcome, 'DELETED'],
    [2, 'skipped', 'MATCH_EMPTY'],
    [3, 'skipped', 'MATCH_MANY'],
    [4, 'skipped', 'MATCH_NONE'],
    [5, 'skipped', 'GONE'],
    [6, outcome, 'DELETED'],
  ]
  t.deepEqual(endsOf(dry.log), expected('planned'))
  const plan = (await org.call('GET', `${path}/plan.csv?run=${dry.run.id}`)).text.split('\r\n').map(line => line.split(',')[3])
  t.deepEqual(plan, ['Action', 'delete', 'skip', 'skip', 'skip', 'skip', 'delete', undefined])
  const {run, log} = await start(path, {confirmDeletes: 2})
  t.like(run, {deleted: 2, rowsWritten: 2, rowsPerRun: 2, stop: null, counts: {Accounts: {updated: 2, skipped: 4}}})
  t.deepEqual(endsOf(log), expected('updated'))
  t.regex(log.find(({code}) => code === 'GONE').message, /^Row 1 of this import/)
  t.deepEqual(numbersOf('D-').sort(), ['D-3', 'D-4', 'D-5'])
})

test.serial('a run deletes nothing before the count of a fitting dry run is confirmed', async t => {
  create('E-1', 'E-2')
  const {path, source} = await prepareImport(org, {csv: rowsOf('E-1', 'E-2'), flow: deletion})
  const refused = async (body: object, deletes: number | null) =>
    t.like(await org.call('POST', `${path}/runs`, body), {status: 409, body: {code: 'DELETES_UNCONFIRMED', deletes}})
  await refused({confirmDeletes: 2}, null)
  await start(path, {dryRun: true, rows: {to: 1}})
  await refused({confirmDeletes: 1}, null)
  await start(path, {dryRun: true})
  await refused({}, 2)
  await refused({confirmDeletes: 1}, 2)
  await refused({confirmDeletes: 2, rows: {to: 1}}, null)
  await ok(org.call('PUT', `${path}/flows`, [{...deletion, id: 'f', sourceId: source.id, guard: 'true'}]), 200)
  await refused({confirmDeletes: 2}, null)
  t.is(list('E-').length, 2)
  await start(path, {dryRun: true})
  t.like((await start(path, {confirmDeletes: 2})).run, {deleted: 2})
  await refused({confirmDeletes: 2}, null)
})

test.serial('a run that finds more records than were confirmed stops at the confirmed number', async t => {
  create('M-1')
  const {path} = await prepareImport(org, {csv: rowsOf('M-1', 'M-2', 'M-3'), flow: deletion})
  await start(path, {dryRun: true})
  create('M-2', 'M-3')
  const {run} = await start(path, {confirmDeletes: 1})
  t.like(run, {deleted: 1, stop: {stopped: 'LIMIT_ROWS_PER_RUN'}})
  t.is(list('M-').length, 2)
})

test.serial('a run that was authorised before a dry run and started after it overtakes the dry run', async t => {
  create('O-1', 'O-2')
  const {path} = await prepareImport(org, {csv: rowsOf('O-1', 'O-2'), flow: deletion})
  const {runId} = await ok(org.call('POST', '/entitlements/runs/authorise', {importId: path.split('/').at(-1), declaredRows: 2}), 200)
  await start(path, {dryRun: true})
  t.like((await start(path, {runId, confirmDeletes: 2})).run, {deleted: 2})
  t.like(await org.call('POST', `${path}/runs`, {confirmDeletes: 2}), {status: 409, body: {code: 'DELETES_UNCONFIRMED'}})
})

test.serial('a record that vanished or lost its match value before the delete is left alone', async t => {
  create('G-1', 'G-2', 'G-3')
  const {path} = await prepareImport(org, {csv: rowsOf('G-1', 'G-2', 'G-3'), flow: deletion})
  await start(path, {dryRun: true})
  here.crm.faults.add({match: {method: 'POST', path: '/crm/v8/coql'}, times: 1, action: {type: 'hold', when: 'after'}})
  const {run: begun} = await ok(org.call('POST', `${path}/runs`, {confirmDeletes: 3}), 202)
  await until(here.crm.held, held => held === 1)
  remove('G-1')
  here.crm.update('example', 'Accounts', [{id: list('G-2')[0]!.id, Account_Number: 'G-22'}], {as: 'ben@example.org'})
  here.crm.release()
  const run = await untilEnded(org.call, `${path}/runs/${begun.id}`)
  t.like(run, {deleted: 1, rowsWritten: 1})
  t.deepEqual(endsOf(await readLog(org.call, `${path}/runs/${begun.id}`)), [
    [1, 'skipped', 'GONE'],
    [2, 'skipped', 'MATCH_NONE'],
    [3, 'updated', 'DELETED'],
  ])
  t.deepEqual(numbersOf('G-'), ['G-22'])
  t.like(await undo(path, run.id), {undo: {restored: 1, deleted: 0, changedSince: 0}})
  t.deepEqual(numbersOf('G-').sort(), ['G-22', 'G-3'])
})

test.serial('an undo restores exactly the records that the run deleted, and its undo deletes them again unless they changed', async t => {
  create('U-1', 'U-2', 'U-3')
  const before = structuredClone(list('U-'))
  const {path} = await prepareImport(org, {csv: rowsOf('U-1', 'U-2', 'U-3'), flow: deletion})
  await start(path, {dryRun: true})
  const {run} = await start(path, {confirmDeletes: 3})
  t.is(list('U-').length, 0)
  const undone = await undo(path, run.id)
  t.like(undone, {undoOf: run.id, stop: null, rowsWritten: 0, undo: {restored: 3, deleted: 0, changedSince: 0}})
  t.deepEqual(
    list('U-').map(({id, Account_Name, Billing_City, Description}) => ({id, Account_Name, Billing_City, Description})),
    before.map(({id, Account_Name, Billing_City, Description}) => ({id, Account_Name, Billing_City, Description})),
  )
  // The CRM's times have whole seconds.
  here.crm.clock.advance(2_000)
  here.crm.update('example', 'Accounts', [{id: before[1]!.id, Billing_City: 'Mine'}], {as: 'ben@example.org'})
  const again = await undo(path, undone.id)
  t.like(again, {undoOf: undone.id, undo: {restored: 0, deleted: 2, changedSince: 1}})
  t.deepEqual(numbersOf('U-'), ['U-2'])
})

for (const [how, restoreAtOnce] of [
  ['executed', 100],
  ['scheduled', 1],
] as const)
  test.serial(`records whose restore the CRM ${how} count as restored although the read after it fails`, async t => {
    const prefix = `Y${restoreAtOnce}-`
    const numbers = [`${prefix}1`, `${prefix}2`]
    create(...numbers)
    const {path} = await prepareImport(org, {csv: rowsOf(...numbers), flow: deletion})
    await start(path, {dryRun: true})
    const {run} = await start(path, {confirmDeletes: 2})
    t.is(list(prefix).length, 0)
    const usual = here.crm.switches()
    here.crm.setSwitches({restoreAtOnce, restoreSeconds: 1})
    // The first read decides the undo. The second follows the restore.
    const read = {method: 'GET', path: '/crm/v8/Accounts', nth: 2}
    here.crm.faults.add({match: read, times: 1, action: {type: 'rateLimit', retryAfter: 11}})
    const undone = await undo(path, run.id)
    const [fault] = here.crm.faults.list()
    here.crm.faults.clear()
    here.crm.setSwitches({restoreAtOnce: usual.restoreAtOnce, restoreSeconds: usual.restoreSeconds})
    t.is(fault!.used, 1)
    t.like(undone, {stop: null, undo: {restored: 2}})
    t.is(list(prefix).length, 2)
  })

test.serial('records whose restore was not answered are deleted again by the undo of the undo', async t => {
  create('Ma-1', 'Ma-2')
  const {path} = await prepareImport(org, {csv: rowsOf('Ma-1', 'Ma-2'), flow: deletion})
  await start(path, {dryRun: true})
  const {run} = await start(path, {confirmDeletes: 2})
  here.crm.faults.add({match: {path: '/crm/v8/settings/recycle_bin/actions/restore'}, times: 1, action: 'dropAfter'})
  const undone = await undo(path, run.id)
  here.crm.faults.clear()
  t.like(undone.undo, {restored: 2})
  t.deepEqual(numbersOf('Ma-').sort(), ['Ma-1', 'Ma-2'])
  t.like((await undo(path, undone.id)).undo, {deleted: 2, changedSince: 0})
  t.deepEqual(numbersOf('Ma-'), [])
})

test.serial('a lost answer to a delete is settled by reading the record', async t => {
  create('L-1', 'L-2')
  const {path} = await prepareImport(org, {csv: rowsOf('L-1', 'L-2'), flow: deletion})
  await start(path, {dryRun: true})
  here.crm.faults.add({match: {method: 'DELETE', path: '/crm/v8/Accounts'}, times: 1, action: 'dropAfter'})
  const {run, log} = await start(path, {confirmDeletes: 2})
  here.crm.faults.clear()
  t.like(run, {deleted: 2, rowsWritten: 2, counts: {Accounts: {updated: 2, unanswered: 0}}})
  t.is(log.filter(({outcome}) => outcome === 'unanswered').length, 2)
  t.is(list('L-').length, 0)
  t.like(await undo(path, run.id), {undo: {restored: 2, deleted: 0, changedSince: 0}})
  t.is(list('L-').length, 2)
})

test.serial('a retry deletes what the first run could not, after its own dry run, and deletes nothing twice', async t => {
  create('R-1', 'R-2', 'R-3')
  const {path} = await prepareImport(org, {csv: rowsOf('R-1', 'R-2', 'R-3'), flow: deletion})
  await start(path, {dryRun: true})
  here.crm.faults.add({
    match: {method: 'DELETE', path: '/crm/v8/Accounts'},
    times: 1,
    action: {type: 'refuse', index: 1, code: 'RECORD_LOCKED'},
  })
  const {run} = await start(path, {confirmDeletes: 3})
  here.crm.faults.clear()
  t.like(run, {deleted: 2, counts: {Accounts: {updated: 2, refused: 1}}})
  t.deepEqual(numbersOf('R-'), ['R-2'])
  create('R-1')
  t.like(await org.call('POST', `${path}/runs`, {retryOf: run.id, confirmDeletes: 3}), {status: 409, body: {code: 'DELETES_UNCONFIRMED'}})
  const dry = await start(path, {retryOf: run.id, dryRun: true})
  t.is(dry.run.deleted, 1)
  const {run: retry} = await start(path, {retryOf: run.id, confirmDeletes: 1})
  t.like(retry, {stop: null, deleted: 1})
  t.deepEqual(numbersOf('R-'), ['R-1'], 'a new record of a row that was deleted is left alone')
  t.like(await undo(path, retry.id), {undo: {restored: 1, deleted: 0}})
  t.like(await undo(path, run.id), {undo: {restored: 1}})
})

test.serial('a retry whose flow now writes plans the row of an unanswered delete anew', async t => {
  create('A-1')
  const [record] = list('A-1')
  here.crm.faults.add({match: {method: 'DELETE', path: '/crm/v8/Accounts'}, times: 100, action: 'dropBefore'})
  const {path} = await prepareImport(org, {csv: rowsOf('A-1'), flow: deletion})
  await start(path, {dryRun: true})
  const {run: first} = await ok(org.call('POST', `${path}/runs`, {confirmDeletes: 1}), 202)
  await untilRun(org.call, `${path}/runs/${first.id}`, ({counts}) => counts.Accounts.unanswered === 1)
  await ok(org.call('POST', `${path}/runs/${first.id}/cancel`), 200)
  t.like(await untilEnded(org.call, `${path}/runs/${first.id}`), {counts: {Accounts: {unanswered: 1}}})
  here.crm.faults.clear()
  const {import: made} = await ok(org.call('GET', path), 200)
  const {action: _, fields, ...flow} = made.flows[0]
  await ok(org.call('PUT', `${path}/flows`, [{...flow, fields: [...fields, {field: 'Account_Name', mode: 'column', source: 'note'}]}]), 200)
  const {run} = await start(path, {retryOf: first.id})
  t.like(run, {stop: null, counts: {Accounts: {updated: 1, created: 0, refused: 0, unanswered: 0}}})
  t.deepEqual(
    list('A-1').map(({id, Account_Name: name}) => [id, name]),
    [[record!.id, 'x']],
  )
})

test.serial('flows that delete are refused with what they must not have', async t => {
  const {path, source} = await prepareImport(org, {csv: 'number,name\nX-1,Firm\n', flow: deletion})
  const put = (...flows: object[]) =>
    org.call(
      'PUT',
      `${path}/flows`,
      flows.map((flow, at) => ({id: `f${at}`, sourceId: source.id, ...flow})),
    )
  const paths = async (...flows: object[]) => {
    const {status, body} = await put(...flows)
    t.is(status, 400)
    return body.issues.map(({path}: {path: string | string[]}) => [path].flat().join('.'))
  }
  const named = {field: 'Account_Name', mode: 'column', source: 'name'}
  t.deepEqual(await paths({...deletion, fields: [...deletion.fields, named]}), ['0.fields.1.field'])
  t.deepEqual(await paths({...deletion, match: null}), ['0.match', '0.fields.0.field'])
  t.deepEqual(await paths({...deletion, tags: ['Fair'], match: {...deletion.match, unchanged: 'skip'}}), ['0.match.unchanged', '0.tags'])
  const write = {...accounts, fields: [named, ...deletion.fields]}
  t.deepEqual(await paths(deletion, write), ['0.action'])
})

test.serial('an operator can neither map nor start deletes', async t => {
  create('O-1')
  const {path, source} = await prepareImport(org, {csv: rowsOf('O-1'), flow: deletion})
  await start(path, {dryRun: true})
  const {token} = await here.makeOrg({role: 'operator', org: org.org})
  const call = here.as(token)
  const flows = [{...deletion, id: 'f', sourceId: source.id}]
  t.like(await call('PUT', `${path}/flows`, flows), {status: 403, body: {code: 'ROLE_REQUIRED'}})
  t.like(await call('POST', `${path}/runs`, {confirmDeletes: 1}), {status: 403, body: {code: 'ROLE_REQUIRED'}})
  t.is(list('O-').length, 1)
})
