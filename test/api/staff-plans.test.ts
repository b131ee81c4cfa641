import anyTest, {type TestFn} from 'ava'
import {z} from 'zod'
import {sql} from '../../sql/database.ts'
import {place} from '../support/entitlements.ts'
import {ok} from '../support/importing.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'

/** The tests run serially, because they share one clock. */
const test = anyTest.serial as TestFn
let house: TestDeployment
test.before(async t => {
  house = await startTestDeployment(t, {workers: ['entitlements'], environment: {DEFAULT_PLAN: 'free', LEASE_SECONDS: '1'}})
})
test.beforeEach(() => house.ahead('0 seconds'))

const operator = (...call: Parameters<ReturnType<TestDeployment['as']>>) => house.as(house.adminToken)(...call)
const actionsOf = async (org: string) => (await ok(operator('GET', `/staff/actions?org=${org}`), 200)).actions

/** Creates an org. `script` uses an API token, which stays valid when the clock moves and the session expires. */
const newOrg = async () => {
  const home = await house.makeOrg()
  const call = house.as(home.token)
  const {secret} = await ok(call('POST', `/orgs/${home.org}/tokens`, {name: 'script'}), 201)
  const script = house.as(secret)
  const me = () => ok(script('GET', '/entitlements/me'), 200)
  const changes = async (page: string) => (await ok(script('GET', `/orgs/${home.org}/config/changes?page=${page}`), 200)).changes
  return {...home, call, script, me, changes}
}

test('only the owner can start a trial, once, and at its end the earlier plan returns', async t => {
  const {org, person, call, script, me, changes} = await newOrg()
  const before = await me()
  t.like(await script('POST', `/orgs/${org}/trial`), {status: 403, body: {code: 'ROLE_REQUIRED'}})
  await ok(script('POST', '/entitlements/runs/authorise', {declaredRows: 4_000}), 200)
  const begun = await ok(call('POST', `/orgs/${org}/trial`), 200)
  t.like(begun, {plan: {key: 'trial'}, status: 'trialing', features: ['helper_libraries'], credits: {included: 200}})
  t.like(begun.usage.rows, {limit: 50_000, used: 0, reserved: 0}, 'its period is its own')
  t.is(Date.parse(begun.trial.endsAt) - Date.parse(begun.trial.startedAt), 14 * 86_400_000)
  t.deepEqual(begun.period, {start: begun.trial.startedAt, end: begun.trial.endsAt})
  t.like(await call('POST', `/orgs/${org}/trial`), {status: 409, body: {code: 'TRIAL_USED'}})

  await house.ahead('13 days 23 hours')
  t.is((await me()).status, 'trialing')
  await house.ahead('14 days 1 minute')
  const over = await me()
  t.like(over, {
    plan: {id: before.plan.id},
    status: 'active',
    features: [],
    credits: {included: 25},
    usage: {rows: {limit: 5_000, used: 0}},
  })
  t.is(over.period.start, begun.trial.endsAt, 'from the moment it ended, whoever has looked')
  const told = await until(
    () => changes('plan'),
    found => found.length === 2,
  )
  const free = {plan: 'free', version: 2, status: 'active'}
  const trial = {plan: 'trial', version: 1, status: 'trialing'}
  t.like(told[1], {subject: 'trial.started', via: 'session', userId: person, before: free, after: trial, page: 'plan'})
  t.like(told[0], {subject: 'trial.ended', via: 'schedule', userId: null, before: trial, after: free})
  t.deepEqual(await me(), over, 'written down, and the same')
  const no = await house.as(await sessionOf(org))('POST', `/orgs/${org}/trial`)
  t.like(no, {status: 409, body: {code: 'TRIAL_USED'}}, no.text)
})

const sessionOf = async (org: string) => (await house.makeOrg({org})).token

