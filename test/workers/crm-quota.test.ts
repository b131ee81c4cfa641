import anyTest, {type TestFn} from 'ava'
import type {MemberCaller} from '../../api/access.ts'
import {awaitJob} from '../../api/await-job.ts'
import {newId} from '../../shared/ids.ts'
import {checkCredits} from '../../shared/jobs.ts'
import {enqueue} from '../../shared/queue.ts'
import {insertConnector} from '../../sql/connectors.ts'
import {sql} from '../../sql/database.ts'
import {startWorkers} from '../../workers/start.ts'
import type {HttpAnswer} from '../support/client.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

/** What the tests share: one CRM org and one clock. So they run serially. */
type Here = {world: TestDeployment; org: string; connector: string; call: ReturnType<TestDeployment['as']>}
const test = anyTest.serial as TestFn<Here>

test.before(async t => {
  const here = await startTestDeployment(t, {workers: ['credits'], environment: {CRM_TIMEOUT_SECONDS: '1'}})
  const token = await here.signIn()
  const call = here.as(token)
  const org = (await call('GET', '/auth/me')).body.org.id
  Object.assign(t.context, {world: here, org, call, connector: await here.connect(token)})
})
test.beforeEach(async t => {
  const {db, crm, ahead} = t.context.world
  crm.clear()
  await ahead('0 seconds')
  await db.query(sql.unsafe`delete from crm_allowances`)
  await db.query(sql.unsafe`update connectors set credits_asked_at = null`)
})

const path = ({org, connector}: Here, id = connector) => `/orgs/${org}/connectors/${id}/credits`
const read = async (here: Here) => (await here.call('GET', path(here))).body.credits
const check = (here: Here, headers = {}, id = here.connector): Promise<HttpAnswer> =>
  here.call('POST', `${path(here, id)}/check`, undefined, headers)
const sent = ({world}: Here) => world.crm.journal({path: '/crm/v8/org'}).length
const spend = async (here: Here) => {
  here.world.crm.faults.add({match: {path: '/crm/v8/org'}, action: {type: 'rateLimit', credits: 0}})
  return check(here)
}
const nothing = {remaining: null, remainingAt: null, allowance: null, allowanceAtLeast: false, edition: null, spent: false, spentAt: null}

test('the CRM quota is unknown before the first check', async t => {
  const {status, body} = await t.context.call('GET', path(t.context))
  t.is(status, 200)
  t.deepEqual(body, {credits: nothing})
})

test('a check makes one call, and its licence data is kept', async t => {
  const here = t.context
  here.world.crm.setCredits('example', {used: 40_000})
  const {status, body} = await check(here)
  t.is(status, 200)
  t.deepEqual(Object.keys(body), ['credits', 'asked', 'answered', 'notAsked'])
  t.like(body, {asked: true, answered: true, notAsked: null})
  t.like(body.credits, {edition: 'enterprise', allowance: 62_000, allowanceAtLeast: true, spent: false, spentAt: null})
  t.is(body.credits.remaining, here.world.crm.credits('example').remaining)
  t.deepEqual(await read(here), body.credits)
  t.is(sent(here), 1)
})

test('within thirty seconds of a check no further call is made, also for concurrent checks', async t => {
  const here = t.context
  const both = await Promise.all([check(here), check(here)])
  t.deepEqual(both.map(({body}) => body.notAsked).toSorted(), [null, 'too_soon'].toSorted())
  await here.world.ahead('20 seconds')
  t.like((await check(here)).body, {asked: false, answered: false, notAsked: 'too_soon', credits: {edition: 'enterprise'}})
  await here.world.ahead('31 seconds')
  t.like((await check(here)).body, {asked: true, answered: true, notAsked: null})
  t.is(sent(here), 2)
})

test('the check interval is per connection; the known quota is per CRM org', async t => {
  const here = t.context
  const other = await here.world.connect(await here.world.signIn(), {user: 'eva@example.org', name: 'Eva’s'})
  t.like((await check(here)).body, {asked: true})
  t.like((await here.call('GET', path(here, other))).body.credits, {edition: 'enterprise'})
  t.like((await check(here, {}, other)).body, {asked: true, answered: true})
})

