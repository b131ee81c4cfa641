import test from 'ava'
import {receiveEvent} from '../../shared/billing/events/receive.ts'
import {applyEvents} from '../../workers/billing/events.ts'
import type {Thing} from '../simulators/payment/store.ts'
import type {Billing} from '../support/billing.ts'
import {openBilling, seedSubscription, settleMoney} from '../support/billing.ts'
import {historyOf, planOf} from '../support/payment-webhook.ts'

const names = ['created', 'upgraded', 'cancelled', 'paid', 'deleted'] as const
type Name = (typeof names)[number]

const ordersOf = <T>(all: readonly T[]): T[][] =>
  all.length < 2 ? [[...all]] : all.flatMap((one, at) => ordersOf(all.toSpliced(at, 1)).map(rest => [one, ...rest]))

/** Creates a subscription that is started, upgraded and set to cancel. Returns the events about it and a function that ends it. */
const live = async (billing: Billing, org: string) => {
  const {payment, stripe, prices} = billing
  const {id, items} = await seedSubscription(billing, {org, planKey: 'team'})
  await stripe.subscriptions.update(id, {
    items: [{id: items.data[0]!.id, price: prices['business.month']}],
    proration_behavior: 'always_invoice',
  })
  await stripe.subscriptions.update(id, {cancel_at_period_end: true})
  const told = (type: string, isIt: (event: Thing) => boolean = () => true) =>
    payment.all('event').find(event => event.type === type && subscriptionOf(event.data.object) === id && isIt(event))
  const was = (name: string) => (event: Thing) => name in event.data.previous_attributes
  return {
    id,
    created: told('customer.subscription.created')!,
    upgraded: told('customer.subscription.updated', was('items'))!,
    cancelled: told('customer.subscription.updated', was('cancel_at_period_end'))!,
    paid: told('invoice.paid')!,
    end: async () => {
      await payment.dashboard.cancelNow(id)
      return told('customer.subscription.deleted')!
    },
  }
}

const subscriptionOf = (thing: Thing) => (thing.object === 'subscription' ? thing.id : thing.parent?.subscription_details?.subscription)

test('in all 120 orders of five subscription events, the org ends up on the plan that the provider reports', async t => {
  t.timeout(300_000)
  const billing = await openBilling(t, {webhook: false, workers: []})
  const {house} = billing
  const work = {...house.tools, drain: new AbortController().signal} as never
  const orders = ordersOf(names)
  t.is(orders.length, 120)
  const goThrough = async (order: Name[]) => {
    const {org} = await house.makeOrg()
    const life = await live(billing, org)
    for (const [at, name] of order.entries()) {
      const isOver = order.indexOf('deleted') <= at
      const event = name === 'deleted' ? await life.end() : life[name]
      t.truthy(event, name)
      // Calls the functions of the webhook and the worker directly, which saves 600 requests and jobs.
      await receiveEvent(house.tools, event as never)
      t.regex(await applyEvents(work, event.id), /^(processed|ignored)$/)
      const first = order[0] === 'deleted'
      const expected = isOver
        ? {plan: 'free.2', status: 'active', subscription: first ? null : 'canceled'}
        : {plan: 'business.1', status: 'active', subscription: 'active', isEnding: true}
      t.like(await planOf(house, org), expected, `${order} after ${name}`)
    }
    const changes = order[0] === 'deleted' ? [] : ['plan.pending', 'plan.changed', 'plan.changed']
    t.deepEqual(await historyOf(house, org), changes, order.join())
  }
  const left = [...orders]
  const goOn = async () => {
    for (let order = left.pop(); order; order = left.pop()) await goThrough(order)
  }
  await Promise.all(Array.from({length: 4}, goOn))
  await settleMoney(t, billing)
})
