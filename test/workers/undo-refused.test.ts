import test from 'ava'
import {type Org, readLog, undoRun} from '../support/importing.ts'
import {accountOf, column, companies, runFiles} from '../support/lookups.ts'
import {lineSheet, lines, orderOf, orderSheet, orders, productsOf} from '../support/subforms.ts'
import {openImports, type TestDeployment} from '../support/test-deployment.ts'

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

/** Patches the city of existing accounts, from Paris to Rome. */
const patchCities = async (numbers: string[], start: object = {}) => {
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
  const {path, run} = await runFiles(org, {companies: csv}, [flow], start)
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