test('an exhausted quota is an answer; then one call a minute is made until one succeeds', async t => {
  const here = t.context
  const {body} = await spend(here)
  t.like(body, {asked: true, answered: true, notAsked: null, credits: {spent: true, remaining: 0}})
  t.is(typeof body.credits.spentAt, 'string')
  await here.world.ahead('59 seconds')
  t.like((await check(here)).body, {asked: false, answered: false, notAsked: 'too_soon', credits: {spent: true}})
  await here.world.ahead('61 seconds')
  here.world.crm.faults.add({action: {type: 'rateLimit', credits: 0}})
  t.like((await check(here)).body, {asked: true, answered: true, credits: {spent: true, spentAt: body.credits.spentAt}})
  t.like((await check(here)).body, {notAsked: 'too_soon'})
  await here.world.ahead('122 seconds')
  const ends = await Promise.all([check(here), check(here), check(here)])
  t.true(ends.some(end => end.body.asked && end.body.answered))
  t.is(sent(here), 3)
  t.like(await read(here), {spent: false, spentAt: null})
  t.like((await check(here)).body, {notAsked: 'too_soon'}, 'the check that went keeps the pace of thirty seconds')
})

test('a check that sent no call because the quota is exhausted does not delay the next check', async t => {
  const here = t.context
  await spend(here)
  await here.world.ahead('40 seconds')
  t.like((await check(here)).body, {asked: false, notAsked: 'too_soon'})
  await here.world.db.query(sql.unsafe`update crm_allowances set spent_at = null, probe_at = null`)
  t.like((await check(here)).body, {asked: true, answered: true, notAsked: null})
  t.like((await check(here)).body, {notAsked: 'too_soon'})
})

test('another read that uses the one call of the minute prevents a check', async t => {
  const here = t.context
  await spend(here)
  await here.world.ahead('61 seconds')
  here.world.crm.faults.add({action: 'dropAfter'})
  const {body} = await here.call('GET', `/auth/orgs/${here.org}/connection`)
  t.truthy(body.connections.find(({id}: any) => id === here.connector).problem)
  t.like((await check(here)).body, {asked: false, notAsked: 'too_soon', credits: {spent: true}})
})

const unanswered: [string, any][] = [
  ['dropped', 'dropAfter'],
  ['out of time', {type: 'hold', when: 'after'}],
  ['failed', 'status5xxBefore'],
  ['rate limited', 'rateLimit'],
  ['refused for its scope', {type: 'answer', status: 401, body: {code: 'OAUTH_SCOPE_MISMATCH', status: 'error'}}],
  ['answered without an org', {type: 'answer', status: 200, body: {org: []}}],
]
for (const [what, action] of unanswered) {
  test(`a call that was ${what} is reported as asked and not answered`, async t => {
    const here = t.context
    here.world.crm.faults.add({match: {path: '/crm/v8/org'}, action})
    const {status, body} = await check(here)
    t.is(status, 200)
    t.like(body, {asked: true, answered: false, notAsked: null, credits: nothing})
    here.world.crm.release()
  })
}

test('a generic or disconnected connection returns the known quota without a call', async t => {
  const here = t.context
  await check(here)
  const {db, crm} = here.world
  crm.clearJournal()
  const details = {dc: 'local', crmOrgId: '1', apiDomain: crm.url, crmUserId: '1', crmUserName: 'Ana', scopes: []}
  const id = await db.transaction(
    async tx => (await insertConnector(tx, {id: newId('con'), org: here.org, name: 'Plain', person: null, ...details})).id,
  )
  await db.query(sql.unsafe`update connectors set kind = 'generic', document = '{}' where id = ${id}`)
  t.deepEqual((await check(here, {}, id)).body, {credits: nothing, asked: false, answered: false, notAsked: 'cannot'})
  t.deepEqual((await here.call('GET', path(here, id))).body, {credits: nothing})
  for (const state of ['disconnected', 'ended']) {
    await db.query(sql.unsafe`update connectors set state = ${state} where id = ${here.connector}`)
    const {body} = await check(here)
    t.like(body, {asked: false, answered: false, notAsked: 'cannot', credits: {edition: 'enterprise'}})
  }
  await db.query(sql.unsafe`update connectors set state = 'connected' where id = ${here.connector}`)
  t.is(crm.journal().length, 0)
})

