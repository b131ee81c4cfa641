import {randomUUID} from 'node:crypto'
import anyTest, {type TestFn} from 'ava'
import {Webhook} from 'standardwebhooks'
import {z} from 'zod'
import {newId} from '../../shared/ids.ts'
import {keepNotify, readNotify} from '../../shared/notifications/notify.ts'
import {announceEnd} from '../../shared/notifications/run-ended.ts'
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

const ids = (path: string) => receiver.at(path).map(({headers}) => headers['webhook-id'])

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

test('notice rules name endpoints and members for their events, and each gets a notice once', async t => {
  const org = await openNoticing(house)
  const {webhook} = await org.addEndpoint(receiver.url('/named'), {events: []})
  const reader = await house.makeOrg({org: org.org, role: 'operator', email: 'Reader@example.org'})
  const rule = {emails: ['reader@example.org'], endpoints: [webhook.id], on: ['schedule.stopped']}
  t.like(await ok(org.call('PUT', `/orgs/${org.org}/notices`, rule), 200), {notices: {...rule, emails: ['Reader@example.org']}})
  await org.say('schedule.failed')
  await org.say('schedule.stopped', {about: {code: 'OWNER_GONE', count: 3}})
  const rows = await untilDeliveries(org, all => all.length === 2 && all.every(({state}) => state === 'delivered'))
  t.deepEqual(new Set(rows.map(({endpoint, person}) => endpoint ?? person)), new Set([webhook.id, reader.person]))
  t.true(rows.every(({kind}) => kind === 'schedule.stopped'))
  const [letter] = smtp.letters.filter(({to}) => to.includes('Reader@example.org'))
  t.is(letter!.from, 'notices@lading.example')
  for (const said of ['Subject: A schedule was stopped', 'OWNER_GONE', 'Org: Test Org', `/orgs/${org.org}/notices`, 'auto-generated'])
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
  const fire = () =>
    house.db.transaction(async tx => {
      const run = newId('run')
      const no = await insertRun(tx, {id: run, org, person: null, connector: null, importNo: null, declaredRows: 1})
      await insertHead(tx, {run: no, rowsLimit: 1, limitBy: 'plan'})
      await tx.query(sql.unsafe`
        insert into firings (id, schedule_id, org_id, due_at, by, state, run_no)
        values (${randomUUID()}, ${id}, ${org}, now(), 'clock', 'running', ${no})`)
      await announceEnd(tx, {id: run, org, dryRun: false})
      return run
    })
  return {id, fire}
}

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

test('a failing endpoint is tried ten times over three days under one id, and a redelivery uses the same id', async t => {
  const org = await openNoticing(house)
  const {webhook} = await org.addEndpoint(receiver.url('/fails'))
  receiver.behave('/fails', {status: 500, body: 'broken'})
  const id = await org.say()
  for (let attempt = 1; attempt <= 10; attempt++) {
    const isNoted = ({attempts, state, inSeconds}: {attempts: number; state: string; inSeconds: number}) =>
      attempts === attempt && (state === 'failed' || inSeconds > 1)
    const [row] = await untilDeliveries(org, ([one]) => one !== undefined && isNoted(one))
    t.is(row!.status, 500)
    t.is(row!.state, attempt === 10 ? 'failed' : 'pending')
    await pass(row!.inSeconds / 3600 + 0.001)
  }
  t.deepEqual(ids('/fails'), Array(10).fill(id))
  const {token} = await house.makeOrg({org: org.org})
  const of = `/orgs/${org.org}/webhooks/${webhook.id}`
  const {deliveries} = await ok(house.as(token)('GET', `${of}/deliveries`), 200)
  t.like(deliveries, [{notice: id, kind: 'schedule.failed', state: 'failed', attempts: 10, lastStatus: 500, answer: null}])
  receiver.behave('/fails', {status: 204})
  t.like(await ok(house.as(token)('POST', `${of}/deliveries/${deliveries[0].id}/redeliver`, {}), 202), {delivery: {state: 'pending'}})
  await untilDeliveries(org, ([one]) => one?.state === 'delivered')
  t.deepEqual(ids('/fails'), Array(11).fill(id))
})

test('a redirect fails and is not followed, and Retry-After delays every delivery to its endpoint', async t => {
  const org = await openNoticing(house)
  await org.addEndpoint(receiver.url('/moved'))
  await org.addEndpoint(receiver.url('/later'))
  receiver.behave('/moved', {status: 302, headers: {location: receiver.url('/target')}})
  receiver.behave('/later', {status: 429, headers: {'retry-after': '7200'}})
  await org.say()
  const rows = await untilDeliveries(org, all => all.length === 2 && all.every(({error}) => error !== null))
  const later = rows.find(({status}) => status === 429)!
  t.true(later.inSeconds > 7_100 && later.inSeconds <= 7_200)
  t.regex(rows.find(({status}) => status === 302)!.error!, /REDIRECTED/)
  await org.say()
  await untilDeliveries(org, all => all.filter(({error}) => error !== null).length === 3)
  t.is(receiver.at('/later').length, 1)
  t.deepEqual(receiver.at('/target'), [])
})

test('a replaced webhook secret also signs deliveries for a day, and then no longer', async t => {
  const org = await openNoticing(house)
  const {webhook, secret} = await org.addEndpoint(receiver.url('/rotated'))
  const rotated = await ok(org.call('POST', `/orgs/${org.org}/webhooks/${webhook.id}/secret`, {}), 200)
  const verify = async (known: string, at: number) => {
    const told = (
      await until(
        () => receiver.at('/rotated'),
        all => all.length > at,
      )
    )[at]!
    return new Webhook(known).verify(told.body, told.headers)
  }
  await org.say()
  for (const known of [secret, rotated.secret]) await t.notThrowsAsync(verify(known, 0))
  await untilDeliveries(org, ([one]) => one?.state === 'delivered')
  await pass(24.1)
  await org.say()
  await t.notThrowsAsync(verify(rotated.secret, 1))
  await t.throwsAsync(verify(secret, 1))
})

test('an endpoint that answers 410 is switched off at once, and the administrators are notified', async t => {
  const org = await openNoticing(house)
  const {webhook} = await org.addEndpoint(receiver.url('/gone'))
  receiver.behave('/gone', {status: 500})
  await org.say()
  await untilDeliveries(org, ([one]) => one?.error != null)
  receiver.behave('/gone', {status: 410})
  await org.say()
  const rows = await untilDeliveries(org, all => all.some(({person, state}) => person && state === 'delivered'))
  t.deepEqual(
    rows.filter(({endpoint}) => endpoint).map(({state}) => state),
    ['failed', 'failed'],
  )
  t.true(smtp.letters.some(({text}) => text.includes('A webhook endpoint was disabled') && text.includes(webhook.id)))
  const {token} = await house.makeOrg({org: org.org})
  const of = `/orgs/${org.org}/webhooks/${webhook.id}`
  t.like(await ok(house.as(token)('GET', of), 200), {
    webhook: {enabled: false, disabledReason: 'It answered 410 (Gone)'},
  })
  t.like(await house.as(token)('POST', `${of}/test`, {}), {status: 409, body: {code: 'ENDPOINT_DISABLED'}})
  const before = receiver.at('/gone').length
  await org.say()
  await org.untilHandedOut()
  receiver.behave('/gone', {status: 200})
  t.like(await ok(house.as(token)('PATCH', of, {enabled: true}), 200), {webhook: {enabled: true, disabledReason: null, failingSince: null}})
  const {delivery} = await ok(house.as(token)('POST', `${of}/test`, {}), 202)
  await until(
    () => ids('/gone'),
    seen => seen.includes(delivery.notice),
  )
  t.is(JSON.parse(receiver.at('/gone').at(-1)!.body).type, 'webhook.test')
  t.true(receiver.at('/gone').length <= before + 2)
})

test('an endpoint is switched off after five days of failures only, and not after a success among them', async t => {
  const [dead, poorly] = [await openNoticing(house), await openNoticing(house)]
  const endpoint = (await dead.addEndpoint(receiver.url('/dead'))).webhook.id
  await poorly.addEndpoint(receiver.url('/poorly'))
  for (const path of ['/dead', '/poorly']) receiver.behave(path, {status: 503})
  const tell = async () => {
    for (const org of [dead, poorly]) await org.say()
  }
  const isTried = (all: readonly {error: string | null}[]) => all.length > 0 && all.every(({error}) => error !== null)
  await tell()
  for (const org of [dead, poorly]) await untilDeliveries(org, isTried)
  await pass(60)
  receiver.behave('/poorly', {status: 204})
  await untilDeliveries(poorly, all => all.every(({state}) => state === 'delivered'))
  receiver.behave('/poorly', {status: 503})
  await pass(61)
  await tell()
  for (const hours of [0.1, 1, 3, 6, 12, 14]) {
    await pass(hours)
    await until(
      () => readDue(),
      due => due === 0,
    )
  }
  const standing = await house.db.any(sql.type(z.object({id: z.string(), enabled: z.boolean()}))`
    select id, enabled from webhook_endpoints where org_id in (${dead.org}, ${poorly.org})`)
  t.deepEqual(
    standing.filter(({enabled}) => !enabled).map(({id}) => id),
    [endpoint],
  )
})

/** Returns the number of due deliveries to endpoints that are enabled and not resting. */
const readDue = () =>
  house.db.oneFirst(sql.type(z.object({count: z.number()}))`
    select count(*) from deliveries d join webhook_endpoints e on e.id = endpoint_id
    where d.state = 'pending' and next_at <= lading_now() and enabled and rest_until <= lading_now()`)

test("an endpoint that hangs delays no other org's deliveries", async t => {
  const [stuck, fine] = [await openNoticing(house), await openNoticing(house)]
  for (let n = 0; n < 6; n++) {
    receiver.behave(`/stuck/${n}`, 'hang')
    await stuck.addEndpoint(receiver.url(`/stuck/${n}`))
  }
  await fine.addEndpoint(receiver.url('/quick'))
  for (let n = 0; n < 3; n++) await stuck.say()
  await until(
    () => [0, 1, 2, 3, 4, 5].filter(n => receiver.at(`/stuck/${n}`).length > 0),
    seen => seen.length === 4,
  )
  const begun = performance.now()
  for (let n = 0; n < 20; n++) await fine.say()
  await untilDeliveries(fine, all => all.length === 20 && all.every(({state}) => state === 'delivered'))
  t.true(performance.now() - begun < 8_000, 'long before the first of them is given up')
  t.true(
    [0, 1, 2, 3, 4, 5].every(n => receiver.at(`/stuck/${n}`).length <= 1),
    'one at a time each',
  )
})
