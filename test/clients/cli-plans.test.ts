import test from 'ava'
import {openHome} from '../support/cli-process.ts'
import {companies, openCompanies} from '../support/companies.ts'
import {accountRows, type Org, ok} from '../support/importing.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

let house: TestDeployment
let org: Org
let home: ReturnType<typeof openHome>

test.before(async t => {
  house = await startTestDeployment(t, {
    workers: ['imports', 'discovery'],
    environment: {CRM_TIMEOUT_SECONDS: '5', CRM_LAG_SECONDS: '1'},
  })
  const opened = await openCompanies(house)
  org = opened.org
  home = openHome({LADING_URL: house.url, LADING_TOKEN: opened.secret})
})

const numbersOf = (prefix: string): string[] =>
  house.crm
    .records('example', 'Accounts')
    .map(({Account_Number: number}) => String(number))
    .filter(number => number.startsWith(prefix))
    .toSorted()
const runOf = (out: string) => /run_\w+/.exec(out)![0]
const endOf = (out: string) => JSON.parse(out.trim().split('\n').at(-1)!)

test.serial('a plan writes nothing, and its application writes the planned rows', async t => {
  const path = home.put('plan.csv', accountRows(3, 'Pa-'))
  const planned = await home.run(['plan', path, '-t', 'Companies'])
  t.is(planned.code, 0, planned.err)
  const run = runOf(planned.out)
  t.regex(planned.out, /\n {2}Accounts: 3 would be written\nPlan: 3 rows, valid until \d{4}-\d\d-\d\dT\S+\nDigest: [\da-f]{64}\nNext:\n/)
  t.true(planned.out.includes(`  lading apply ${run} --watch`), planned.out)
  t.deepEqual(numbersOf('Pa-'), [])
  const applied = await home.run(['apply', run, '--watch'])
  t.is(applied.code, 0, applied.err)
  t.regex(applied.out, /Accounts: 3 created/)
  t.deepEqual(numbersOf('Pa-'), ['Pa-1', 'Pa-2', 'Pa-3'])
  t.like((await ok(org.call('GET', `/orgs/${org.org}/runs/${runOf(applied.out)}`), 200)).run, {planOf: run, rowsWritten: 3})
})

test.serial('a row whose record was edited after the plan is reported as stale, keeps its record, and causes exit code 2', async t => {
  house.crm.create('example', 'Accounts', [{Account_Name: 'Theirs', Account_Number: 'Ps-2', Billing_City: 'Old'}], {as: 'ben@example.org'})
  const path = home.put('stale.csv', accountRows(3, 'Ps-'))
  const planned = await home.run(['plan', path, '-t', 'Companies', '--name', 'Stale'])
  t.is(planned.code, 0, planned.err)
  house.crm.clock.advance(3_000)
  const found = () => house.crm.records('example', 'Accounts').find(({Account_Number: number}) => number === 'Ps-2')!
  house.crm.update('example', 'Accounts', [{id: String(found().id), Billing_City: 'Ben'}], {as: 'ben@example.org'})
  const applied = await home.run(['apply', 'Stale', '--watch'])
  t.is(applied.code, 2, applied.err)
  t.regex(applied.out, /\n {2}1 row skipped, because the row or its record changed after the plan\. .*lading plan FILE\n/)
  t.regex(applied.out, /\(PLAN_STALE\), first in row 2/)
  t.notRegex(applied.out, /lading retry/)
  t.deepEqual([numbersOf('Ps-'), found().Billing_City], [['Ps-1', 'Ps-2', 'Ps-3'], 'Ben'])
  const again = await home.run(['watch', runOf(applied.out), '--fail-on', 'never', '--json'])
  t.is(again.code, 0)
  t.like(endOf(again.out), {event: 'end', exit: 0, run: {planStale: 1}})
})

test.serial('with --exit-code, a plan that writes rows exits with 9, one that writes none with 0, and refused rows with 2', async t => {
  const [flow] = companies.flows
  home.put('skip.json', JSON.stringify({...flow, match: {...flow!.match, unchanged: 'skip'}}))
  const [header] = accountRows(1, 'x').split('\n')
  const plan = async (name: string, csv: string) => {
    const {code, out, err} = await home.run(['plan', home.put(name, csv), '--flow', 'skip.json', '--exit-code', '--json'])
    t.is(err, '')
    t.is(endOf(out).exit, code)
    return endOf(out)
  }
  t.like(await plan('changes.csv', accountRows(2, 'Pe-')), {exit: 9, plan: {rows: 2, state: 'sealed'}})
  house.crm.create('example', 'Accounts', [{Account_Name: 'Firm', Account_Number: 'Pe-1', Billing_City: 'Bern'}], {as: 'ben@example.org'})
  house.crm.clock.advance(3_000)
  t.like(await plan('none.csv', `${header}\nFirm,Pe-1,Bern\n`), {exit: 0, plan: {rows: 0}})
  t.like(await plan('refused.csv', `${header}\nFirm,Pe-1,Basel\n,Pe-2,Bern\n`), {exit: 2, plan: {rows: 1}})
})

test.serial('a dry run without a sealed plan and a run that is no dry run are refused, with the next step', async t => {
  const path = home.put('unsealed.csv', accountRows(1, 'Pu-'))
  const dry = await home.run(['import', path, '-t', 'Companies', '--dry-run', '--watch'])
  const unsealed = await home.run(['apply', runOf(dry.out)])
  t.deepEqual([unsealed.code, numbersOf('Pu-')], [7, []])
  t.regex(unsealed.err, /has no sealed plan \(NOT_READY\)\n.*lading plan FILE/)
  const real = await home.run(['import', path, '-t', 'Companies', '--watch'])
  t.like(JSON.parse((await home.run(['apply', runOf(real.out), '--json'])).err), {code: 'NOT_A_DRY_RUN', exit: 7})
})

test.serial('a plan that needs approval is applied only after another admin approved it', async t => {
  const allowRows = (approvalAbove: number | null) => ok(org.call('PATCH', `/orgs/${org.org}/config/settings`, {approvalAbove}), 200)
  await allowRows(1)
  const planned = await home.run(['plan', home.put('approval.csv', accountRows(2, 'Pr-')), '-t', 'Companies', '--json'])
  const {run, plan} = endOf(planned.out)
  t.like(plan, {needsApproval: true, approvedAt: null})
  const refused = await home.run(['apply', run.id])
  t.deepEqual([refused.code, numbersOf('Pr-')], [7, []])
  t.regex(refused.err, /\(APPROVAL_REQUIRED\)\nAnother admin must approve the plan/)
  const other = house.as((await house.makeOrg({org: org.org, role: 'admin'})).token)
  await ok(other('POST', `/orgs/${org.org}/imports/${run.importId}/runs/${run.id}/approve`, {digest: plan.digest}), 200)
  const applied = await home.run(['apply', run.id, '--watch'])
  t.is(applied.code, 0, applied.err)
  t.deepEqual(numbersOf('Pr-'), ['Pr-1', 'Pr-2'])
  await allowRows(null)
})
