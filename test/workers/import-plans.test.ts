import {once} from 'node:events'
import test from 'ava'
import {parse} from 'csv-parse/sync'
import {accounts, ok, openOrg, prepareImport, untilEnded} from '../support/importing.ts'
import {companies, people, prepareFiles} from '../support/lookups.ts'
import {lineSheet, lines, orderSheet, orders} from '../support/subforms.ts'
import {startTestDeployment} from '../support/test-deployment.ts'
import {openWorkers} from '../support/worker-process.ts'

let here: Awaited<ReturnType<typeof startTestDeployment>>
let org: Awaited<ReturnType<typeof openOrg>>

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['discovery'], environment: {LEASE_SECONDS: '1.5', CRM_TIMEOUT_SECONDS: '5'}})
  org = await openOrg(here)
})

const startWorker = openWorkers(() => here.config)

const begin = async (path: string) => {
  const {run} = await ok(org.call('POST', `${path}/runs`, {dryRun: true}), 202)
  return `${path}/runs/${run.id}`
}
const planOf = async (path: string, runPath: string, source?: string) => {
  const query = `run=${runPath.split('/').at(-1)}${source ? `&source=${source}` : ''}`
  const {text, status} = await org.call('GET', `${path}/plan.csv?${query}`)
  if (status !== 200) throw new Error(text)
  return (parse(text) as string[][]).slice(1)
}

const there = (count: number, prefix: string) =>
  here.crm.create(
    'example',
    'Accounts',
    Array.from({length: count}, (_, n) => ({Account_Name: `Old ${n}`, Account_Number: `${prefix}${n + 1}`, Billing_City: 'Here'})),
  )

test.serial('a dry run whose worker is killed lists every value in its plan once', async t => {
  const rows = 350
  there(rows, 'Va-')
  const csv = `name,number,city\n${Array.from({length: rows}, (_, n) => `New ${n},Va-${n + 1},Here`).join('\n')}\n`
  const {path} = await prepareImport(org, {csv, flow: accounts})
  const runPath = await begin(path)
  await once(startWorker({FAULT_POINT: 'before_settle:2'}), 'exit')
  startWorker()
  t.like(await untilEnded(org.call, runPath), {counts: {Accounts: {planned: rows}}, stop: null})
  const plan = await planOf(path, runPath)
  t.deepEqual(
    plan.map(([row, , module, action, , field, old, now, why]) => [row, module, action, field, old, now, why]),
    Array.from({length: rows}, (_, n) => [`${n + 1}`, 'Accounts', 'update', 'Account Name', `Old ${n}`, `New ${n}`, '']),
  )
})

test.serial('the plan shows the same random values that the run then writes', async t => {
  const csv = `number\n${Array.from({length: 20}, (_, n) => `Vr-${n}`).join('\n')}\n`
  const name = {field: 'Account_Name', mode: 'expression', transform: 'String(Math.random())'}
  const flow = {...accounts, fields: [name, {field: 'Account_Number', mode: 'column', source: 'number'}]}
  const {path} = await prepareImport(org, {csv, flow})
  startWorker()
  const runPath = await begin(path)
  await untilEnded(org.call, runPath)
  const planned = (await planOf(path, runPath)).filter(([, , , , , field]) => field === 'Account Name').map(([, , , , , , , now]) => now)
  const {run} = await ok(org.call('POST', `${path}/runs`, {}), 202)
  await untilEnded(org.call, `${path}/runs/${run.id}`)
  const numbers = here.crm.records('example', 'Accounts').filter(({Account_Number: number}) => String(number).startsWith('Vr-'))
  t.is(new Set(planned).size, 20)
  t.deepEqual(planned.toSorted(), numbers.map(({Account_Name: value}) => value as string).toSorted())
})

test.serial('the plan includes links, patches and subform rows', async t => {
  startWorker()
  there(1, 'Vb-')
  const key = {parentColumn: 'number', childColumn: 'company'}
  const files = {companies: 'name,number\nOld 0,Vb-1\nNew,Vb-2\n', people: 'last,mail,company\nOne,one@vb.example,Vb-2\n'}
  const linked = await prepareFiles(org, files, [people({key}), companies()])
  const linkedRun = await begin(linked.path)
  await untilEnded(org.call, linkedRun)
  const ofPeople = await planOf(linked.path, linkedRun, linked.ids.people)
  t.deepEqual(
    ofPeople.map(([row, source, , action, , field, old, now]) => [row, source, action, field, old, now]),
    [
      ['1', 'people.csv', 'create', 'Last Name', '', 'One'],
      ['1', 'people.csv', 'create', 'Email', '', 'one@vb.example'],
      ['1', 'people.csv', 'patch', 'Account Name', '', 'the record of row 2 of companies'],
    ],
  )
  const ofCompanies = await planOf(linked.path, linkedRun, linked.ids.companies)
  t.deepEqual(ofCompanies[0]!.slice(3), ['update', ofCompanies[0]![4]!, '', '', '', 'nothing changes'])

  const lined = await prepareFiles(
    org,
    {
      orders: orderSheet(['Vc-1']),
      lines: lineSheet([
        ['Vc-1', 'A'],
        ['Vc-9', 'B'],
      ]),
    },
    [orders(), lines()],
  )
  const linedRun = await begin(lined.path)
  await untilEnded(org.call, linedRun)
  t.deepEqual(
    (await planOf(lined.path, linedRun, lined.ids.lines)).map(([row, , , action, , field, old, now]) => [row, action, field, old, now]),
    [
      ['1', 'replace', 'Product', '', 'A'],
      ['1', 'replace', 'Quantity', '', '1'],
      ['2', 'fail', '', '', ''],
    ],
  )
})