test('sandboxes and orgs on a larger plan cannot start a trial', async t => {
  const {org, call} = await newOrg()
  await place(house, org, 'team.1')
  t.like(await call('POST', `/orgs/${org}/trial`), {status: 409, body: {code: 'ALREADY_SUBSCRIBED'}})
  const sandbox = await newOrg()
  await house.db.query(sql.unsafe`update orgs set sandbox = true, sandbox_of = ${org} where id = ${sandbox.org}`)
  t.like(await sandbox.me(), {plan: {key: 'team'}, usage: {rows: {limit: 100_000}}}, 'it stands as its production org')
  t.like(await sandbox.call('POST', `/orgs/${sandbox.org}/trial`), {status: 403, body: {code: 'SANDBOX_ORG'}})
  const placed = await operator('POST', `/staff/orgs/${sandbox.org}/plan`, {planVersionId: 'business.1', reason: 'A test'})
  t.like(placed, {status: 403, body: {code: 'SANDBOX_ORG'}})
})

test('an authorisation not used within a day lapses, and its rows are free again', async t => {
  const {script, me, org} = await newOrg()
  const {runId} = await ok(script('POST', '/entitlements/runs/authorise', {declaredRows: 4_000}), 200)
  const gone = await ok(script('POST', '/entitlements/runs/authorise', {declaredRows: 1_000}), 200)
  t.like((await me()).usage.rows, {reserved: 5_000, remaining: 0})
  await house.db.query(sql.unsafe`delete from runs where id = ${gone.runId}`)
  await until(
    async () => (await me()).usage.rows.reserved,
    reserved => reserved === 4_000,
  )
  await house.ahead('24 hours 1 minute')
  await until(
    async () => (await me()).usage.rows.reserved,
    reserved => reserved === 0,
  )
  const {run} = await ok(script('GET', `/orgs/${org}/runs/${runId}`), 200)
  t.like(run, {state: 'ended', stop: {stopped: 'LAPSED'}, rowsWritten: 0})
  t.like(await script('POST', `/entitlements/runs/${runId}/progress`, {rowsWritten: 1}), {status: 409, body: {code: 'RUN_ENDED'}})
})

test('credits given by staff are booked once per reference, and are in the history', async t => {
  const {org, me, changes} = await newOrg()
  const path = `/entitlements/admin/orgs/${org}/credits`
  const staff = await house.makeStaff()
  const given = {pool: 'purchased', credits: 40, ref: 'ticket-7', reason: 'Their import failed'}
  const {ref, balance} = await ok(house.as(staff.token)('POST', path, given), 200)
  t.is(ref, 'ticket-7')
  t.like(balance, {included: 25, purchased: 40, reserved: 0, available: 65})
  t.deepEqual((await ok(operator('POST', path, {...given, credits: 41}), 200)).balance, balance, 'given already')
  const unnamed = await ok(operator('POST', path, {pool: 'included', credits: 5}), 200)
  t.regex(unnamed.ref, /^crd_/)
  t.like(unnamed.balance, {included: 30, purchased: 40})
  t.deepEqual((await me()).credits, unnamed.balance)

  const actions = (await actionsOf(org)).filter(({kind}: {kind: string}) => kind === 'org.credits')
  t.is(actions.length, 2)
  t.like(actions[1], {
    reason: 'Their import failed',
    staff: {email: staff.email},
    detail: {pool: 'purchased', credits: 40, ref: 'ticket-7'},
  })
  t.like(actions[0], {staff: null, reason: null, detail: {pool: 'included', credits: 5}})
  const told = await changes('usage')
  t.deepEqual(
    told.map(({subject, before, after, via}: any) => [subject, before, after, via]),
    [
      ['credits.included', 25, 30, 'staff'],
      ['credits.purchased', 0, 40, 'staff'],
    ],
  )

  for (const wrong of [{pool: 'other', credits: 1}, {pool: 'included', credits: 0}, {pool: 'included', credits: -1}, {pool: 'included'}])
    t.is((await operator('POST', path, wrong)).status, 400, JSON.stringify(wrong))
  // This time is an hour ago, in a time zone twelve hours ahead. A comparison as text would see a later time than now.
  const ahead = new Date(Date.now() + 11 * 3_600_000).toISOString().replace('Z', '+12:00')
  for (const expiresAt of ['2020-01-01T00:00:00Z', '0000-01-01T00:00:00Z', ahead])
    t.like(await operator('POST', path, {pool: 'included', credits: 1, expiresAt}), {status: 400, body: {code: 'INVALID'}}, expiresAt)
  t.is((await operator('POST', '/entitlements/admin/orgs/org_none/credits', given)).status, 404)
})

