import {ok} from '../support/importing.ts'
import {historyOf, makeEvent, planOf, sendWebhook, signed, statusOf, untilApplied} from '../support/payment-webhook.ts'
import {type Billing, beginSale, seedSubscription} from '../support/selling.ts'
import {until} from '../support/until.ts'
import type {Scenario, Stage} from './scenario.ts'

const replays = 1_000
const atOnce = 10
const forgeries = 100
const now = () => Math.floor(Date.now() / 1000)

/**
 * Sends events of the payment provider repeatedly, late, in any order and forged. The provider is a stand-in; the endpoint and the worker are
 * real.
 */
export const webhooks: Scenario = {
  row: 'R12',
  fault: 'events of the payment provider come a thousand times, in every order, three days late, two at once, during a plan change, forged',
  goal: "each is applied once, the plan matches the provider's, and a forged event gets 400 and leaves no row",
  async play(stage) {
    const billing = await beginSale(stage.open, stage.begun, {webhook: false, environment: {LEASE_SECONDS: '1'}})
    await replay(stage, billing)
    await forge(stage, billing)
    await tellLate(stage, billing)
    await tellDuringChange(stage, billing)
    await permute(stage, billing)
  },
}

type Payer = {org: string; token: string; id: string; customer: string; about: object}

const openPayer = async (billing: Billing): Promise<Payer> => {
  const {org, token} = await billing.house.makeOrg({role: 'admin'})
  const {id, customer} = await seedSubscription(billing, {org, planKey: 'team'})
  return {org, token, id, customer: customer as string, about: {id, object: 'subscription', customer}}
}

const countRows = async ({house}: Billing, like: string): Promise<number> =>
  (await house.hot.query('select count(*)::int as count from payment_events where id like $1', [like])).rows[0].count

/** Sends one event a thousand times, ten at once. The first ten race; the others find the event applied. */
const replay = async (stage: Stage, billing: Billing) => {
  const {house} = billing
  const {org, about} = await openPayer(billing)
  const body = makeEvent('evt_replayed', 'customer.subscription.created', about)
  const statuses: number[] = []
  for (let sent = 0; sent < replays; sent += atOnce)
    statuses.push(...(await Promise.all(Array.from({length: atOnce}, () => sendWebhook(house, body)))).map(({status}) => status))
  stage.did('replays', statuses.length)
  await untilApplied(house)
  const {rows} = await house.hot.query(`select attempts, status from payment_events where id = 'evt_replayed'`)
  stage.figure('rows of the replayed event', rows.length, {most: 1})
  stage.figure('attempts at it', rows[0]?.attempts ?? 0, {most: 1})
  stage.expect(rows[0]?.status === 'processed', `the replayed event is ${rows[0]?.status}`)
  stage.expect(
    statuses.every(status => status === 200),
    `a replay was answered ${statuses.find(status => status !== 200)}`,
  )
  const history = await historyOf(house, org)
  stage.figure('changes of the plan by it', history.length, {most: 1})
  stage.expect((await planOf(house, org)).plan === 'team.1', 'the plan that was paid for is not in effect')
}

const forge = async (stage: Stage, billing: Billing) => {
  const {house} = billing
  const {about, org} = await openPayer(billing)
  const bodyOf = (n: number) => makeEvent(`evt_forged_${n}`, 'customer.subscription.created', about)
  const wrongs: ((body: string) => string | null)[] = [
    body => signed(body, {secret: 'whsec_of_somebody_else'}),
    body => signed(body, {at: now() - 600}),
    body => signed(`${body} `),
    body => signed(body).replace(/v1=..../, 'v1=0000'),
    body => signed(body).replace('v1=', 'v0='),
    body => signed(body).replace(/t=\d+/, `t=${now() - 3}`),
    () => '',
    () => null,
  ]
  const odd: string[] = []
  for (let n = 0; n < forgeries; n++) {
    const body = bodyOf(n)
    const {status, code} = await sendWebhook(house, body, wrongs[n % wrongs.length]!(body))
    if (status !== 400 || code !== 'SIGNATURE_INVALID') odd.push(`${n % wrongs.length}: ${status} ${code}`)
  }
  stage.did('forgeries', forgeries)
  stage.expect(odd.length === 0, `forged events were answered ${odd.slice(0, 3)}`)
  stage.figure('rows of forged events', await countRows(billing, 'evt_forged_%'), {most: 0})
  stage.expect((await planOf(house, org)).plan === 'free.2', 'a forged event changed a plan')
}

