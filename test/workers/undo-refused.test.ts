import test from 'ava'
import {type Org, ok, readLog, undoRun, untilEnded, untilRun} from '../support/importing.ts'
import {accountOf, column, companies, prepareFiles, runFiles} from '../support/lookups.ts'
import {lineSheet, lines, orderOf, orderSheet, orders, productsOf} from '../support/subforms.ts'
import {openImports, type TestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'

let here: TestDeployment
let org: Org

test.before(async t => {
  ;({here, org} = await openImports(t))
})
test.afterEach.always(() => here.crm.faults.clear())

const numbersOf = (prefix: string, count: number) => Array.from({length: count}, (_, n) => `${prefix}${n + 1}`)
const citiesOf = (numbers: string[]) => numbers.map(number => accountOf(here, number).Billing_City)
/** A person enters a value. */
const edit = (module: string, record: {id: string}, values: object) =>
  here.crm.update('example', module, [{id: record.id, ...values}], {as: 'ben@example.org'})

/** Prepares patches of the city of existing accounts, from Paris to Rome. */
const prepareCities = (numbers: string[]) => {
  here.crm.create(
    'example',
    'Accounts',
    numbers.map(Account_Number => ({Account_Name: 'Met', Account_Number, Billing_City: 'Paris'})),
  )
  const fields = [
    column('Account_Name', 'name'),
    column('Account_Number', 'number'),
    column('Billing_City', 'city', {patch: {when: ['exists']}}),
  ]
  const flow = companies({match: {by: ['Account_Number'], onOne: 'skip', onMany: 'skip'}, fields})
  const csv = `name,number,city\n${numbers.map(number => `Met,${number},Rome`).join('\n')}\n`
  return prepareFiles(org, {companies: csv}, [flow])
}

const patchCities = async (numbers: string[], start: object = {}) => {
  const {path} = await prepareCities(numbers)
  const {run: begun} = await ok(org.call('POST', `${path}/runs`, start), 202)
  const run = await untilEnded(org.call, `${path}/runs/${begun.id}`)
  const log = await readLog(org.call, `${path}/runs/${run.id}`)
  const outcomes = log.filter(({phase}) => phase === 'patch').map(({rowNumber, outcome}) => `${rowNumber} ${outcome}`)
  return {path, run, outcomes: outcomes.sort()}
}

test.serial('an undo keeps the value of a refused patch that a person entered later', async t => {
  const numbers = numbersOf('Va-', 2)
  here.crm.faults.add({match: {method: 'PUT', path: '/crm/v8/Accounts'}, times: 1, action: {type: 'refuse', index: 1}})
  const {path, run, outcomes} = await patchCities(numbers)
  t.deepEqual(outcomes, ['1 updated', '2 refused'])
  edit('Accounts', accountOf(here, numbers[1]!), {Billing_City: 'Rome'})
  const {run: undone} = await undoRun(org, {path, run})
  t.deepEqual(citiesOf(numbers), ['Paris', 'Rome'])
  t.like(undone.undo, {restored: 1, changedSince: 0})
})

test.serial('an undo keeps the value of a patch that was not sent, because the run reached its row limit', async t => {
  const numbers = numbersOf('Vb-', 3)
  const {path, run, outcomes} = await patchCities(numbers, {declaredRows: 2})
  t.deepEqual([outcomes, run.stop.stopped], [['1 updated', '2 updated'], 'LIMIT_ROWS_PER_RUN'])
  edit('Accounts', accountOf(here, numbers[2]!), {Billing_City: 'Rome'})
  const {run: undone} = await undoRun(org, {path, run})
  t.deepEqual(citiesOf(numbers), ['Paris', 'Paris', 'Rome'])
  t.like(undone.undo, {restored: 2, changedSince: 0})
})

test.serial('an undo keeps subform rows that a person entered after the CRM had refused the same rows', async t => {
  for (const code of ['Vc-1', 'Vc-2']) here.crm.create('example', 'Orders', [{Name: code, Code: code, Order_Lines: []}])
  const of = [
    ['Vc-1', 'A'],
    ['Vc-2', 'B'],
  ] as const
  here.crm.faults.add({match: {method: 'PUT', path: '/crm/v8/Orders', nth: 2}, times: 1, action: {type: 'refuse', index: 1}})
  const {path, run} = await runFiles(org, {orders: orderSheet(['Vc-1', 'Vc-2']), lines: lineSheet([...of])}, [orders(), lines()])
  t.like(run.counts.Order_Lines, {updated: 1, refused: 1})
  edit('Orders', orderOf(here, 'Vc-2'), {Order_Lines: [{Product: 'B', Quantity: 1}]})
  await undoRun(org, {path, run})
  t.deepEqual([productsOf(here, 'Vc-1'), productsOf(here, 'Vc-2')], [[], ['B']])
})

test.serial('an undo leaves a field unchanged if a pause left its patch unsent and the paused run was cancelled', async t => {
  const numbers = numbersOf('Vd-', 2)
  here.crm.faults.add({match: {method: 'PUT', path: '/crm/v8/Accounts'}, times: 1, action: {type: 'rateLimit', retryAfter: 600}})
  const {path} = await prepareCities(numbers)
  const {run} = await ok(org.call('POST', `${path}/runs`, {}), 202)
  t.like(await untilRun(org.call, `${path}/runs/${run.id}`, ({state}) => state === 'paused'), {pause: {code: 'RATE_LIMITED'}})
  await ok(org.call('POST', `${path}/runs/${run.id}/cancel`), 200)
  t.like(await untilEnded(org.call, `${path}/runs/${run.id}`), {stop: {stopped: 'CANCELLED'}})
  edit('Accounts', accountOf(here, numbers[0]!), {Billing_City: 'Rome'})
  await undoRun(org, {path, run})
  t.deepEqual(citiesOf(numbers), ['Rome', 'Paris'])
})

/**
 * Makes the CRM stand-in execute a write without an answer and refuse its second send. `nth`: the position of the first send among the PUT calls to
 * `path`.
 */
const loseThenRefuse = (path: string, nth: number) => {
  here.crm.faults.add({match: {method: 'PUT', path, nth}, times: 1, action: {type: 'dropAfter'}})
  here.crm.faults.add({match: {method: 'PUT', path, nth}, times: 1, action: {type: 'refuse', index: 0}})
}
const mayBeWritten = /An earlier send of this row was never answered, so its values may have been written$/

test.serial(
  'an undo restores the value of an update that the CRM executed without an answer, and refused when it was sent again',
  async t => {
    here.crm.create('example', 'Accounts', [{Account_Name: 'Old', Account_Number: 'Ve-1'}])
    loseThenRefuse('/crm/v8/Accounts', 1)
    const {path, run} = await runFiles(org, {companies: 'name,number\nNew,Ve-1\n'}, [companies()])
    t.like(run.counts.Accounts, {updated: 0, refused: 1, unanswered: 0})
    t.is(accountOf(here, 'Ve-1').Account_Name, 'New')
    const log = await readLog(org.call, `${path}/runs/${run.id}`)
    t.deepEqual(
      log.map(({outcome, message}) => [outcome, mayBeWritten.test(message)]),
      [
        ['unanswered', false],
        ['refused', true],
      ],
    )
    const {run: undone} = await undoRun(org, {path, run})
    t.is(accountOf(here, 'Ve-1').Account_Name, 'Old')
    t.like(undone.undo, {restored: 1, changedSince: 0})
  },
)

test.serial('an undo restores subform rows if the CRM replaced them without an answer and refused the second send', async t => {
  here.crm.create('example', 'Orders', [{Name: 'Vf-1', Code: 'Vf-1', Order_Lines: [{Product: 'Old', Quantity: 1}]}])
  loseThenRefuse('/crm/v8/Orders', 2)
  const {path, run} = await runFiles(org, {orders: orderSheet(['Vf-1']), lines: lineSheet([['Vf-1', 'A']])}, [orders(), lines()])
  t.like(run.counts.Order_Lines, {updated: 0, refused: 1, unanswered: 0})
  t.deepEqual(productsOf(here, 'Vf-1'), ['A'])
  const log = await readLog(org.call, `${path}/runs/${run.id}`)
  t.true(log.some(({outcome, message}) => outcome === 'refused' && mayBeWritten.test(message)))
  await undoRun(org, {path, run})
  t.deepEqual(productsOf(here, 'Vf-1'), ['Old'])
})

test.serial('an undo restores the value of an unanswered update although a retry then found the record unchanged', async t => {
  here.crm.create('example', 'Accounts', [{Account_Name: 'Old', Account_Number: 'Vg-1'}])
  loseThenRefuse('/crm/v8/Accounts', 1)
  const flow = companies({match: {by: ['Account_Number'], onOne: 'update', onMany: 'skip', unchanged: 'skip'}})
  const {path, run} = await runFiles(org, {companies: 'name,number\nNew,Vg-1\n'}, [flow])
  t.like(run.counts.Accounts, {refused: 1})
  await here.ahead('5 minutes')
  const {run: begun} = await ok(org.call('POST', `${path}/runs`, {retryOf: run.id}), 202)
  const retry = await untilEnded(org.call, `${path}/runs/${begun.id}`)
  t.like(retry, {unchanged: 1, counts: {Accounts: {skipped: 1}}})
  await undoRun(org, {path, run: retry})
  const {run: undone} = await undoRun(org, {path, run})
  t.is(accountOf(here, 'Vg-1').Account_Name, 'Old')
  t.like(undone.undo, {restored: 1, changedSince: 0})
})

test.serial('an undo keeps the value of a patch that waited for the rate limit when the run was cancelled', async t => {
  const numbers = numbersOf('Vh-', 2)
  const puts = {method: 'PUT', path: '/crm/v8/Accounts'}
  here.crm.clearJournal()
  here.crm.faults.add({match: puts, times: 1, action: {type: 'rateLimit', retryAfter: 9}})
  const {path} = await prepareCities(numbers)
  const {run} = await ok(org.call('POST', `${path}/runs`, {}), 202)
  await until(
    () => here.crm.journal(puts).length,
    sent => sent > 0,
  )
  await ok(org.call('POST', `${path}/runs/${run.id}/cancel`), 200)
  t.like(await untilEnded(org.call, `${path}/runs/${run.id}`), {stop: {stopped: 'CANCELLED'}})
  t.is(here.crm.journal(puts).length, 1)
  edit('Accounts', accountOf(here, numbers[0]!), {Billing_City: 'Rome'})
  await undoRun(org, {path, run})
  t.deepEqual(citiesOf(numbers), ['Rome', 'Paris'])
})

test.serial('an undo restores subform rows of an unanswered write although a retry then wrote them to another record', async t => {
  for (const code of ['Vi-1', 'Vi-2']) here.crm.create('example', 'Orders', [{Name: code, Code: code, Order_Lines: [{Product: 'Old'}]}])
  loseThenRefuse('/crm/v8/Orders', 2)
  const files = {orders: orderSheet(['Vi-1', 'Vi-2']), lines: lineSheet([['Vi-1', 'A']])}
  const {path, ids, run} = await runFiles(org, files, [orders(), lines()])
  t.deepEqual(productsOf(here, 'Vi-1'), ['A'])
  await ok(org.call('PATCH', `${path}/sources/${ids.lines}/cells`, {cells: [{row: 1, column: 'order', value: 'Vi-2'}]}), 200)
  await here.ahead('10 minutes')
  const {run: begun} = await ok(org.call('POST', `${path}/runs`, {retryOf: run.id}), 202)
  const retry = await untilEnded(org.call, `${path}/runs/${begun.id}`)
  t.like(retry.counts, {Order_Lines: {updated: 1}})
  t.deepEqual(productsOf(here, 'Vi-2'), ['A'])
  await undoRun(org, {path, run: retry})
  await undoRun(org, {path, run})
  t.deepEqual([productsOf(here, 'Vi-1'), productsOf(here, 'Vi-2')], [['Old'], ['Old']])
})
