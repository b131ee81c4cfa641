import anyTest, {type TestFn} from 'ava'
import {z} from 'zod'
import {reserveCredits} from '../../shared/billing/credits/reserve.ts'
import {readPlanStatus} from '../../shared/billing/entitlements/plan-status.ts'
import {sql} from '../../sql/database.ts'
import {makePlan, move, place, refused} from '../support/entitlements.ts'
import {accountRows, accounts, ok, openOrg, prepareImport, runImport, untilEnded} from '../support/importing.ts'
import {callsOf, row} from '../support/record-writes.ts'
import {addConnector, discover} from '../support/registry.ts'
import {makeTemplate, seldom} from '../support/schedules.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

/** The tests run serially, because they share one clock. */
const test = anyTest.serial as TestFn
let house: TestDeployment
test.before(async t => {
  house = await startTestDeployment(t, {workers: ['discovery', 'imports', 'writes'], environment: {DEFAULT_PLAN: 'free'}})
  await makePlan(house, 'small', {rowsPerPeriod: 20, rowsPerRun: 12, modules: 1, schedules: 0, fileBytes: 200, aiCredits: 10})
})
test.beforeEach(() => house.ahead('0 seconds'))

const usageOf = async (call: ReturnType<TestDeployment['as']>) => ok(call('GET', '/entitlements/usage'), 200)
const rowsOf = async (call: ReturnType<TestDeployment['as']>) => (await usageOf(call)).rows
const authorise = (call: ReturnType<TestDeployment['as']>, declaredRows: number) =>
  call('POST', '/entitlements/runs/authorise', {declaredRows})

const newOrg = async (plan?: string) => {
  const {org, token} = await house.makeOrg()
  if (plan) await place(house, org, plan)
  return {org, session: token, call: house.as(token)}
}

test('a new org starts on the default plan and sees its limits and usage', async t => {
  const {call} = await newOrg()
  const me = await ok(call('GET', '/entitlements/me'), 200)
  t.like(me, {plan: {key: 'free', version: 2}, status: 'active', features: [], trial: null, pastDue: null, overageEnabled: false})
  t.like(me.limits, {rowsPerPeriod: 5_000, modules: 5, schedules: 1, aiCredits: 25})
  t.like(me.usage.rows, {limit: 5_000, used: 0, reserved: 0, remaining: 5_000, overage: 0})
  t.like(me.credits, {included: 25, purchased: 0, reserved: 0, available: 25, periodStart: me.period.start, periodEnd: me.period.end})
  t.like((await usageOf(call)).credits, {available: 25, spent: 0, byFeature: []})
})

test('50 concurrent authorisations never exceed the rows of the period', async t => {
  const {org, call} = await newOrg('small.1')
  const answers = await Promise.all(Array.from({length: 50}, () => authorise(call, 3)))
  t.is(answers.filter(({status}) => status === 200).length, 6)
  const no = answers.filter(({status}) => status !== 200)
  for (const answer of no.slice(0, 3)) t.like(answer, {status: 402, body: {code: 'LIMIT_ROWS'}}, answer.text)
  t.true(no.every(({body}) => body.code === 'LIMIT_ROWS'))
  t.like(await rowsOf(call), {limit: 20, used: 0, reserved: 18, remaining: 2})
  const runs: string[] = answers.flatMap(({status, body}) => (status === 200 ? [body.runId] : []))
  const end = (run: string) => call('POST', `/entitlements/runs/${run}/progress`, {rowsWritten: 2, done: true})
  const ended = await Promise.all([...runs, ...runs].flatMap(run => [end(run), authorise(call, 1)]))
  t.true(ended.every(({status}) => status === 200 || status === 402))
  const {used, reserved} = await rowsOf(call)
  t.is(used, 12, 'each run once')
  t.true(used + reserved <= 20)
  t.like(await sumsOf(org), {used, reserved})
})

const Sums = z.object({used: z.number(), reserved: z.number()})
const sumsOf = (org: string) =>
  house.db.one(sql.type(Sums)`
    select sum(used)::int8 as used, coalesce(sum(reserved) filter (where used is null), 0)::int8 as reserved from row_usage where org_id = ${org}`)

