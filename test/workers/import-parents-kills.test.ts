import assert from 'node:assert/strict'
import test from 'ava'
import {ok, openOrg, readLog, untilEnded} from '../support/importing.ts'
import {assertLinked, column, companies, prepareFiles} from '../support/lookups.ts'
import {startTestDeployment} from '../support/test-deployment.ts'
import {killAt, killAtRows, openWorkers} from '../support/worker-process.ts'

let here: Awaited<ReturnType<typeof startTestDeployment>>
let org: Awaited<ReturnType<typeof openOrg>>

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['discovery'], environment: {LEASE_SECONDS: '1.5', CRM_TIMEOUT_SECONDS: '5'}})
  org = await openOrg(here)
})

test.afterEach.always(() => here.crm.faults.clear())

const startWorker = openWorkers(() => here.config)

const [parents, children] = [400, 2_000]
/** Returns the parent of a child. No two children of one parent are adjacent. */
const parentOf = (child: number) => ((child * 7) % parents) + 1

const orders = {
  id: 'orders',
  source: 'orders',
  module: 'Orders',
  match: {by: ['Code'], onOne: 'update', onMany: 'skip', unchanged: 'write'},
  fields: [column('Name', 'name'), column('Code', 'code')],
  parent: {field: 'Account', flow: 'companies', key: {parentColumn: 'number', childColumn: 'company'}},
}

const filesOf = (mark: string) => ({
  companies: `name,number\n${Array.from({length: parents}, (_, n) => `Company ${n + 1},${mark}${n + 1}`).join('\n')}\n`,
  orders: `name,code,company\n${Array.from({length: children}, (_, n) => `Order,${mark}${n + 1},${mark}${parentOf(n + 1)}`).join('\n')}\n`,
})

const begin = async (files: Record<string, string>, flows: Parameters<typeof prepareFiles>[2]) => {
  const {path} = await prepareFiles(org, files, flows)
  const {run} = await ok(org.call('POST', `${path}/runs`, {}), 202)
  return `${path}/runs/${run.id}`
}

const assertFamilies = async (mark: string, runPath: string) => {
  const run = await untilEnded(org.call, runPath)
  const log = await readLog(org.call, runPath)
  await assertLinked(here, {run, log, rows: {companies: parents, orders: children}})
  assert.deepEqual([run.counts.Accounts.created, run.counts.Orders.created, run.rowsWritten], [parents, children, parents + children])
  const accounts = new Map(mine('Accounts', 'Account_Number', mark).map(({id, Account_Number}) => [Account_Number, id]))
  const made = mine('Orders', 'Code', mark)
  assert.deepEqual([accounts.size, made.length, new Set(made.map(({Code}) => Code)).size], [parents, children, children], 'nothing twice')
  for (const {Code, Account} of made) {
    const number = parentOf(Number(Code.slice(mark.length)))
    assert.equal(Account?.id, accounts.get(`${mark}${number}`), `the parent of order ${Code}`)
  }
}

const mine = (module: string, field: string, mark: string): any[] =>
  here.crm.records('example', module).filter(record => String(record[field]).startsWith(mark))

test.serial('children are linked to the right parents when a worker is killed at every stage', async t => {
  const mark = 'Fam-'
  const runPath = await begin(filesOf(mark), [companies(), orders])
  for (const point of ['in_index', 'before_settle:3', 'after_intent:6', 'after_send:7', 'before_settle:4']) await killAt(startWorker, point)
  startWorker()
  await assertFamilies(mark, runPath)
  t.pass()
})

test.serial('children are linked to the right parents when workers are killed at any moment', async t => {
  const mark = 'Any-'
  const runPath = await begin(filesOf(mark), [companies(), orders])
  here.crm.faults.add({match: {method: 'POST', path: '/crm/v8/'}, times: 1_000, action: {type: 'slow', ms: 100, when: 'after'}})
  await killAtRows(startWorker, {call: org.call, runPath, rows: [700, 1_400]})
  await assertFamilies(mark, runPath)
  t.pass()
})

test.serial('rows that wait for parents in their own flow are linked when workers are killed', async t => {
  const mark = 'Own-'
  const rows = 600
  // Rows form a binary tree: row n is a child of row n / 2.
  const lines = Array.from({length: rows}, (_, n) => `Company ${n + 1},${mark}${n + 1},${n ? `${mark}${Math.floor((n + 1) / 2)}` : ''}`)
  const parent = {field: 'Parent_Account', flow: 'companies', key: {parentColumn: 'number', childColumn: 'of'}}
  const runPath = await begin({companies: `name,number,of\n${lines.join('\n')}\n`}, [companies({parent})])
  for (const point of ['after_send:3', 'before_settle:4', 'after_intent:4']) await killAt(startWorker, point)
  startWorker()
  const run = await untilEnded(org.call, runPath)
  await assertLinked(here, {run, log: await readLog(org.call, runPath), rows: {companies: rows}})
  const made = new Map(mine('Accounts', 'Account_Number', mark).map(record => [Number(record.Account_Number.slice(mark.length)), record]))
  t.deepEqual([run.counts.Accounts.created, made.size], [rows, rows])
  for (const [number, {Parent_Account}] of made) t.is(Parent_Account?.id, made.get(Math.floor(number / 2))?.id, `the parent of ${number}`)
})