test('a check that meets a revoked grant is asked and not answered; later checks cannot be asked', async t => {
  const here = t.context
  const session = await here.world.signIn('zoe@other.example')
  const call = here.world.as(session)
  const org = (await call('GET', '/auth/me')).body.org.id
  const connector = await here.world.connect(session, {user: 'zoe@other.example'})
  const other = {...here, call, org, connector}
  here.world.crm.faults.add({match: {path: '/crm/v8/org'}, action: ['revokeGrant', 'expireToken']})
  t.like((await check(other)).body, {asked: true, answered: false, notAsked: null})
  t.like((await check(other)).body, {asked: false, answered: false, notAsked: 'cannot'})
})

test('respond-async returns the job, and wait=N returns the result once it is ready', async t => {
  const here = t.context
  const {status, headers, body} = await check(here, {prefer: 'respond-async'})
  t.is(status, 202)
  t.is(headers.get('preference-applied'), 'respond-async')
  t.is(headers.get('location'), `/orgs/${here.org}/jobs/${body.job.id}`)
  let job = body.job
  while (job.state === 'queued' || job.state === 'running') job = (await here.call('GET', headers.get('location')!)).body
  t.like(job, {name: 'credits.check', state: 'done', result: {asked: true, answered: true, notAsked: null}})
  const waited = await check(here, {prefer: 'wait=20'})
  t.is(waited.status, 200)
  t.is(waited.headers.get('preference-applied'), 'wait=20')
  t.like(waited.body, {asked: false, notAsked: 'too_soon'})
})

test('a job that no worker took is cancelled as not asked; a job that ended without a result may have asked', async t => {
  const alone = await startTestDeployment(t, {environment: {CRM_TIMEOUT_SECONDS: '1'}})
  const session = await alone.signIn()
  const call = alone.as(session)
  const org = (await call('GET', '/auth/me')).body.org.id
  const connector = await alone.connect(session)
  const waiting = call('POST', `/orgs/${org}/connectors/${connector}/credits/check`)
  const queued = async () => (await alone.queue.findJobs('credits.check'))[0]
  while (!(await queued())) await new Promise(setImmediate)
  await alone.queue.cancel('credits.check', (await queued())!.id)
  t.deepEqual((await waiting).body, {credits: nothing, asked: false, answered: false, notAsked: null})

  const request = {id: 'r', method: 'POST', headers: {}, signal: AbortSignal.abort(), draining: new AbortController().signal}
  const input = {...alone.tools, caller: {org} as MemberCaller, request}
  const begin = () => alone.db.transaction(tx => enqueue(alone.queue, checkCredits, {org, connector}, {tx}))
  const end = async (id: string | null) => {
    let seen: unknown
    await awaitJob(input, {job: checkCredits, id: id!, describe: one => ({one: (seen = one)})})
    return seen
  }
  const never = await begin()
  t.is(await end(never), 'unstarted')
  const [job] = await alone.queue.findJobs('credits.check', {id: never!})
  t.is(job!.state, 'cancelled')
  alone.crm.clearJournal()
  const taken = await begin()
  await alone.queue.fetch('credits.check')
  t.is(await end(taken), 'unknown')
  const worker = await startWorkers(['credits'], alone.config)
  await worker.stop()
  t.is(alone.crm.journal({path: '/crm/v8/org'}).length, 0)
})

test('a connection of another org and an unknown one are not found', async t => {
  const here = t.context
  const stranger = await here.world.makeOrg()
  for (const [bearer, org, id] of [
    [stranger.token, stranger.org, here.connector],
    [stranger.token, stranger.org, newId('con')],
  ] as const) {
    const call = here.world.as(bearer)
    const answers = [
      await call('GET', `/orgs/${org}/connectors/${id}/credits`),
      await call('POST', `/orgs/${org}/connectors/${id}/credits/check`),
    ]
    for (const {status, body} of answers) t.deepEqual({status, body}, {status: 404, body: {error: 'No such connection', code: 'NOT_FOUND'}})
  }
})