test('a refusal says how many rows are left and what would lift the limit', async t => {
  const {call, org} = await newOrg('small.1')
  await ok(authorise(call, 12), 200)
  const no = await authorise(call, 10)
  const {period} = await ok(call('GET', '/entitlements/me'), 200)
  const lift = [
    {by: 'fewer', rows: 8},
    {by: 'trial', limit: 50_000},
    {by: 'plan', planKey: 'team', name: 'Team', limit: 100_000},
    {by: 'period', at: period.end},
  ]
  refused(t, no, 'LIMIT_ROWS', lift, /8 of the 20/)
  await house.db.query(
    sql.unsafe`update orgs set trial_started_at = lading_now(), trial_ends_at = lading_now(), trial_from = 'small.1' where id = ${org}`,
  )
  refused(t, await authorise(call, 10), 'LIMIT_ROWS', lift.toSpliced(1, 1), /8 of the 20/)
  t.like(no.body, {limit: 20, used: 0, reserved: 12, remaining: 8, periodEnd: period.end})
  await ok(authorise(call, 8), 200)
  t.like((await ok(call('GET', '/entitlements/me'), 200)).usage.rows, {remaining: 0})
})

/** Puts an org on Team one day before the end of its period, with all rows of the period used. */
const openOrgWithUsedRows = async ({used = 100_000, overage = 0} = {}) => {
  const {org, call} = await newOrg('team.1')
  await house.db.query(sql.unsafe`update orgs set plan_anchor = lading_now() + interval '1 day' where id = ${org}`)
  const {startsAt, endsAt} = (await readPlanStatus(house.db, org)).window
  await house.db.query(sql.unsafe`
    insert into usage_periods (org_id, starts_at, ends_at, rows_limit, used, overage) values (${org}, ${startsAt}, ${endsAt}, 100000, ${used}, ${overage})`)
  return {org, call}
}
const planIn = (lift: any[]) => lift.find(({by}) => by === 'plan')

test('a refusal names the lowest plan with room; an upgrade of a paid plan adds only the share left of the period', async t => {
  const {org, call} = await openOrgWithUsedRows()
  const lift = async () => planIn((await authorise(call, 50_000)).body.lift)
  t.like(await lift(), {planKey: 'business', limit: 1_000_000}, 'an org that does not pay begins a new period')
  await house.db.query(sql.unsafe`
    insert into subscriptions (org_id, subscription_id, status, plan_version_id, interval) values (${org}, ${org}, 'active', 'team.1', 'month')`)
  const reserve = (amount: number) =>
    house.db.transaction(tx => reserveCredits(tx, house.queue, {org, feature: 'test', amount, ref: `use:${amount}`}))
  const few: any = await t.throwsAsync(reserve(600))
  t.like(planIn(few.extra.lift), {planKey: 'enterprise'}, 'Business adds less than 100 credits on the last day')
  const {planKey, limit} = await lift()
  t.is(planKey, 'enterprise')
  t.true(limit > 1_500_000 && limit < 2_000_000, `${limit}`)
  await move(house, org, 'business.1')
  t.like(await authorise(call, 50_000), {status: 402, body: {code: 'LIMIT_ROWS'}})
  await move(house, org, 'enterprise.1')
  await ok(authorise(call, 50_000), 200)
  await reserve(600)
})

test('the plan that a refusal names needs no room for rows billed as overage', async t => {
  const {call} = await openOrgWithUsedRows({used: 1_100_000, overage: 1_000_000})
  t.like(planIn((await authorise(call, 1)).body.lift), {planKey: 'business'})
})