test('staff can give any positive amount of credits, to six decimal places', async t => {
  const {org, me, changes} = await newOrg()
  const give = (credits: unknown, pool = 'purchased') => operator('POST', `/entitlements/admin/orgs/${org}/credits`, {pool, credits})
  t.like((await ok(give(0.5), 200)).balance, {included: 25, purchased: 0.5, available: 25.5})
  t.like((await ok(give(0.1, 'included'), 200)).balance, {included: 25.1, purchased: 0.5, available: 25.6})
  t.like((await ok(give(0.2), 200)).balance, {purchased: 0.7, available: 25.8})
  t.like((await ok(give(0.000001), 200)).balance, {purchased: 0.700001, available: 25.800001})
  t.like((await me()).credits, {included: 25.1, purchased: 0.700001, reserved: 0, available: 25.800001})
  t.deepEqual((await changes('usage'))[1], {...(await changes('usage'))[1], before: 0.5, after: 0.7})
  for (const wrong of [0, -0.5, 0.0000001, 1.2345678, '0.5', null, 1e10]) {
    const refused = await give(wrong)
    t.like(refused, {status: 400, body: {code: 'INVALID'}}, `${wrong}`)
  }
  t.regex((await give(0.0000001)).text, /At most 6 decimal places/)
})

test('included credits given by staff end with the period or at their own end', async t => {
  const {org, me} = await newOrg()
  const {period} = await me()
  const give = (body: object) => ok(operator('POST', `/entitlements/admin/orgs/${org}/credits`, body), 200)
  await give({pool: 'included', credits: 7})
  const next = new Date(Date.parse(period.end) + 86_400_000).toISOString()
  await give({pool: 'included', credits: 5, expiresAt: next})
  await give({pool: 'purchased', credits: 3})
  t.like((await me()).credits, {included: 37, purchased: 3})
  await house.ahead(`${Date.parse(period.end) - Date.now() + 60_000} milliseconds`)
  t.like((await me()).credits, {included: 30, purchased: 3})
  await house.ahead(`${Date.parse(next) - Date.now() + 60_000} milliseconds`)
  t.like((await me()).credits, {included: 25, purchased: 3})
})

test('a plan upgrade within its period adds the prorated difference of rows, once', async t => {
  const {org, me, script, changes} = await newOrg()
  const first = await place(house, org, 'team.1')
  t.like((await me()).usage.rows, {limit: 100_000}, 'the first plan that is paid for begins a period')
  const {runId} = await ok(script('POST', '/entitlements/runs/authorise', {declaredRows: 60_000}), 200)
  await ok(script('POST', `/entitlements/runs/${runId}/progress`, {rowsWritten: 1}), 200)
  const [start, end] = [Date.parse(first.period.start), Date.parse(first.period.end)]
  await house.ahead(`${(end - start) * 0.75 - 60_000} milliseconds`)
  await place(house, org, 'business.1')
  const raised = await me()
  t.deepEqual(raised.period, first.period)
  t.true(Math.abs(raised.usage.rows.limit - (100_000 + 900_000 / 4)) < 2_000, `${raised.usage.rows.limit}`)
  t.is(raised.usage.rows.reserved, 60_000)
  t.true(Math.abs(raised.credits.included - (500 + 2_000 / 4)) < 5, `${raised.credits.included}`)
  await place(house, org, 'team.1')
  t.is((await me()).usage.rows.limit, 100_000)
  await place(house, org, 'business.1')
  t.is((await me()).credits.included, raised.credits.included, 'down and up again gives nothing twice')
  await house.ahead(`${end - start + 60_000} milliseconds`)
  t.like(await me(), {usage: {rows: {limit: 1_000_000, reserved: 0}}, credits: {included: 2_500}})

  await place(house, org, 'free.2')
  t.like(await me(), {plan: {key: 'free'}, usage: {rows: {limit: 5_000}}, credits: {included: 25}}, 'what the paid plan gave went with it')
  t.true((await changes('plan')).every(({via, subject}: any) => via === 'staff' && subject === 'plan.changed'))
  t.like((await actionsOf(org))[0], {kind: 'org.plan', reason: 'A test', detail: {from: 'business.1', to: 'free.2'}})
})

