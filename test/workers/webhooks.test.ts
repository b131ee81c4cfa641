import anyTest, {type TestFn} from 'ava'
import {Webhook} from 'standardwebhooks'
import {z} from 'zod'
import {sql, type Tx} from '../../sql/database.ts'
import {type Receiver, startReceiver} from '../simulators/receiver.ts'
import {type Smtp, startSmtp} from '../simulators/smtp.ts'
import {ok} from '../support/importing.ts'
import {meanwhile} from '../support/meanwhile.ts'
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
  t.like(await ok(house.as(token)('POST', `${of}/deliveries/${deliveries[0].id}/redeliver`, {}), 202), {
    delivery: {state: 'pending', attempts: 0, lastStatus: null, lastError: null, answer: null},
  })
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

test("an answer from an endpoint's earlier URL neither switches the endpoint off nor delays it", async t => {
  const org = await openNoticing(house)
  const {webhook} = await org.addEndpoint(receiver.url('/earlier'))
  const of = `/orgs/${org.org}/webhooks/${webhook.id}`
  const [{promise: changed, resolve}, answers] = [Promise.withResolvers<void>(), {status: 410, headers: {'retry-after': '7200'}}]
  receiver.behave('/earlier', {...answers, after: changed})
  await org.say()
  await until(
    () => receiver.at('/earlier').length,
    posts => posts === 1,
  )
  await ok(org.call('PATCH', of, {url: receiver.url('/later-url')}), 200)
  resolve()
  await untilDeliveries(org, ([one]) => one?.status === 410)
  t.like(await ok(org.call('GET', of), 200), {webhook: {enabled: true, disabledReason: null, failingSince: null}})
  await org.say()
  await untilDeliveries(org, all => all[1]?.state === 'delivered')
  t.is(receiver.at('/later-url').length, 1)
})

test('a delivery that the receiver accepts while its endpoint is disabled is reported as delivered', async t => {
  const org = await openNoticing(house)
  const {webhook} = await org.addEndpoint(receiver.url('/slow'))
  const {promise: disabled, resolve} = Promise.withResolvers<void>()
  receiver.behave('/slow', {status: 200, after: disabled})
  await org.say()
  await until(
    () => receiver.at('/slow').length,
    posts => posts === 1,
  )
  await ok(org.call('PATCH', `/orgs/${org.org}/webhooks/${webhook.id}`, {enabled: false}), 200)
  resolve()
  t.like(await untilDeliveries(org, ([one]) => one?.status === 200), [{state: 'delivered', attempts: 1, error: null}])
})

test('an endpoint that is disabled while the deliveries of a notice are created gets none', async t => {
  const org = await openNoticing(house)
  const {webhook} = await org.addEndpoint(receiver.url('/disabled'))
  const disable = (tx: Tx) => tx.query(sql.unsafe`update webhook_endpoints set enabled = false where id = ${webhook.id}`)
  await meanwhile(house, disable, async () => {
    await org.say()
    await org.untilHandedOut()
  })
  t.deepEqual(await org.deliveries(), [])
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