test('a run is limited to and reserves the rows per run of the plan, and then counts its written rows', async t => {
  const org = await openOrg(house)
  await place(house, org.org, 'small.1')
  const here = callsOf(house, org)
  const answer = await ok(here.org.call('POST', '/entitlements/runs/authorise', {declaredRows: 50, connectorId: org.connector}), 200)
  t.like(answer, {rowsPerRun: 12, stoppedBy: 'plan'})
  t.like(await rowsOf(org.call), {reserved: 12, remaining: 8})
  await ok(here.create(answer.runId, [row('E-1'), row('E-2')]), 200)
  t.like(await rowsOf(org.call), {used: 0, reserved: 12}, 'reserved while it runs')
  await ok(here.tell(answer.runId, 'progress', {done: true}), 200)
  await ok(here.tell(answer.runId, 'progress', {done: true}), 200)
  t.like(await rowsOf(org.call), {used: 2, reserved: 0, remaining: 18, overage: 0})

  const {run} = await runImport(org, {csv: accountRows(5, 'E-9'), flow: accounts})
  t.is(run.rowsWritten, 5)
  t.like(await rowsOf(org.call), {used: 7, reserved: 0}, 'and of our own engine the same')
  const {path} = await prepareImport(org, {csv: accountRows(2, 'E-8'), flow: accounts})
  const dry = (await ok(org.call('POST', `${path}/runs`, {dryRun: true}), 202)).run
  await untilEnded(org.call, `${path}/runs/${dry.id}`)
  t.like(await rowsOf(org.call), {used: 7, reserved: 0}, 'a dry run counts nothing')
})

test('an authorised run completes despite changes of plan or period; its retry gets the remaining rows', async t => {
  const org = await openOrg(house, 'zoe@other.example')
  await place(house, org.org, 'small.1')
  const {path} = await prepareImport(org, {csv: accountRows(6, 'F-'), flow: accounts})
  const importId = path.split('/').at(-1)
  const {runId} = await ok(org.call('POST', '/entitlements/runs/authorise', {declaredRows: 6, importId}), 200)
  await makePlan(house, 'nothing', {rowsPerPeriod: 2, rowsPerRun: 1, aiCredits: 0})
  await place(house, org.org, 'nothing.1')
  await ok(house.as(house.adminToken)('POST', `/staff/orgs/${org.org}/suspend`, {reason: 'A test'}), 200)
  await ok(org.call('POST', `${path}/runs`, {runId}), 202)
  const first = await untilEnded(org.call, `${path}/runs/${runId}`)
  t.like(first, {rowsWritten: 6, stop: null})
  const suspended = await org.call('POST', `${path}/runs`, {retryOf: runId})
  refused(t, suspended, 'STATUS_SUSPENDED', [{by: 'support'}])
  await ok(house.as(house.adminToken)('POST', `/staff/orgs/${org.org}/unsuspend`, {}), 200)
  await place(house, org.org, 'small.1')
  await ok(authorise(org.call, 12), 200)
  await ok(authorise(org.call, 1), 200)
  const {run} = await ok(org.call('POST', `${path}/runs`, {retryOf: runId}), 202)
  t.like(
    await untilEnded(org.call, `${path}/runs/${run.id}`),
    {rowsPerRun: 1, rowsWritten: 0, stop: null},
    'six rows, all inherited, one left',
  )
})

test('with overage enabled, rows beyond the plan are allowed and counted per run', async t => {
  const {org, call} = await newOrg('small.1')
  await house.db.query(sql.unsafe`update orgs set overage_enabled = true where id = ${org}`)
  const runs = [await ok(authorise(call, 12), 200), await ok(authorise(call, 12), 200), await ok(authorise(call, 12), 200)]
  for (const [n, {runId}] of runs.entries())
    await ok(call('POST', `/entitlements/runs/${runId}/progress`, {rowsWritten: 9 + n, done: true}), 200)
  t.like(await rowsOf(call), {limit: 20, used: 30, reserved: 0, remaining: 0, overage: 10})
  const Line = z.object({used: z.number(), overage: z.number()})
  const lines = await house.db.any(sql.type(Line)`select used, overage from row_usage where org_id = ${org} order by settled_at`)
  t.is((await ok(call('GET', `/orgs/${org}/runs/${runs[2]!.runId}`), 200)).run.overageRows, 10)
  t.deepEqual(lines, [
    {used: 9, overage: 0},
    {used: 10, overage: 0},
    {used: 11, overage: 10},
  ])
  await house.db.query(sql.unsafe`update orgs set overage_enabled = false where id = ${org}`)
  t.like(await authorise(call, 1), {status: 402, body: {code: 'LIMIT_ROWS'}})
})

