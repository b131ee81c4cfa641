import test from 'ava'
import {Webhook} from 'standardwebhooks'
import {keepNotify} from '../../shared/notifications/notify.ts'
import {addEndpoint} from '../../shared/notifications/webhooks.ts'
import {type Receiver, startReceiver} from '../simulators/receiver.ts'
import {accountRows, accounts, ok, openOrg, prepareImport, runImport} from '../support/importing.ts'
import {openNoticing} from '../support/notices.ts'
import {makeTemplate, seldom} from '../support/schedules.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'

let house: TestDeployment
let receiver: Receiver

test.before(async t => {
  receiver = await startReceiver()
  house = await startTestDeployment(t, {workers: ['notices', 'imports', 'discovery'], environment: {PRIVATE_HOSTS: receiver.place}})
})
test.after.always(() => receiver.stop())

const arrived = (path: string, count = 1) =>
  until(
    () => receiver.at(path),
    all => all.length >= count,
  )

test('the end of a run is sent with its counts and without row data', async t => {
  const org = await openOrg(house)
  const {secret} = await ok(org.call('POST', `/orgs/${org.org}/webhooks`, {url: receiver.url('/runs'), events: ['run.ended']}), 201)
  const {run, path} = await runImport(org, {csv: accountRows(25, 'CANARY-'), flow: accounts})
  await runImport(org, {csv: accountRows(3, 'CANARY-'), flow: accounts, start: {dryRun: true}})
  const [first, second] = await arrived('/runs', 2)
  const body: any = new Webhook(secret).verify(first!.body, first!.headers)
  const base = house.config.PUBLIC_URL
  t.like(body, {
    type: 'run.ended',
    timestamp: body.timestamp,
    data: {
      org: org.org,
      run: run.id,
      import: path.split('/').at(-1),
      schedule: null,
      template: null,
      connection: org.connector,
      engine: 'worker',
      dryRun: false,
      state: 'done',
      stop: null,
      rowsWritten: 25,
      links: {run: `${base}/orgs/${org.org}/runs/${run.id}`, results: `${base}${path}/results.csv?run=${run.id}`},
    },
  })
  t.deepEqual(body.data.counts, run.counts)
  t.true(Date.parse(body.timestamp) >= Date.parse(run.endedAt))
  t.like(JSON.parse(second!.body).data, {dryRun: true, counts: {Accounts: {planned: 3}}})
  for (const {body: text} of receiver.at('/runs'))
    for (const canary of ['CANARY', 'Company', 'Town', 'test.csv']) t.false(text.includes(canary))
})

test('ends of external and of cancelled runs are sent', async t => {
  const org = await openOrg(house, 'zoe@other.example')
  await ok(org.call('POST', `/orgs/${org.org}/webhooks`, {url: receiver.url('/ends'), events: ['run.ended']}), 201)
  const {path} = await prepareImport(org, {csv: accountRows(2, 'OUT-'), flow: accounts})
  const authorised = {declaredRows: 2, importId: path.split('/').at(-1)}
  const {runId} = await ok(org.call('POST', '/entitlements/runs/authorise', authorised), 200)
  await ok(org.call('POST', `/entitlements/runs/${runId}/progress`, {rowsWritten: 1, done: true, outcome: 'secret words'}), 200)
  const [told] = await arrived('/ends')
  t.like(JSON.parse(told!.body).data, {run: runId, engine: 'outside', state: 'done', import: authorised.importId})
  t.false(told!.body.includes('secret words'))

  const second = await ok(org.call('POST', '/entitlements/runs/authorise', {declaredRows: 2, connectorId: org.connector}), 200)
  await ok(org.call('POST', `/entitlements/runs/${second.runId}/progress`, {rowsWritten: 0}), 200)
  await ok(org.call('POST', `/orgs/${org.org}/runs/${second.runId}/cancel`, {}), 200)
  await ok(org.call('POST', `/entitlements/runs/${second.runId}/progress`, {done: true}), 200)
  const stopped = JSON.parse((await arrived('/ends', 2))[1]!.body).data
  t.like(stopped, {run: second.runId, import: null, state: 'stopped', stop: 'CANCELLED'})
})