/** Sends events that are three days old about a plan that has changed since. The service must ask the provider for the current state. */
const tellLate = async (stage: Stage, billing: Billing) => {
  const {house, payment, prices} = billing
  const {org, id, about} = await openPayer(billing)
  const late = (n: number) => makeEvent(`evt_late_${n}`, 'customer.subscription.updated', about, {created: now() - 3 * 86_400})
  await payment.dashboard.changePrice(id, prices['business.month'])
  await Promise.all([sendWebhook(house, late(1)), sendWebhook(house, late(2))])
  await untilApplied(house)
  const before = await planOf(house, org)
  stage.expect(before.plan === 'business.1', `after a late event of a plan that was changed since it is ${before.plan}`)
  await payment.dashboard.cancelNow(id)
  await sendWebhook(house, makeEvent('evt_gone', 'customer.subscription.deleted', about))
  await untilApplied(house)
  await Promise.all([sendWebhook(house, late(3)), sendWebhook(house, late(4))])
  stage.did('told late, two at once', 4)
  await untilApplied(house)
  const {plan, subscription} = await planOf(house, org)
  stage.expect(plan === 'free.2' && subscription === 'canceled', `after late events of a plan that is over it is ${plan}, ${subscription}`)
}

/** Sends events while a plan change waits for a slow provider. The endpoint refuses each event for now, and the event is applied later. */
const tellDuringChange = async (stage: Stage, billing: Billing) => {
  const {house, payment} = billing
  const {org, token, about} = await openPayer(billing)
  await sendWebhook(house, makeEvent('evt_begun', 'customer.subscription.created', about))
  await untilApplied(house)
  payment.faults.add({method: 'POST', path: '/v1/subscriptions/*', action: {type: 'hold', when: 'after'}})
  const changing = house.as(token)('POST', `/orgs/${org}/billing/plan`, {planKey: 'business'})
  await until(
    () => payment.faults.held(),
    held => held === 1,
  )
  const told = await Promise.all(
    Array.from({length: 5}, (_, n) => sendWebhook(house, makeEvent(`evt_during_${n}`, 'customer.subscription.updated', about))),
  )
  stage.did('told during a plan change', told.length)
  stage.expect(
    told.every(({code}) => code === 'CHANGE_IN_PROGRESS'),
    `during a plan change an event was answered ${told.map(({status}) => status)}`,
  )
  payment.faults.release()
  await ok(changing, 200)
  await untilApplied(house)
  const ends = await Promise.all(told.map((_, n) => statusOf(house, `evt_during_${n}`)))
  stage.expect(
    ends.every(status => status === 'processed'),
    `what came during the change is ${ends}`,
  )
  const {plan, status} = await planOf(house, org)
  stage.expect(plan === 'business.1' && status === 'active', `after the change the plan is ${plan}, ${status}`)
}

/** Events of one subscription, in their natural order. */
const FIVE = [
  'customer.subscription.created',
  'customer.subscription.updated',
  'invoice.payment_failed',
  'invoice.paid',
  'customer.subscription.deleted',
]

/**
 * Sends each order of five events to a separate org. Before the events, a third of the plans stay unchanged, a third are changed, and a third
 * are known to the service and then canceled.
 */
const permute = async (stage: Stage, billing: Billing) => {
  const {house, payment, prices} = billing
  const orders = permutationsOf(FIVE)
  const payers: {payer: Payer; wanted: string}[] = []
  for (const [n, order] of orders.entries()) {
    const payer = await openPayer(billing)
    if (n % 3 === 1) await payment.dashboard.changePrice(payer.id, prices['business.month'])
    if (n % 3 === 2) {
      await sendWebhook(house, makeEvent(`evt_known_${n}`, 'customer.subscription.created', payer.about))
      await untilApplied(house)
      await payment.dashboard.cancelNow(payer.id)
    }
    const invoice = {object: 'invoice', id: payment.find(payer.id)!.latest_invoice, customer: payer.customer, subscription: payer.id}
    for (const [at, type] of order.entries()) {
      const {status} = await sendWebhook(house, makeEvent(`evt_order_${n}_${at}`, type, type.startsWith('invoice') ? invoice : payer.about))
      stage.expect(status === 200, `${type} was answered ${status}`)
    }
    payers.push({payer, wanted: ['team.1 active', 'business.1 active', 'free.2 canceled'][n % 3]!})
  }
  await untilApplied(house, 60)
  stage.did('orders of five events', orders.length)
  const wrong: string[] = []
  for (const [n, {payer, wanted}] of payers.entries()) {
    const {plan, subscription} = await planOf(house, payer.org)
    const {status} = payment.find(payer.id)!
    if (`${plan} ${subscription}` !== wanted || subscription !== status)
      wrong.push(`${orders[n]}: ${plan} ${subscription} instead of ${wanted}, ${status} at the provider`)
  }
  stage.figure('orders that end as the provider has it', payers.length - wrong.length, {least: 120})
  stage.expect(wrong.length === 0, wrong[0] ?? '')
  const {rows} = await house.hot.query(
    `select count(*)::int as rows, count(*) filter (where attempts > 1)::int as twice, count(*) filter (where status = 'failed')::int as failed
     from payment_events where id like 'evt_order_%'`,
  )
  stage.figure('events of these', rows[0].rows, {least: 600})
  stage.figure('of them applied twice', rows[0].twice, {most: 0})
  stage.figure('of them failed', rows[0].failed, {most: 0})
}

const permutationsOf = <T>(items: readonly T[]): T[][] =>
  items.length < 2 ? [[...items]] : items.flatMap((item, at) => permutationsOf(items.toSpliced(at, 1)).map(rest => [item, ...rest]))
