import test from 'ava'
import {runDiscovery} from '../../shared/jobs.ts'
import {enqueue} from '../../shared/queue.ts'
import {sql} from '../../sql/database.ts'
import {setJobProgress} from '../../sql/jobs.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'

let house: TestDeployment
test.before(async t => {
  house = await startTestDeployment(t)
})

/** Creates an org and a function that queues a job. No worker executes it, so the test ends it as a worker would. */
const newJob = async () => {
  const place = await house.makeOrg({role: 'admin'})
  const connector = await house.connect(place.token)
  const call = house.as(place.token)
  const ask = (headers: Record<string, string> = {}) => call('POST', `/orgs/${place.org}/discovery/run`, {connectorId: connector}, headers)
  return {...place, connector, call, ask}
}

const take = async (id: string) => {
  const [taken] = await house.queue.fetch(runDiscovery.name, {batchSize: 100})
  if (taken && taken.id !== id) throw new Error('Took another test’s job')
}

const answer = {discovery: 'dis_1', modules: 1, fields: 2}
const end = async (id: string, settled: object) => house.queue.complete(runDiscovery.name, id, settled)

test.serial('an asynchronous request answers 202 with its job and the job’s location', async t => {
  const {ask, call, org} = await newJob()
  const {status, body, headers} = await ask()
  t.is(status, 202)
  t.is(headers.get('location'), `/orgs/${org}/jobs/${body.job.id}`)
  t.is(headers.get('preference-applied'), null)
  t.like(body.job, {name: 'discovery.run', state: 'queued', progress: null, result: null, error: null, startedAt: null, endedAt: null})
  t.deepEqual((await call('GET', headers.get('location')!)).body, body.job)
  await take(body.job.id)
  t.is((await call('GET', headers.get('location')!)).body.state, 'running')
  await end(body.job.id, {answer})
  t.like((await call('GET', headers.get('location')!)).body, {state: 'done', result: answer})
})

test.serial('Prefer respond-async is applied and confirmed in the answer', async t => {
  const {ask} = await newJob()
  const {status, headers, body} = await ask({prefer: 'respond-async'})
  t.is(status, 202)
  t.is(headers.get('preference-applied'), 'respond-async')
  await take(body.job.id)
  await end(body.job.id, {answer})
})

/** Returns the id of the job that a waiting request has queued. */
const sentBy = async (connector: string) => {
  const [sent] = await until(
    () => house.queue.findJobs(runDiscovery.name, {key: connector}),
    found => found.length > 0,
  )
  return sent!.id
}

test.serial('a waiting request is answered when its job ends', async t => {
  const {ask, connector} = await newJob()
  const waiting = ask({prefer: 'wait=30'})
  const id = await sentBy(connector)
  await take(id)
  await end(id, {answer})
  const {status, headers, body} = await waiting
  t.is(status, 200)
  t.is(headers.get('preference-applied'), 'wait=30')
  t.like(body.job, {id, state: 'done', result: answer})
})

test.serial('a waiting request for a refused job gets the reason', async t => {
  const {ask, connector} = await newJob()
  const waiting = ask({prefer: 'wait=3600'})
  const id = await sentBy(connector)
  await take(id)
  await end(id, {refused: {error: 'The grant ended', code: 'CONNECTION_UNAVAILABLE'}})
  const {status, headers, body} = await waiting
  t.is(status, 200)
  t.is(headers.get('preference-applied'), 'wait=60', 'a minute is the most')
  t.like(body.job, {state: 'refused', result: null, error: {error: 'The grant ended', code: 'CONNECTION_UNAVAILABLE'}})
})

test.serial('a wait that times out gets 202 with the preference that was applied', async t => {
  const {ask} = await newJob()
  const started = performance.now()
  const {status, headers, body} = await ask({prefer: 'respond-async, wait=1'})
  t.is(status, 202)
  t.is(headers.get('preference-applied'), 'wait=1')
  t.true(performance.now() - started >= 990)
  await take(body.job.id)
  await end(body.job.id, {answer})
  t.is((await ask({prefer: 'wait=0'})).headers.get('preference-applied'), 'wait=0')
})

test.serial('an invalid Prefer header is ignored', async t => {
  const {ask} = await newJob()
  for (const prefer of ['wait=soon', 'wait=-1', 'return=minimal', 'xwait=5', '']) {
    const {status, headers} = await ask({prefer})
    t.is(status, 202, prefer)
    t.is(headers.get('preference-applied'), null, prefer)
  }
})

test.serial('a job of another org looks like an unknown one', async t => {
  const {ask} = await newJob()
  const {body} = await ask()
  const other = await house.makeOrg()
  const foreign = await house.as(other.token)('GET', `/orgs/${other.org}/jobs/${body.job.id}`)
  t.like({status: foreign.status, code: foreign.body.code}, {status: 404, code: 'NOT_FOUND'})
  for (const none of ['none', '00000000-0000-0000-0000-000000000000']) {
    t.deepEqual((await house.as(other.token)('GET', `/orgs/${other.org}/jobs/${none}`)).body, foreign.body)
  }
})

test.serial('a job queued in a transaction that rolls back does not exist', async t => {
  const {org, connector, call} = await newJob()
  let id: string | null = null
  const failing = house.db.transaction(async tx => {
    id = await enqueue(house.queue, runDiscovery, {org, connector}, {tx})
    throw new Error('no')
  })
  await t.throwsAsync(failing)
  t.is((await call('GET', `/orgs/${org}/jobs/${id}`)).status, 404)
  t.deepEqual(
    await until(
      () => house.queue.findJobs(runDiscovery.name, {key: connector}),
      () => true,
    ),
    [],
  )
})

test.serial('progress is stored by the primary key of the job', async t => {
  const {ask} = await newJob()
  const {body} = await ask()
  const reads = await house.db.transaction(async tx => {
    await tx.query(sql.unsafe`set local enable_seqscan = off`)
    const count = () => tx.oneFirst(sql.unsafe`select idx_scan::int from pg_stat_xact_user_tables where relname = 'jobs'`)
    const before = (await count()) as number
    await setJobProgress(tx, {id: body.job.id, done: 1, total: 2, unit: 'modules'})
    return ((await count()) as number) - before
  })
  t.is(reads, 1)
})