test('an endpoint is created, changed and deleted; its secret is shown at creation and replacement only', async t => {
  const org = await openNoticing(house)
  const base = `/orgs/${org.org}/webhooks`
  const {webhook, secret} = await org.addEndpoint(receiver.url('/life?token=hush'), {description: 'Ours'})
  t.regex(secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
  t.like(webhook, {description: 'Ours', enabled: true, schedule: null, disabledReason: null, oldSecretUntil: null})
  const of = `${base}/${webhook.id}`
  t.deepEqual((await ok(org.call('GET', base), 200)).webhooks, [webhook])
  t.deepEqual((await ok(org.call('GET', of), 200)).webhook, webhook)
  const changed = await ok(org.call('PATCH', of, {events: ['run.ended'], description: ''}), 200)
  t.like(changed.webhook, {events: ['run.ended'], description: '', url: webhook.url})

  const rotated = await ok(org.call('POST', `${of}/secret`, {}), 200)
  t.not(rotated.secret, secret)
  t.truthy(rotated.webhook.oldSecretUntil)
  const {delivery} = await ok(org.call('POST', `${of}/test`, {}), 202)
  t.like(delivery, {kind: 'webhook.test', state: 'pending', attempts: 0})
  const {body, headers} = (await arrived('/life?token=hush'))[0]!
  for (const known of [secret, rotated.secret])
    t.like(new Webhook(known).verify(body, headers), {data: {org: org.org, endpoint: webhook.id}})
  await until(
    () => org.deliveries(),
    ([one]) => one?.state === 'delivered',
  )
  const later = await ok(org.call('POST', `${of}/secret`, {}), 200)
  await ok(org.call('POST', `${of}/test`, {}), 202)
  const again = (await arrived('/life?token=hush', 2))[1]!
  t.throws(() => new Webhook(secret).verify(again.body, again.headers), undefined, 'replaced twice: void')
  for (const known of [rotated.secret, later.secret]) t.notThrows(() => new Webhook(known).verify(again.body, again.headers))

  const page = await ok(org.call('GET', `${of}/deliveries?limit=1`), 200)
  const rest = await ok(org.call('GET', `${of}/deliveries?limit=1&cursor=${page.nextCursor}`), 200)
  t.deepEqual([page.deliveries.length, rest.deliveries.map(({id}: {id: string}) => id), rest.nextCursor], [1, [delivery.id], null])

  const gone = await ok(org.call('DELETE', of), 200)
  t.is(gone.webhook.id, webhook.id)
  t.is((await org.call('GET', of)).status, 404)
  const {changes} = await ok(org.call('GET', `/orgs/${org.org}/config/changes?page=notices`), 200)
  t.deepEqual(
    changes.map(({subject}: {subject: string}) => subject),
    ['webhook', 'webhook.secret', 'webhook.secret', 'webhook', 'webhook'],
  )
  t.false(JSON.stringify(changes).includes('hush'), 'the history is for every member: the host alone')
})

test('invalid addresses, unknown names and an endpoint over the limit are refused', async t => {
  const org = await openNoticing(house)
  const bad = ['http://example.com/', 'ftp://example.com/', 'https://user:pass@example.com/', 'example.com', '', 'javascript:alert(1)']
  for (const url of bad) t.like(await org.call('POST', `/orgs/${org.org}/webhooks`, {url}), {status: 400, body: {code: 'INVALID'}}, url)
  const of = {url: 'https://example.com/'}
  for (const more of [{events: ['run.began']}, {schedule: 'sch_1'}, {secret: 'mine'}])
    t.like(await org.call('POST', `/orgs/${org.org}/webhooks`, {...of, ...more}), {status: 400, body: {code: 'INVALID'}})
  for (let n = 0; n < 20; n++) await org.addEndpoint(`https://example.com/${n}`, {events: []})
  t.like(await org.call('POST', `/orgs/${org.org}/webhooks`, of), {status: 400, body: {code: 'INVALID'}})
})

test('a test notice is sent at once, whatever failed before or waits', async t => {
  const org = await openNoticing(house)
  const {webhook} = await org.addEndpoint(receiver.url('/tried'))
  const of = `/orgs/${org.org}/webhooks/${webhook.id}`
  receiver.behave('/tried', {status: 500})
  const {delivery} = await ok(org.call('POST', `${of}/test`, {}), 202)
  const failedTimes = (times: number) =>
    until(
      () => org.deliveries(),
      rows => rows.some(({attempts, inSeconds}) => attempts === times && inSeconds > 1),
    )
  await failedTimes(1)
  for (let times = 2; times <= 3; times++) {
    const again = await ok(org.call('POST', `${of}/test`, {}), 202)
    t.is(again.delivery.id, delivery.id, 'the pending test, not a second one')
    t.true(Date.parse(again.delivery.nextAt) <= Date.now() + 1_000)
    await failedTimes(times)
  }
  // The endpoint rests for a day, so these notices wait. All of them are due before the test.
  await house.hot.query("update webhook_endpoints set rest_until = lading_now() + interval '1 day' where id = $1", [webhook.id])
  for (let n = 0; n < 5; n++) await org.say()
  await org.untilHandedOut()
  await ok(org.call('POST', `${of}/test`, {}), 202)
  const bodies = await arrived('/tried', 4)
  t.is(JSON.parse(bodies[3]!.body).type, 'webhook.test')
})

test('an address that is or resolves to a private network is refused when it is saved', async t => {
  const org = await openNoticing(house)
  const base = `/orgs/${org.org}/webhooks`
  const {webhook} = await org.addEndpoint('https://example.com/')
  const hosts = ['127.0.0.1', '10.1.2.3', '192.168.0.1', '169.254.169.254', '[::1]', '[fd00::1]', '2130706433', 'localhost']
  for (const host of hosts) {
    const refused = {status: 400, body: {code: 'INVALID', issues: [{path: ['url']}]}}
    t.like(await org.call('POST', base, {url: `https://${host}/`}), refused, host)
    t.like(await org.call('PATCH', `${base}/${webhook.id}`, {url: `https://${host}:8443/`}), refused, host)
  }
  t.like((await ok(org.call('GET', base), 200)).webhooks, [{url: 'https://example.com/'}])
})

test('a resend by a person ignores an earlier wait requested by the receiver', async t => {
  const org = await openNoticing(house)
  const {webhook} = await org.addEndpoint(receiver.url('/rested'))
  const of = `/orgs/${org.org}/webhooks/${webhook.id}`
  receiver.behave('/rested', {status: 503, headers: {'retry-after': '86400'}})
  const {delivery} = await ok(org.call('POST', `${of}/test`, {}), 202)
  await until(
    () => org.deliveries(),
    ([one]) => one?.status === 503,
  )
  receiver.behave('/rested', {status: 204})
  await ok(org.call('POST', `${of}/deliveries/${delivery.id}/redeliver`, {}), 202)
  t.is((await arrived('/rested', 2)).length, 2)
})

test('an endpoint of a deleted schedule can still be changed, and moved to another schedule', async t => {
  const org = await openOrg(house)
  const template = await makeTemplate(org)
  const source = {kind: 'https', url: 'https://files.example/a.csv'}
  const {schedule} = await ok(org.call('POST', `${template}/schedules`, {name: 'Nightly', ...seldom, source}), 201)
  const base = `/orgs/${org.org}/webhooks`
  const {webhook} = await ok(org.call('POST', base, {url: 'https://example.com/', schedule: schedule.id}), 201)
  t.false(webhook.scheduleGone)
  await ok(org.call('DELETE', template), 200)
  t.like((await ok(org.call('GET', `${base}/${webhook.id}`), 200)).webhook, {schedule: schedule.id, scheduleGone: true, enabled: true})
  t.like((await ok(org.call('PATCH', `${base}/${webhook.id}`, {enabled: false}), 200)).webhook, {enabled: false})
  t.is((await org.call('PATCH', `${base}/${webhook.id}`, {schedule: schedule.id})).status, 400)
  t.like((await ok(org.call('PATCH', `${base}/${webhook.id}`, {schedule: null, enabled: true}), 200)).webhook, {
    schedule: null,
    scheduleGone: false,
    enabled: true,
  })
})

test('email notices are refused while email is not configured', async t => {
  const org = await openNoticing(house)
  const {email} = (await ok(org.call('GET', '/auth/me'), 200)).user
  const notices = `/orgs/${org.org}/notices`
  t.like(await ok(org.call('GET', notices), 200), {notices: {emails: [], endpoints: []}, mail: {configured: false}})
  t.like(await org.call('PUT', notices, {emails: [email]}), {status: 503, body: {code: 'NOT_CONFIGURED'}})
  t.like(await org.call('PUT', notices, {endpoints: ['whk_nobody']}), {status: 400, body: {code: 'INVALID'}})
  const {webhook} = await org.addEndpoint('https://example.com/')
  const rule = {emails: [], endpoints: [webhook.id], on: ['run.ended']}
  t.deepEqual((await ok(org.call('PUT', notices, rule), 200)).notices, rule)
  await ok(org.call('DELETE', `/orgs/${org.org}/webhooks/${webhook.id}`), 200)
  t.deepEqual((await ok(org.call('GET', notices), 200)).notices, {...rule, endpoints: []})
  const mailed = {emails: [email], endpoints: [], on: ['run.ended' as const]}
  await house.db.transaction(tx => keepNotify(tx, {SMTP_URL: 'smtp://mail.example'}, {org: org.org, schedule: null, notify: mailed}))
  const kept = {...mailed, on: ['run.held']}
  t.deepEqual((await ok(org.call('PUT', notices, kept), 200)).notices, kept)
})

test('a private host listed for one org is refused to every other org', async t => {
  const [own, other] = [await house.makeOrg(), await house.makeOrg()]
  const config = {...house.config, PRIVATE_HOSTS: [`${receiver.place}=${own.org}`]}
  const add = ({org, person}: typeof own) =>
    addEndpoint(
      {db: house.db, config},
      {org, via: 'session', person},
      {kind: 'json', url: receiver.url('/scoped'), events: [], schedule: null, description: ''},
    )
  t.truthy((await add(own)).endpoint.id)
  await t.throwsAsync(add(other), {message: 'The webhook endpoint is invalid. Correct the listed fields'})
})
