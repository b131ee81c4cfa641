import test, {type ExecutionContext} from 'ava'
import {parse} from 'csv-parse/sync'
import {checkImport} from '../support/import-checks.ts'
import {accounts, ok, openOrg, prepareImport, readLog, untilEnded} from '../support/importing.ts'
import {startTestDeployment} from '../support/test-deployment.ts'

let here: Awaited<ReturnType<typeof startTestDeployment>>
let org: Awaited<ReturnType<typeof openOrg>>

test.before(async t => {
  here = await startTestDeployment(t, {
    workers: ['imports', 'checks', 'discovery'],
    environment: {LEASE_SECONDS: '3', CRM_TIMEOUT_SECONDS: '5'},
  })
  org = await openOrg(here)
})

const run = async (path: string, start: object) => {
  const {run: begun} = await ok(org.call('POST', `${path}/runs`, start), 202)
  const ended = await untilEnded(org.call, `${path}/runs/${begun.id}`)
  const log = await readLog(org.call, `${path}/runs/${begun.id}`)
  const ends = new Map<number, string>()
  for (const {rowNumber, outcome, code} of log) ends.set(rowNumber, `${outcome} ${code ?? ''}`.trim())
  return {ended, ends: Array.from({length: Math.max(...ends.keys())}, (_, at) => ends.get(at + 1))}
}

/** Executes a dry run, then a run. Asserts that the dry run refuses the rows that the run refuses, with the same codes. */
const compare = async (t: ExecutionContext, path: string) => {
  const dry = await run(path, {dryRun: true})
  const real = await run(path, {})
  t.deepEqual(
    dry.ends,
    real.ends.map(end => (/^(created|updated)/.test(end!) ? 'planned' : end)),
  )
  return {dry, real}
}

test.serial('a dry run refuses a create without a required field as the run does, and an update that clears one', async t => {
  here.crm.create('example', 'Accounts', [
    {Account_Name: 'Kept', Account_Number: 'Rq-2'},
    {Account_Name: 'Cleared', Account_Number: 'Rq-3'},
  ])
  const csv = 'name,number,city\n,Rq-1,Bonn\n,Rq-2,Bonn\n\\N,Rq-3,Bonn\nNew,Rq-4,Bonn\n,Rq-5,Bonn\nLater,Rq-5,Bonn\n'
  const {path} = await prepareImport(org, {csv, flow: accounts})
  const {dry, real} = await compare(t, path)
  t.deepEqual(real.ends, [
    'refused MANDATORY_NOT_FOUND',
    'updated',
    'refused MANDATORY_NOT_FOUND',
    'created',
    'refused MANDATORY_NOT_FOUND',
    'created',
  ])
  t.like(dry.ended.counts.Accounts, {planned: 3, refused: 3})
  const {text} = await org.call('GET', `${path}/plan.csv?run=${dry.ended.id}`)
  const plan = parse(text, {columns: true, bom: true}) as {Row: string; Action: string}[]
  const actions = new Map(plan.map(({Row, Action}) => [Row, Action]))
  t.deepEqual([...actions.values()], ['fail', 'update', 'fail', 'create', 'fail', 'create'])
})

test.serial('a dry run shows the code of a row that lacks several required fields', async t => {
  const column = (field: string, source: string) => ({field, mode: 'column', source})
  const fields = [column('Deal_Name', 'name'), column('Stage', 'stage'), column('Closing_Date', 'day'), column('Description', 'note')]
  const csv = 'name,stage,day,note\n,,2026-03-04,none of both\nDeal,Qualification,,no date\n'
  const {path} = await prepareImport(org, {csv, flow: {module: 'Deals', fields}})
  await compare(t, path)
})

test.serial('a check names the code of the refusal', async t => {
  const {path} = await prepareImport(org, {csv: 'name,number,city\n,Rc-1,Bonn\n', flow: {...accounts, match: null}})
  const {problems} = await checkImport(org, path)
  t.true(problems.some(({kind, message}: any) => kind === 'required' && message.includes('MANDATORY_NOT_FOUND')))
})
