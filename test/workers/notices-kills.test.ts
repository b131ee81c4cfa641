import type {ChildProcess} from 'node:child_process'
import {once} from 'node:events'
import test from 'ava'
import {openBudget} from '../../shared/crm/limits/budget.ts'
import {readFigures} from '../../sql/figures.ts'
import {deleteOldNotices} from '../../sql/notices.ts'
import notices from '../../workers/notices.ts'
import {startWorkers} from '../../workers/start.ts'
import {type Receiver, startReceiver} from '../simulators/receiver.ts'
import {type Smtp, startSmtp} from '../simulators/smtp.ts'
import {openNoticing, untilDeliveries} from '../support/notices.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'
import {endWorker, startWorker} from '../support/worker-process.ts'

let house: TestDeployment
let receiver: Receiver
let smtp: Smtp
let worker: ChildProcess
const FROM = 'notices@lading.example'

test.before(async t => {
  receiver = await startReceiver()
  smtp = await startSmtp()
  house = await startTestDeployment(t, {environment: {PRIVATE_HOSTS: receiver.place, SMTP_URL: smtp.url, MAIL_FROM: FROM}})
})
test.after.always(async () => {
  if (worker) await endWorker(worker)
  await receiver.stop()
  await smtp.stop()
})

/** Runs a worker process that dies after sending a notice and before recording it. */
const dieAfterSending = async () => {
  const outside = {PRIVATE_HOSTS: receiver.place, SMTP_URL: smtp.url, MAIL_FROM: FROM}
  worker = startWorker(house.config, {FAULT_POINT: 'after_notice', ...outside}, ['notices'])
  const [, signal] = await once(worker, 'exit')
  return signal
}

test.serial('a webhook whose worker is killed before recording it is sent again under the same id', async t => {
  const org = await openNoticing(house)
  await org.addEndpoint(receiver.url('/killed'))
  const id = await org.say()
  t.is(await dieAfterSending(), 'SIGKILL')
  t.deepEqual(
    (await org.deliveries()).map(({state, attempts}) => [state, attempts]),
    [['pending', 1]],
  )
  await house.ahead('2 minutes')
  const next = await startWorkers(['notices'], house.config)
  await untilDeliveries(org, ([one]) => one?.state === 'delivered' && one.attempts === 2)
  await next.stop()
  const [first, second] = receiver.at('/killed')
  t.deepEqual([first!.headers['webhook-id'], second!.headers['webhook-id']], [id, id])
  t.is(first!.body, second!.body)
})

test.serial('an email whose worker is killed before recording it is sent again with the same Message-ID', async t => {
  const org = await openNoticing(house)
  const {person} = await house.makeOrg({org: org.org, email: 'reader@example.org'})
  t.is((await org.call('PUT', `/orgs/${org.org}/notices`, {emails: ['reader@example.org']})).status, 200)
  await org.say()
  t.is(await dieAfterSending(), 'SIGKILL')
  await house.ahead('10 minutes')
  const next = await startWorkers(['notices'], house.config)
  await untilDeliveries(org, ([one]) => one?.state === 'delivered' && one.person === person)
  await next.stop()
  const named = smtp.letters.map(({text}) => /^Message-ID: (.+)$/im.exec(text)![1])
  t.is(named.length, 2)
  t.is(named[0], named[1])
})

test.serial('a process whose queue took DRAIN_SECONDS to stop does not wait for deliveries as long again', async t => {
  const draining = new AbortController()
  const config = {...house.config, SMTP_URL: undefined, DRAIN_SECONDS: 1}
  const budget = openBudget(house.tools)
  t.teardown(budget.close)
  const end = await notices.start(house.queue, {...house.tools, config, budget, drain: draining.signal})
  const org = await openNoticing(house)
  receiver.behave('/hangs', 'hang')
  await org.addEndpoint(receiver.url('/hangs'))
  await org.say()
  await until(
    () => receiver.at('/hangs').length,
    posts => posts === 1,
  )
  const asked = performance.now()
  draining.abort()
  await until(
    () => performance.now() - asked,
    passed => passed > 1_000,
  )
  await end!()
  t.true(performance.now() - asked < 1_800)
})

test.serial('two workers deliver each notice to each endpoint once', async t => {
  const workers = [await startWorkers(['notices'], house.config), await startWorkers(['notices'], house.config)]
  const org = await openNoticing(house)
  const paths = ['/two/a', '/two/b', '/two/c']
  for (const path of paths) await org.addEndpoint(receiver.url(path))
  const said: string[] = []
  for (let n = 0; n < 30; n++) said.push(await org.say())
  await untilDeliveries(org, all => all.length === 90 && all.every(({state}) => state === 'delivered'))
  for (const path of paths)
    t.deepEqual(
      receiver
        .at(path)
        .map(({headers}) => headers['webhook-id']!)
        .sort(),
      said.toSorted(),
    )
  for (const one of workers) await one.stop()
})

test.serial('a closed org gets no notices until it is reopened, and notices older than thirty days are deleted', async t => {
  const [org, open] = [await openNoticing(house), await openNoticing(house)]
  await org.addEndpoint(receiver.url('/closed'))
  await open.addEndpoint(receiver.url('/open'))
  const staff = house.as(house.adminToken)
  t.is((await staff('POST', `/staff/orgs/${org.org}/close`, {reason: 'A test'})).status, 200)
  const waiting = await org.say()
  await house.hot.query(
    `insert into deliveries (id, org_id, notice_no, person_id) select 'dlv_closed', $1, notice_no, $2 from notices where id = $3`,
    [org.org, org.person, waiting],
  )
  await house.ahead('1 hour')
  const figures = await readFigures(house.db)
  for (const name of ['notice_seconds', 'mail_due_seconds'])
    t.is(figures.find(({figure}) => figure === name)!.value, 0, 'a closed org raises no alert')
  await house.hot.query(`delete from deliveries where id = 'dlv_closed'`)
  await open.say()
  const running = await startWorkers(['notices'], house.config)
  await untilDeliveries(open, ([one]) => one?.state === 'delivered')
  t.deepEqual(receiver.at('/closed'), [])
  t.is((await staff('POST', `/staff/orgs/${org.org}/reopen`, {reason: 'A test'})).status, 200)
  await untilDeliveries(org, ([one]) => one?.state === 'delivered' && one.notice === waiting)
  await running.stop()
  t.is(await deleteOldNotices(house.db, {days: 30, limit: 1_000}), 0)
  await house.ahead('31 days')
  t.true((await deleteOldNotices(house.db, {days: 30, limit: 1_000})) >= 2)
  t.deepEqual([await org.deliveries(), await open.deliveries()], [[], []])
})
