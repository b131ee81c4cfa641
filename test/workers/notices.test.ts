import {randomUUID} from 'node:crypto'
import anyTest, {type TestFn} from 'ava'
import {Webhook} from 'standardwebhooks'
import {newId} from '../../shared/ids.ts'
import {keepNotify, readNotify} from '../../shared/notifications/notify.ts'
import {announceEnd, announceHeld} from '../../shared/notifications/run-ended.ts'
import {sql} from '../../sql/database.ts'
import {insertHead} from '../../sql/run-heads.ts'
import {insertRun} from '../../sql/runs.ts'
import {type Receiver, startReceiver} from '../simulators/receiver.ts'
import {type Smtp, startSmtp} from '../simulators/smtp.ts'
import {ok} from '../support/importing.ts'
import {openClock, openNoticing, untilDeliveries} from '../support/notices.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'

const test = anyTest.serial as TestFn
let house: TestDeployment
let receiver: Receiver
let smtp: Smtp
let pass: ReturnType<typeof openClock>

test.before(async t => {
  receiver = await startReceiver()
  smtp = await startSmtp()
  const mail = {SMTP_URL: smtp.url, MAIL_FROM: 'Lading <notices@lading.example>'}
  house = await startTestDeployment(t, {workers: ['notices'], environment: {PRIVATE_HOSTS: receiver.place, ...mail}})
  pass = openClock(house)
})
test.after.always(async () => {
  await receiver.stop()
  await smtp.stop()
})

test('a notice is delivered, signed, to the endpoints subscribed to its event, and to no other org', async t => {
  const [org, other] = [await openNoticing(house), await openNoticing(house)]
  const {secret} = await org.addEndpoint(receiver.url('/all'), {description: 'all'})
  await org.addEndpoint(receiver.url('/ends'), {events: ['run.ended']})
  await org.addEndpoint(receiver.url('/none'), {events: []})
  await other.addEndpoint(receiver.url('/other'))
  const id = await org.say('schedule.failed', {about: {schedule: 'sch_1', template: 'tpl_1', code: 'NOT_FOUND'}})
  const [first] = await until(
    () => receiver.at('/all'),
    all => all.length === 1,
  )
  const {headers, body} = first!
  t.like(new Webhook(secret).verify(body, headers), {
    type: 'schedule.failed',
    data: {
      org: org.org,
      schedule: 'sch_1',
      code: 'NOT_FOUND',
      links: {schedule: `${house.config.PUBLIC_URL}/orgs/${org.org}/templates/tpl_1/schedules/sch_1`},
    },
  })
  t.is(headers['webhook-id'], id)
  await untilDeliveries(org, ([one]) => one?.state === 'delivered')
  for (const path of ['/ends', '/none', '/other']) t.deepEqual(receiver.at(path), [])
})

test('the end of a dry run is sent to programs, not to people', async t => {
  const org = await openNoticing(house)
  const {webhook} = await org.addEndpoint(receiver.url('/dry'))
  await org.addEndpoint(receiver.url('/dry-chat'), {kind: 'slack'})
  await house.makeOrg({org: org.org, role: 'operator', email: 'dry@example.org'})
  await ok(org.call('PUT', `/orgs/${org.org}/notices`, {emails: ['dry@example.org'], endpoints: [], on: ['run.ended']}), 200)
  await org.say('run.ended', {about: {run: newId('run'), dryRun: true}})
  const sent = await untilDeliveries(org, all => all.length > 0 && all.every(({state}) => state === 'delivered'))
  t.deepEqual(
    sent.map(({endpoint, person}) => endpoint ?? person),
    [webhook.id],
  )
  await org.say('run.ended', {about: {run: newId('run'), dryRun: false}})
  t.is((await untilDeliveries(org, all => all.length === 4)).length, 4)
})

test('notice rules name endpoints and members for their events, and each gets a notice once', async t => {
  const org = await openNoticing(house)
  const {webhook} = await org.addEndpoint(receiver.url('/named'), {events: []})
  const reader = await house.makeOrg({org: org.org, role: 'operator', email: 'Reader@example.org'})
  const rule = {emails: ['reader@example.org'], endpoints: [webhook.id], on: ['schedule.stopped']}
  for (const _ of [1, 2])
    t.like(await ok(org.call('PUT', `/orgs/${org.org}/notices`, rule), 200), {notices: {...rule, emails: ['Reader@example.org']}})
  const {changes} = await ok(org.call('GET', `/orgs/${org.org}/config/changes?page=notices`), 200)
  t.is(changes.filter(({subject}: {subject: string}) => subject === 'notices').length, 1, 'an equal rule is not recorded')
  await org.say('schedule.failed')
  await org.say('schedule.stopped', {about: {code: 'OWNER_GONE', count: 3}})
  const rows = await untilDeliveries(org, all => all.length === 2 && all.every(({state}) => state === 'delivered'))
  t.deepEqual(new Set(rows.map(({endpoint, person}) => endpoint ?? person)), new Set([webhook.id, reader.person]))
  t.true(rows.every(({kind}) => kind === 'schedule.stopped'))
  const [letter] = smtp.letters.filter(({to}) => to.includes('Reader@example.org'))
  t.is(letter!.from, 'notices@lading.example')
  for (const said of [
    'Subject: A schedule was stopped',
    'OWNER_GONE',
    'Org: Test Org',
    `${house.config.PUBLIC_URL}/#/settings/notices`,
    'auto-generated',
  ])
    t.true(letter!.text.replaceAll('=\n', '').includes(said), letter!.text)
})

