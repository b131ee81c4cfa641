import type {ExecutionContext} from 'ava'
import {sql} from '../../sql/database.ts'
import {accounts, type Org, ok, prepareImport, readLog, untilEnded} from './importing.ts'
import type {TestDeployment} from './test-deployment.ts'

export const jobs = {method: 'POST', path: '/crm/bulk/v8/write'}
export const flow = {...accounts, automations: true}

/** The number of rows of a file, and how many of them update a record. The others create one. */
export const [rows, matched] = [20, 10]

/** The outcomes and codes of a run that wrote each row at the first attempt. */
export const written = ['created null', 'updated null']
export const codesOf = (log: any[]) => [...new Set(log.map(({outcome, code}) => `${outcome} ${code}`))].sort()

/** Returns functions for imports that write in bulk into Accounts. A prefix of the account number selects the records of one import. */
export const openBulkImports = (here: TestDeployment, org: Org) => {
  const list = (prefix: string) =>
    here.crm.records('example', 'Accounts').filter(({Account_Number: number}) => String(number).startsWith(prefix))
  const create = (prefix: string, count = matched) =>
    here.crm.create(
      'example',
      'Accounts',
      Array.from({length: count}, (_, n) => ({Account_Name: `Old ${n + 1}`, Account_Number: `${prefix}${n + 1}`, Billing_City: 'Old'})),
      {as: 'ben@example.org'},
    )
  const begin = async (csv: string, start: object = {write: 'bulk'}, into: object = flow) => {
    const {path} = await prepareImport(org, {csv, flow: into})
    const {run} = await ok(org.call('POST', `${path}/runs`, start), 202)
    return {path: `${path}/runs/${run.id}`, end: () => untilEnded(org.call, `${path}/runs/${run.id}`)}
  }
  const finish = async (csv: string, start?: object, into?: object) => {
    const {path, end} = await begin(csv, start, into)
    const run = await end()
    const log = await readLog(org.call, path)
    return {path, run, log, ends: log.map(({rowNumber, attempt, outcome, code}) => [rowNumber, attempt, outcome, code]).sort()}
  }
  /** Asserts that every row ended with one record that holds its values. */
  const check = async (t: ExecutionContext, prefix: string, {path, end}: Awaited<ReturnType<typeof begin>>) => {
    const run = await end()
    const log = await readLog(org.call, path)
    const records = list(prefix)
    t.is(records.length, rows, 'one record a row')
    t.is(new Set(records.map(({Account_Number}) => Account_Number)).size, rows)
    for (let n = 1; n <= rows; n++) {
      const record = records.find(({Account_Number}) => Account_Number === `${prefix}${n}`)!
      t.like(record, {Account_Name: `Company ${n}`, Billing_City: `Town ${(n - 1) % 7}`})
      const last = log.filter(({rowNumber, attempt}) => rowNumber === n && attempt > 0).at(-1)
      t.is(last.outcome, n <= matched ? 'updated' : 'created')
      t.is(last.recordId, record.id)
    }
    t.like(run.counts.Accounts, {created: rows - matched, updated: matched, refused: 0, unanswered: 0})
    t.is(run.rowsWritten, rows)
    t.is(run.mayExistTwice, 0)
    t.deepEqual(await here.db.anyFirst(sql.unsafe`select state from bulk_jobs where state <> 'done' or key is not null`), [])
    t.deepEqual(await here.db.anyFirst(sql.unsafe`select run_no from sends`), [])
    return {run, log}
  }
  return {list, create, begin, finish, check}
}
