import test from 'ava'
import {accountRows, accounts, type Org, ok, openOrg, prepareImport} from '../support/importing.ts'
import {applyPlan, makePlan} from '../support/sealed-plans.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

let here: TestDeployment
let org: Org

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['discovery', 'imports'], environment: {CRM_TIMEOUT_SECONDS: '5'}})
  org = await openOrg(here)
})

const allowRows = (approvalAbove: number | null) => ok(org.call('PATCH', `/orgs/${org.org}/config/settings`, {approvalAbove}), 200)
const join = async (role: 'admin' | 'builder') => here.as((await here.makeOrg({org: org.org, role})).token)
const noticesOf = async (kind: string, run: string) =>
  (await here.hot.query(`select about from notices where kind = $1 and about ->> 'run' = $2`, [kind, run])).rows.map(({about}) => about)
const isRefused = (status: number, code: string) => ({status, body: {code}})

test.serial('a run of more rows than the setting needs an approved plan, and a smaller one does not', async t => {
  await allowRows(3)
  const {path} = await prepareImport(org, {csv: accountRows(5, 'Ap-'), flow: accounts})
  t.like(await org.call('POST', `${path}/runs`, {}), {status: 409, body: {code: 'APPROVAL_REQUIRED', approvalAbove: 3}})
  const dry = await makePlan(org, path)
  t.like(dry.plan, {rows: 5, needsApproval: true, isAuthor: true, approvedAt: null})
  t.deepEqual(await noticesOf('plan.waiting', dry.run.id), [
    {import: path.split('/').at(-1), run: dry.run.id, rows: 5, digest: dry.plan.digest},
  ])
  t.like(await org.call('POST', `${path}/runs`, {planOf: dry.run.id}), isRefused(409, 'APPROVAL_REQUIRED'))

  const other = await join('admin')
  const approval = `${path}/runs/${dry.run.id}/approve`
  t.like((await ok(other('GET', `${path}/runs/${dry.run.id}/seal`), 200)).plan, {isAuthor: false})
  t.like(await org.call('POST', approval, {digest: dry.plan.digest}), isRefused(403, 'SELF_APPROVAL'))
  t.like(await other('POST', approval, {digest: 'f'.repeat(64)}), isRefused(409, 'PLAN_CHANGED'))
  t.like(await (await join('builder'))('POST', approval, {digest: dry.plan.digest}), {status: 403})
  const {secret} = await ok(org.call('POST', `/orgs/${org.org}/tokens`, {name: 'ci'}), 201)
  t.like(await here.as(secret)('POST', approval, {digest: dry.plan.digest}), isRefused(403, 'SESSION_REQUIRED'))
  const {plan} = await ok(other('POST', approval, {digest: dry.plan.digest}), 200)
  t.true(plan.approvedAt !== null && plan.approvedBy !== null)
  t.deepEqual((await ok(other('POST', approval, {digest: dry.plan.digest}), 200)).plan, plan)
  t.is((await noticesOf('plan.approved', dry.run.id)).length, 1)
  const {changes} = await ok(org.call('GET', `/orgs/${org.org}/config/changes?limit=50`), 200)
  const subjects = (changes as any[]).filter(({after}) => after?.run === dry.run.id).map(({subject}) => subject)
  t.deepEqual(subjects.toSorted(), ['plan.approved', 'plan.sealed'])
  t.like(await applyPlan(org.call, path, dry.run.id), {stop: null, planOf: dry.run.id, rowsWritten: 5})

  const small = await prepareImport(org, {csv: accountRows(3, 'Aq-'), flow: accounts})
  const made = await makePlan(org, small.path)
  t.false(made.plan.needsApproval)
  t.deepEqual(await noticesOf('plan.waiting', made.run.id), [])
  t.like(await applyPlan(org.call, small.path, made.run.id), {rowsWritten: 3})
})

test.serial('the row limit of a run decides, so that a run for few rows of a large file needs no approval', async t => {
  await allowRows(3)
  const {path} = await prepareImport(org, {csv: accountRows(6, 'Ar-'), flow: accounts})
  t.is((await org.call('POST', `${path}/runs`, {declaredRows: 4})).status, 409)
  t.is((await org.call('POST', `${path}/runs`, {declaredRows: 3})).status, 202)
  await allowRows(null)
  t.like(await org.call('GET', `/orgs/${org.org}/config/settings`), {status: 200})
  const free = await prepareImport(org, {csv: accountRows(6, 'As-'), flow: accounts})
  t.is((await org.call('POST', `${free.path}/runs`, {})).status, 202)
})

test.serial('an unsealed plan and a plan of a changed import cannot be approved, and a threshold of 0 covers every run', async t => {
  await allowRows(0)
  const other = await join('admin')
  const {path} = await prepareImport(org, {csv: accountRows(1, 'At-'), flow: accounts})
  t.like(await org.call('POST', `${path}/runs`, {}), isRefused(409, 'APPROVAL_REQUIRED'))
  const dry = await makePlan(org, path)
  const {import: found} = await ok(org.call('GET', path), 200)
  await ok(org.call('PUT', `${path}/flows`, [{...found.flows[0], fields: accounts.fields.slice(0, 2)}]), 200)
  t.like(await other('POST', `${path}/runs/${dry.run.id}/approve`, {digest: dry.plan.digest}), isRefused(409, 'PLAN_CHANGED'))
  await allowRows(null)
})
