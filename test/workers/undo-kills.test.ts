import test from 'ava'
import {accountRows, accounts, type Org, ok, openOrg, prepareImport, readLog, untilEnded} from '../support/importing.ts'
import {callsOf, row} from '../support/record-writes.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'
import {endWorker, killAt, openWorkers} from '../support/worker-process.ts'

let here: TestDeployment
let org: Org

test.before(async t => {
  here = await startTestDeployment(t, {
    workers: ['discovery', 'writes'],
    environment: {LEASE_SECONDS: '1.5', CRM_TIMEOUT_SECONDS: '3', CRM_LAG_SECONDS: '1'},
  })
  org = await openOrg(here)
})

const startWorker = openWorkers(() => here.config)

const [rows, existing] = [450, 0.5]

const list = (prefix: string) =>
  here.crm.records('example', 'Accounts').filter(({Account_Number}) => String(Account_Number).startsWith(prefix))
const stateOf = (prefix: string) =>
  Object.fromEntries(
    list(prefix).map(({id, Account_Name, Account_Number, Billing_City}) => [Account_Number, {id, Account_Name, Billing_City}]),
  )

const run = async (path: string, body: object = {}) => {
  const {run} = await ok(org.call('POST', path, body), 202)
  return `${path.split('/runs')[0]}/runs/${run.id}`
}

for (const [seed, point] of ['after_intent:2', 'after_send:2', 'before_settle:3', 'after_send:5', 'in_close'].entries()) {
  test.serial(`after a kill at ${point}, the CRM holds what it held before the import, and later edits`, async t => {
    const prefix = `S${seed}-`
    here.crm.create(
      'example',
      'Accounts',
      Array.from({length: rows * existing}, (_, n) => ({
        Account_Name: `Old ${n}`,
        Account_Number: `${prefix}${n + 1}`,
        Billing_City: null,
      })),
    )
    const before = stateOf(prefix)
    const {path} = await prepareImport(org, {csv: accountRows(rows, prefix), flow: accounts})
    const first = startWorker()
    const imported = await run(`${path}/runs`)
    t.like((await untilEnded(org.call, imported)).counts.Accounts, {created: rows * existing, updated: rows * existing})
    await endWorker(first)
    const expected: Record<string, object> = {...before}
    for (const [n, record] of list(prefix).entries()) {
      if (n % 3 !== seed % 3) continue
      const {Account_Number: number, id, Account_Name} = record as Record<string, string>
      here.crm.update('example', 'Accounts', [{id: id!, Billing_City: 'Mine'}], {as: 'ben@example.org'})
      expected[number!] = {id, Account_Name: (before[number!] as any)?.Account_Name ?? Account_Name, Billing_City: 'Mine'}
    }
    const undo = await run(`${imported}/undo`)
    await killAt(startWorker, point)
    const last = startWorker()
    const ended = await untilEnded(org.call, undo)
    await endWorker(last)
    t.deepEqual(stateOf(prefix), expected)
    t.like(ended, {stop: null, rowsWritten: 0})
    const {updated, skipped, unanswered, refused} = ended.counts.Accounts
    t.deepEqual([updated + skipped, unanswered, refused], [rows, 0, 0])
    const finals = (await readLog(org.call, undo)).filter(({phase, outcome}) => phase === 'write' && outcome !== 'unanswered')
    t.is(new Set(finals.map(({rowKey}) => rowKey)).size, rows)
    t.is(finals.length, rows)
  })
}

test.serial("an undo restores the earlier value if the CRM refused a killed worker's patch and accepted the next owner's", async t => {
  const numbers = ['Sp-1', 'Sp-2', 'Sp-3']
  const records = numbers.map(Account_Number => ({Account_Name: 'Met', Account_Number, Billing_City: 'Paris'}))
  here.crm.create('example', 'Accounts', records)
  const patched = {...accounts.fields[2], patch: {when: ['exists']}}
  const flow = {...accounts, match: {...accounts.match, onOne: 'skip'}, fields: [...accounts.fields.slice(0, 2), patched]}
  const {path} = await prepareImport(org, {csv: `name,number,city\n${numbers.map(number => `Met,${number},Rome`).join('\n')}\n`, flow})
  const puts = {method: 'PUT', path: '/crm/v8/Accounts'}
  here.crm.faults.add({match: puts, times: 1, action: {type: 'refuse', index: [1, 2]}})
  here.crm.faults.add({match: puts, times: 1, action: {type: 'refuse', index: 2}})
  const imported = await run(`${path}/runs`)
  await killAt(startWorker, 'before_settle')
  const next = startWorker()
  await untilEnded(org.call, imported)
  const log = await readLog(org.call, imported)
  const ends = log.filter(({phase, outcome}) => phase === 'patch' && outcome !== 'unanswered')
  t.deepEqual(ends.map(({rowNumber, outcome}) => `${rowNumber} ${outcome}`).sort(), ['1 updated', '2 updated', '3 refused'])
  await untilEnded(org.call, await run(`${imported}/undo`))
  t.deepEqual(
    list('Sp-').map(({Billing_City}) => Billing_City),
    ['Paris', 'Paris', 'Paris'],
  )
  await endWorker(next)
  here.crm.faults.clear()
})

test.serial('after a kill, an undo of an external run undoes each record once, although its rows have no numbers', async t => {
  const engine = callsOf(here, org)
  const {path} = await engine.makeImport()
  const external = await engine.authorise(2, {importId: path.split('/').at(-1)})
  const {results} = await ok(engine.create(external, [row('Sx-1'), row('Sx-2')]), 200)
  await ok(engine.tell(external, 'progress', {done: true}), 200)
  here.crm.clock.advance(60_000)
  here.crm.update('example', 'Accounts', [{id: results[0].recordId, Billing_City: 'Mine'}], {as: 'ben@example.org'})
  const undo = await run(`${path}/runs/${external}/undo`)
  await killAt(startWorker, 'after_send')
  startWorker()
  t.like(await untilEnded(org.call, undo), {stop: null, undo: {deleted: 1, changedSince: 1}})
  const finals = (await readLog(org.call, undo)).filter(({phase, outcome}) => phase === 'write' && outcome !== 'unanswered')
  t.deepEqual(finals.map(({rowKey}) => rowKey).toSorted(), ['Sx-1', 'Sx-2'])
  t.deepEqual(Object.keys(stateOf('Sx-')), ['Sx-1'])
})