test("notices about a schedule's runs are delivered where that schedule is followed", async t => {
  const org = await openNoticing(house)
  const [mine, other] = [await makeSchedule(org.org), await makeSchedule(org.org)]
  await org.addEndpoint(receiver.url('/of/mine'), {schedule: mine.id})
  await org.addEndpoint(receiver.url('/of/other'), {schedule: other.id})
  const {webhook} = await org.addEndpoint(receiver.url('/of/rule'), {events: []})
  const notify = {emails: [], endpoints: [webhook.id], on: ['run.ended' as const]}
  await house.db.transaction(tx => keepNotify(tx, house.config, {org: org.org, schedule: mine.id, notify}))
  t.deepEqual(await readNotify(house.db, {org: org.org, schedule: mine.id}), notify)
  t.is(await readNotify(house.db, {org: org.org, schedule: other.id}), null)
  const run = await mine.fire()
  await until(
    () => receiver.at('/of/mine').length + receiver.at('/of/rule').length,
    seen => seen === 2,
  )
  const {data} = JSON.parse(receiver.at('/of/rule')[0]!.body)
  t.like(data, {run, schedule: mine.id, state: 'done'})
  await untilDeliveries(org, all => all.length === 2 && all.every(({state}) => state === 'delivered'))
  t.deepEqual(receiver.at('/of/other'), [])
  await house.db.query(sql.unsafe`delete from schedules where id = ${mine.id}`)
  t.is(await readNotify(house.db, {org: org.org, schedule: mine.id}), null, 'leaves with its schedule')
})

/** Creates a schedule. `fire` lets it start a run that ends, as the clock and the engine would. */
const makeSchedule = async (org: string) => {
  const [template, id] = [`tpl_${randomUUID()}`, `sch_${randomUUID()}`]
  await house.db.query(sql.unsafe`insert into templates (id, org_id, name, sources, flows) values (${template}, ${org}, 'T', '[]', '[]')`)
  await house.db.query(sql.unsafe`
    insert into schedules (id, org_id, template_id, name, cron, timezone, source, on_drift, enabled)
    values (${id}, ${org}, ${template}, 'S', '0 0 * * *', 'UTC', '{}', 'stop', false)`)
  const fire = ({held = false} = {}) =>
    house.db.transaction(async tx => {
      const run = newId('run')
      const no = await insertRun(tx, {id: run, org, person: null, connector: null, importNo: null, declaredRows: 1})
      await insertHead(tx, {run: no, rowsLimit: 1, limitBy: 'plan'})
      await tx.query(sql.unsafe`
        insert into firings (id, schedule_id, org_id, due_at, by, state, run_no)
        values (${randomUUID()}, ${id}, ${org}, now(), 'clock', 'running', ${no})`)
      if (held) await announceHeld(tx, {id: run, org}, {outcome: 'refused', rows: 1, settled: 2, limit: 0.05})
      else await announceEnd(tx, {id: run, org, dryRun: false})
      return run
    })
  return {id, fire}
}

test('the notice of a held run says so, although the run was resumed and has ended before the notice was sent', async t => {
  const org = await openNoticing(house)
  await org.addEndpoint(receiver.url('/held'), {events: ['run.held']})
  const run = await (await makeSchedule(org.org)).fire({held: true})
  const [held] = await until(
    () => receiver.at('/held'),
    all => all.length === 1,
  )
  t.like(JSON.parse(held!.body), {type: 'run.held', data: {run, state: 'held', stop: null}})
})

test('a member who left the org gets no more notices', async t => {
  const org = await openNoticing(house)
  await house.makeOrg({org: org.org, role: 'operator', email: 'leaver@example.org'})
  await ok(org.call('PUT', `/orgs/${org.org}/notices`, {emails: ['leaver@example.org']}), 200)
  smtp.refuse('leaver@example.org', '450 try again later')
  await org.say()
  await untilDeliveries(org, ([one]) => one?.attempts === 1 && one.error !== null)
  const {members} = await ok(org.call('GET', `/orgs/${org.org}/members`), 200)
  const {id} = members.find(({email}: {email: string}) => email === 'leaver@example.org')
  await ok(org.call('DELETE', `/orgs/${org.org}/members/${id}`), 200)
  smtp.refuse('leaver@example.org', null)
  await org.say()
  await pass(1)
  const rows = await untilDeliveries(org, ([one]) => one?.state === 'failed')
  t.is(rows.length, 1)
  t.false(smtp.letters.some(({to}) => to.includes('leaver@example.org')))
})
