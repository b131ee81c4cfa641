import {request} from 'node:http'
import test from 'ava'
import {switchMaintenance} from '../../api/maintenance-switch.ts'
import {takeHold} from '../../sql/billing-accounts.ts'
import {listWaitingEvents, startEvent} from '../../sql/payment-events.ts'
import {type Billing, openBilling, seedSubscription, WEBHOOK_SECRET} from '../support/billing.ts'
import {ok} from '../support/importing.ts'
import {makeEvent, sendWebhook, signed} from '../support/payment-webhook.ts'
import {startTestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'

const thing = {id: 'sub_1', object: 'subscription', customer: 'cus_of_nobody', metadata: {}}
const older = 'whsec_that_is_being_replaced'

let billing: Billing
test.before(async t => {
  const environment = {PAYMENT_WEBHOOK_SECRETS: `${WEBHOOK_SECRET},${older}`}
  billing = await openBilling(t, {workers: [], webhook: false, environment})
})

type Logged = {id: string; type: string; status: string; orgId: string | null; error: string | null; createdAt: string}

const readLog = async (query = ''): Promise<Logged[]> => {
  const {as, adminToken} = billing.house
  return (await ok(as(adminToken)('GET', `/billing/admin/events${query}`), 200)).events
}

const now = () => Math.floor(Date.now() / 1000)

test.serial('only events signed with our secret within five minutes are kept, exactly as sent', async t => {
  const {house} = billing
  const body = makeEvent('evt_1', 'customer.subscription.updated', thing)
  const [time, mac] = signed(body).split(',') as [string, string]
  const refused: Record<string, string | null> = {
    'wrong secret': signed(body, {secret: 'whsec_of_somebody_else'}),
    '301 seconds old': signed(body, {at: now() - 301}),
    'scheme v0 alone': `${time},${mac.replace('v1=', 'v0=')}`,
    'another time than was signed': `t=${now() - 5},${mac}`,
    'no time': mac,
    'no signature': time,
    'signature cut off': `${time},${mac.slice(0, -8)}`,
    'of another body': signed(`${body} `),
    empty: '',
    'no header': null,
  }
  for (const [name, signature] of Object.entries(refused)) {
    const {status, code} = await sendWebhook(house, body, signature)
    t.deepEqual([status, code], [400, 'SIGNATURE_INVALID'], name)
  }
  const half = body.slice(0, body.length / 2)
  t.is((await sendWebhook(house, half, signed(body))).status, 400, 'half of it')
  t.is((await sendWebhook(house, half, signed(half))).status, 400, 'signed, and not JSON')
  t.is((await sendWebhook(house, '', signed(''))).status, 400, 'signed, and empty')
  t.deepEqual(await readLog(), [])

  const accepted: Record<string, (body: string) => [string, Record<string, string>?]> = {
    'a secret being replaced': text => [signed(text, {secret: older})],
    'several signatures': text => [`${signed(text, {secret: 'x'})},${signed(text).split(',')[1]}`],
    '299 seconds old': text => [signed(text, {at: now() - 295})],
    'the clock there is ahead': text => [signed(text, {at: now() + 60})],
    'another content type': text => [signed(text), {'content-type': 'text/plain'}],
  }
  for (const [n, [name, headers]] of Object.entries(accepted).entries()) {
    const text = makeEvent(`evt_good_${n}`, 'customer.subscription.updated', thing)
    t.is((await sendWebhook(house, text, ...headers(text))).status, 200, name)
  }
  const kept = await readLog()
  t.is(kept.length, Object.keys(accepted).length)
  t.like(kept[0], {type: 'customer.subscription.updated', status: 'ignored', orgId: null, error: 'UNKNOWN_CUSTOMER'})
  t.truthy(kept[0]!.createdAt)
})

test.serial('a body of two mebibytes is refused before it is read, and a body without a content type is accepted', async t => {
  const {house} = billing
  const large = makeEvent('evt_large', 'customer.subscription.updated', {...thing, description: 'x'.repeat(2 * 1024 ** 2)})
  const {status, code} = await sendWebhook(house, large)
  t.deepEqual([status, code], [413, 'BODY_TOO_LARGE'])
  const body = makeEvent('evt_untyped', 'customer.subscription.updated', thing)
  const {promise, resolve} = Promise.withResolvers<number | undefined>()
  const sent = request(`${house.url}/billing/webhook`, {method: 'POST', headers: {'stripe-signature': signed(body)}}, answer => {
    answer.resume()
    resolve(answer.statusCode)
  })
  sent.end(body)
  t.is(await promise, 200)
})

test.serial('the webhook answers NOT_CONFIGURED without a key and MAINTENANCE during maintenance, signed or not', async t => {
  const house = await startTestDeployment(t)
  const body = makeEvent('evt_1', 'customer.subscription.updated', thing)
  t.like(await sendWebhook(house, body), {status: 503, code: 'NOT_CONFIGURED'})
  await switchMaintenance(house.db, 'on')
  await until(
    () => sendWebhook(house, body),
    ({code}) => code === 'MAINTENANCE',
  )
  await switchMaintenance(house.db, 'off')
})

test.serial('the event log is read newest first, is limited, and holds no personal data', async t => {
  const {house, payment} = billing
  const {org} = await house.makeOrg()
  payment.addEndpoint(`${house.url}/billing/webhook`)
  await seedSubscription(billing, {org, planKey: 'team'})
  await payment.settle()
  for (const {id} of payment.all('webhook_endpoint')) await billing.stripe.webhookEndpoints.del(id)
  const events = await readLog('?limit=9999')
  t.true((await readLog()).length <= 50)
  t.true(events.length > 5)
  t.deepEqual(Object.keys(events[0]!), ['id', 'type', 'status', 'orgId', 'error', 'createdAt', 'processedAt'])
  const times = events.map(({createdAt}) => createdAt)
  t.deepEqual(times, times.toSorted().toReversed())
  const created = events.find(({type}) => type === 'customer.subscription.created')
  t.like(created, {status: 'received', orgId: org, error: null, processedAt: null})
  t.like(
    events.find(({type}) => type === 'price.created' || type === 'invoice.finalized'),
    {status: 'ignored'},
  )
  t.is((await readLog('?limit=2')).length, 2)
  for (const limit of ['0', '-1', 'x', '']) t.deepEqual(await readLog(`?limit=${limit}`), await readLog(), limit)
  const {rows} = await house.hot.query('select payload::text as text from payment_events')
  t.true(rows.length > 0)
  for (const {text} of rows) t.notRegex(text, /Ana Ono|@|last4|address/)
})

test.serial('an event is kept and refused while the org’s billing is locked, and accepted when sent again', async t => {
  const {house} = billing
  const {org} = await house.makeOrg()
  const {id, customer} = await seedSubscription(billing, {org, planKey: 'team'})
  const event = makeEvent('evt_held', 'customer.subscription.updated', {...thing, id, customer})
  t.true(await takeHold(house.db, {org, holder: 'a test', seconds: 60}))
  for (let times = 0; times < 2; times++) t.like(await sendWebhook(house, event), {status: 409, code: 'CHANGE_IN_PROGRESS'})
  const read = async () => (await readLog()).filter(({id: kept}) => kept === 'evt_held')
  t.like(await read(), [{status: 'deferred', orgId: org}])
  await house.ahead('61 seconds')
  t.is((await sendWebhook(house, event)).status, 200)
  t.is((await read()).length, 1)
})

test.serial('events of another application, environment, mode or org are ignored', async t => {
  const {house} = billing
  const {org} = await house.makeOrg()
  const {id, customer, metadata} = await seedSubscription(billing, {org, planKey: 'team'})
  const type = 'customer.subscription.updated'
  const of = (more: object) => ({...thing, id, customer, metadata: {...metadata, ...more}})
  await sendWebhook(house, makeEvent('evt_app', type, of({app: 'another'})))
  await sendWebhook(house, makeEvent('evt_env', type, of({env: 'staging'})))
  await sendWebhook(house, makeEvent('evt_org', type, of({org_id: 'org_another'})))
  await sendWebhook(house, makeEvent('evt_live', type, of({}), {livemode: true}))
  await sendWebhook(house, makeEvent('evt_type', 'invoice.created', {id: 'in_1', object: 'invoice', customer}))
  await sendWebhook(house, makeEvent('evt_ours', type, of({})))
  const said = Object.fromEntries((await readLog('?limit=6')).map(({id: event, status, orgId, error}) => [event, [status, orgId, error]]))
  t.deepEqual(said, {
    evt_app: ['ignored', null, 'OTHER_APP'],
    evt_env: ['ignored', null, 'OTHER_APP'],
    evt_org: ['ignored', org, 'OTHER_ORG'],
    evt_live: ['ignored', org, 'OTHER_MODE'],
    evt_type: ['ignored', org, null],
    evt_ours: ['received', org, null],
  })
})

test.serial('a signed body that is no event is refused and not kept', async t => {
  const {house} = billing
  const before = await readLog()
  const event = JSON.parse(makeEvent('evt_no_event', 'customer.subscription.updated', thing))
  const {id: _id, ...noId} = event
  const {data: _data, ...noData} = event
  for (const none of [
    [],
    'x',
    null,
    7,
    {},
    noId,
    noData,
    {...event, id: 1},
    {...event, data: {object: null}},
    {...event, livemode: 'no'},
    {...event, id: 'evt_\0'},
    {...event, id: 'evt \ud800'},
    {...event, type: 'a\0b'},
  ]) {
    const text = JSON.stringify(none)
    const {status, code} = await sendWebhook(house, text, signed(text))
    t.deepEqual([status, code], [400, text === 'null' ? 'SIGNATURE_INVALID' : 'INVALID'], `signed, and no event: ${text}`)
  }
  t.deepEqual(await readLog(), before)
})

test.serial('an event whose details Postgres cannot store is kept without them', async t => {
  const {house} = billing
  const strange = ['cus_\0', 'cus_\ud800', {id: 'cus_\0'}]
  for (const [n, customer] of strange.entries()) {
    const object = {...thing, customer, metadata: {app: 'x\0', org_id: '\ud800'}}
    const more = {request: {id: null, idempotency_key: n === 0 ? 'k\0' : 7}}
    const text = makeEvent(`evt_strange_${n}`, 'customer.subscription.updated', object, more)
    t.like(await sendWebhook(house, text), {status: 200}, JSON.stringify(customer))
  }
})

test.serial('the event log is filtered by status, type and org and read in pages, and a failed event can be retried', async t => {
  const {house} = billing
  const {org} = await house.makeOrg()
  const {customer} = await seedSubscription(billing, {org, planKey: 'team'})
  const of = {...thing, customer}
  for (let n = 0; n < 3; n++) await sendWebhook(house, makeEvent(`evt_log_${n}`, 'customer.subscription.updated', of))
  await sendWebhook(house, makeEvent('evt_log_other', 'invoice.paid', {id: 'in_1', object: 'invoice', customer, metadata: {}}))
  await house.hot.query(`update payment_events set status = 'failed', attempts = 5, error = 'X' where id = 'evt_log_1'`)
  const page = async (query: string) =>
    ok(house.as(house.adminToken)('GET', `/billing/admin/events?org=${org}&${query}`), 200) as Promise<{
      events: Logged[]
      nextCursor: string
    }>
  const idsOf = async (query: string) => (await page(query)).events.map(({id}) => id)
  t.deepEqual(await idsOf('status=failed'), ['evt_log_1'])
  t.deepEqual(await idsOf('type=invoice.paid'), ['evt_log_other'])
  const first = await page('limit=3')
  t.deepEqual(
    first.events.map(({id}) => id),
    ['evt_log_other', 'evt_log_2', 'evt_log_1'],
  )
  const last = await page(`limit=3&cursor=${first.nextCursor}`)
  t.deepEqual([last.events.map(({id}) => id), last.nextCursor], [['evt_log_0'], null])
  t.is((await house.as(house.adminToken)('GET', `/billing/admin/events?cursor=${first.nextCursor}`)).body.code, 'INVALID_CURSOR')
  t.is((await house.as(house.adminToken)('GET', '/billing/admin/events?status=lost')).status, 400)

  const retry = (id: string) => house.as(house.adminToken)('POST', `/billing/admin/events/${id}/retry`)
  await house.hot.query(`delete from pgboss.job where data ->> 'event' = 'evt_log_1'`)
  t.like(await ok(retry('evt_log_1'), 200), {event: {id: 'evt_log_1', status: 'received', orgId: org}})
  const {rows} = await house.hot.query(`select attempts from payment_events where id = 'evt_log_1'`)
  t.is(rows[0].attempts, 0)
  const jobs = await house.queue.findJobs<{event: string}>('payment.event')
  t.true(jobs.some(({data, state}) => data.event === 'evt_log_1' && state === 'created'))
  await house.hot.query(`update payment_events set status = 'processed', processed_at = now() where id = 'evt_log_1'`)
  t.is((await retry('evt_log_1')).status, 404)
  t.is((await retry('evt_nobody')).status, 404)

  await house.hot.query(`delete from payment_events where id = 'evt_log_1'`)
  const late = await house.as(house.adminToken)('GET', `/billing/admin/events?org=${org}&limit=3&cursor=${first.nextCursor}`)
  t.is(late.body.code, 'INVALID_CURSOR', 'the event of the cursor was deleted')
})

test.serial('an event whose worker died is picked up again as soon as the billing lock of its org expires', async t => {
  const {house} = billing
  const {org} = await house.makeOrg()
  const {customer} = await seedSubscription(billing, {org, planKey: 'team'})
  await sendWebhook(house, makeEvent('evt_left', 'customer.subscription.updated', {...thing, customer}))
  const waiting = () =>
    listWaitingEvents(house.db, {
      pickupSeconds: 15,
      patienceSeconds: 300,
      usualAttempts: 5,
      mostAttempts: 40,
      mostSeconds: 21_600,
      limit: 100,
    })
  t.true(await takeHold(house.db, {org, holder: 'events:of-a-dead-worker', seconds: 3600}))
  await startEvent(house.db, 'evt_left')
  t.false((await waiting()).includes('evt_left'))
  await house.hot.query('update billing_accounts set held_until = now() - make_interval(secs => 1) where org_id = $1', [org])
  t.true((await waiting()).includes('evt_left'))
})