test('suspension and its end are recorded; repeating either changes nothing', async t => {
  const {org, me, script, changes} = await newOrg()
  const suspend = () => ok(operator('POST', `/staff/orgs/${org}/suspend`, {reason: 'Abuse'}), 200)
  t.is((await suspend()).status, 'suspended')
  await suspend()
  t.is((await me()).status, 'suspended')
  t.like(await script('POST', '/entitlements/runs/authorise', {declaredRows: 1}), {status: 402, body: {code: 'STATUS_SUSPENDED'}})
  t.is((await ok(operator('POST', `/staff/orgs/${org}/unsuspend`, {}), 200)).status, 'active')
  await ok(script('POST', '/entitlements/runs/authorise', {declaredRows: 1}), 200)
  t.deepEqual(
    (await changes('plan')).map(({subject}: any) => subject),
    ['plan.unsuspended', 'plan.suspended'],
  )
  t.deepEqual(
    (await actionsOf(org)).map(({kind}: any) => kind),
    ['org.unsuspend', 'org.suspend'],
  )
  for (const path of ['plan', 'suspend', 'unsuspend'])
    t.is(
      (await operator('POST', `/staff/orgs/org_none/${path}`, path === 'plan' ? {planVersionId: 'free.2', reason: 'x'} : {reason: 'x'}))
        .status,
      404,
    )
  t.is((await operator('POST', `/staff/orgs/${org}/plan`, {planVersionId: 'none.1', reason: 'x'})).status, 404)
})

test('a change of payment ids of plans and packs leaves unnamed ids unchanged', async t => {
  const {plans} = await ok(operator('GET', '/billing/admin/plans'), 200)
  t.deepEqual(
    plans.map(({id}: any) => id),
    ['free.1', 'free.2', 'trial.1', 'team.1', 'business.1', 'enterprise.1'],
  )
  const of = '/billing/admin/plans/team.1/payment'
  const one = await ok(
    operator('PATCH', of, {paymentProductId: 'prod_1', paymentPriceMonthlyId: 'price_m', paymentPriceOverageId: 'price_o'}),
    200,
  )
  t.like(one, {
    id: 'team.1',
    paymentProductId: 'prod_1',
    paymentPriceMonthlyId: 'price_m',
    paymentPriceAnnualId: null,
    paymentPriceOverageId: 'price_o',
  })
  const two = await ok(operator('PATCH', of, {paymentPriceAnnualId: 'price_y', paymentPriceOverageId: null}), 200)
  t.deepEqual(two, {...one, paymentPriceAnnualId: 'price_y', paymentPriceOverageId: null})
  t.is((await operator('PATCH', of, {paymentPriceId: 'x'})).status, 400)
  t.is((await operator('PATCH', '/billing/admin/plans/none.1/payment', {})).status, 404)

  const pack = await ok(operator('PATCH', '/billing/admin/packs/credits_500/payment', {paymentPriceId: 'price_p'}), 200)
  t.like(pack, {key: 'credits_500', credits: 500, paymentProductId: null, paymentPriceId: 'price_p'})
  t.is((await operator('PATCH', '/billing/admin/packs/none/payment', {})).status, 404)
  t.deepEqual((await ok(operator('GET', '/billing/admin/packs'), 200)).packs[0], pack)
  const Found = z.object({kind: z.string()})
  const told = await house.db.any(sql.type(Found)`select kind from staff_actions where kind like '%.payment' order by id`)
  t.deepEqual(
    told.map(({kind}) => kind),
    ['plan.payment', 'plan.payment', 'pack.payment'],
  )
})