test('a failed payment stops nothing for seven days', async t => {
  const {org, call} = await newOrg('team.1')
  await house.db.query(
    sql.unsafe`update orgs set plan_status = 'past_due', past_due_since = lading_now() - interval '6 days 23 hours' where id = ${org}`,
  )
  await ok(authorise(call, 1), 200)
  t.is((await ok(call('GET', '/entitlements/me'), 200)).status, 'past_due')
  await house.db.query(sql.unsafe`update orgs set past_due_since = lading_now() - interval '7 days 1 second' where id = ${org}`)
  refused(t, await authorise(call, 1), 'STATUS_PAST_DUE', [{by: 'payment'}])
})

test('modules, schedules, files and features beyond the plan are refused', async t => {
  const {org: id, session, call} = await newOrg('small.1')
  const connector = await addConnector(house, id)
  await discover(house, id, connector)
  const org = {org: id, call, connector, session}
  const enable = (module: string, enabled = true) => call('PATCH', `/orgs/${org.org}/config/modules/${module}`, {enabled})
  await ok(enable('Leads'), 200)
  const roomy = [
    {by: 'trial', limit: 25},
    {by: 'plan', planKey: 'team', limit: 25},
  ]
  refused(t, await enable('Accounts'), 'LIMIT_MODULES', roomy, /allows 1 enabled module\./)
  await ok(enable('Leads', false), 200)
  await ok(enable('Accounts'), 200)

  const of = await makeTemplate(org)
  const source = {kind: 'https', url: 'https://files.example/a.csv'}
  refused(t, await call('POST', `${of}/schedules`, {name: 'No', ...seldom, source}), 'LIMIT_SCHEDULES', [
    {by: 'trial', limit: 10},
    {by: 'plan', planKey: 'team'},
  ])

  const {import: made} = await ok(call('POST', `/orgs/${org.org}/imports`, {connectorId: org.connector}), 201)
  const large = await call('POST', `/orgs/${org.org}/imports/${made.id}/sources?name=a.csv`, accountRows(40), {'content-type': 'text/csv'})
  t.like(large, {status: 413, body: {code: 'FILE_TOO_LARGE', lift: [{by: 'trial'}, {by: 'plan', planKey: 'team'}]}}, large.text)

  const library = {
    manifest: {namespace: 'mine', version: '1.0.0', scope: 'org', description: '', functions: [{name: 'one'}]},
    source: 'export const one = () => 1',
  }
  const no = await call('PUT', `/orgs/${org.org}/libraries/mine`, library)
  t.like(no, {
    status: 403,
    body: {
      code: 'FEATURE_HELPER_LIBRARIES',
      lift: [
        {by: 'trial', limit: null},
        {by: 'plan', planKey: 'team'},
      ],
    },
  })
  await ok(call('POST', `/orgs/${org.org}/trial`, {}), 200)
  await ok(call('PUT', `/orgs/${org.org}/libraries/mine`, library), 200)
})

test('enabled modules stay enabled when the plan allows fewer', async t => {
  const {org, call} = await newOrg('small.1')
  const connector = await addConnector(house, org)
  await discover(house, org, connector)
  await place(house, org, 'team.1')
  for (const module of ['Leads', 'Deals']) await ok(call('PATCH', `/orgs/${org}/config/modules/${module}`, {enabled: true}), 200)
  await place(house, org, 'small.1')
  await ok(call('PATCH', `/orgs/${org}/config/modules/Leads`, {singular: 'Lead'}), 200)
  refused(t, await call('PATCH', `/orgs/${org}/config/modules/Accounts`, {enabled: true}), 'LIMIT_MODULES', [{by: 'trial'}, {by: 'plan'}])
  await ok(call('PATCH', `/orgs/${org}/config/modules/Deals`, {enabled: false}), 200)
})
