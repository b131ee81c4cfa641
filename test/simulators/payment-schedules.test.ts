import test, {type ExecutionContext} from 'ava'
import type {Stripe} from 'stripe'
import {addCustomer, openPayment, openShop, refusal, subscribe} from './payment-caller.ts'

const hour = 3600

/** Returns the current phase as an update must send it, and a next phase. */
const phases = (schedule: Stripe.SubscriptionSchedule, price: string, more: object = {}) => {
  const [running] = schedule.phases
  const items = running!.items.map(item => ({price: item.price as string, ...(item.quantity ? {quantity: item.quantity} : {})}))
  return [
    {items, start_date: running!.start_date, end_date: running!.end_date},
    {
      items: [{price, quantity: 1}],
      duration: {interval: 'month' as const, interval_count: 1},
      billing_cycle_anchor: 'phase_start' as const,
      proration_behavior: 'none' as const,
      metadata: {plan: 'next'},
      ...more,
    },
  ]
}

const open = async (t: ExecutionContext, from: 'team' | 'business' | 'teamYear' = 'business') => {
  const {payment, stripe} = await openPayment(t)
  const shop = await openShop(stripe)
  const {id, card} = await addCustomer(stripe)
  const sub = await subscribe(stripe, id, shop[from], {metadata: {plan: 'first'}})
  const end = sub.items.data[0]!.current_period_end
  const schedule = () => stripe.subscriptionSchedules.create({from_subscription: sub.id})
  const read = () => stripe.subscriptions.retrieve(sub.id)
  return {payment, stripe, shop, customer: id, card, sub, end, schedule, read}
}

test('a downgrade waits for the renewal, which charges the new price', async t => {
  const {payment, stripe, shop, sub, end, schedule, read} = await open(t)
  const made = await schedule()
  t.like(made, {status: 'active', end_behavior: 'release', subscription: sub.id, current_phase: {end_date: end}})
  t.is((await read()).schedule, made.id)
  await stripe.subscriptionSchedules.update(made.id, {end_behavior: 'release', phases: phases(made, shop.team)})
  t.like(await read(), {
    metadata: {plan: 'first'},
    items: {data: [{price: {id: shop.business}}]},
    latest_invoice: sub.latest_invoice as string,
  })
  await payment.advanceTo(end + hour)
  const moved = await stripe.subscriptions.retrieve(sub.id, {expand: ['latest_invoice']})
  t.like(moved, {metadata: {plan: 'next'}, items: {data: [{price: {id: shop.team}, current_period_start: end}]}, billing_cycle_anchor: end})
  t.like(moved.latest_invoice, {amount_paid: 3000, billing_reason: 'subscription_cycle', status: 'paid'})
  await payment.advanceTo(moved.items.data[0]!.current_period_end + hour)
  t.is((await read()).schedule, null)
  t.is((await stripe.subscriptionSchedules.retrieve(made.id)).status, 'released')
  t.like(payment.money(), {charged: 9000 + 3000 + 3000, difference: 0})
})

test('month to year by a schedule is charged with phase_start; otherwise the anchor stays and nothing is charged', async t => {
  for (const anchor of ['phase_start', 'automatic'] as const) {
    const {payment, stripe, shop, end, schedule, read} = await open(t, 'team')
    const made = await schedule()
    const year = {interval: 'year' as const, interval_count: 1}
    const next = phases(made, shop.teamYear, {billing_cycle_anchor: anchor, duration: year})
    await stripe.subscriptionSchedules.update(made.id, {phases: next})
    await payment.advanceTo(end + hour)
    const isReset = anchor === 'phase_start'
    t.is(payment.money().charged, isReset ? 33_000 : 3000)
    t.is((await read()).items.data[0]!.price.id, shop.teamYear)
  }
})

test('with a schedule, cancelling is possible only through it', async t => {
  const {payment, stripe, end, sub, schedule, read} = await open(t)
  const made = await schedule()
  const direct = await refusal(t, stripe.subscriptions.update(sub.id, {cancel_at_period_end: true}))
  t.is(
    direct.message,
    `The subscription is managed by the subscription schedule \`${made.id}\`, and updating any cancelation behavior directly is not allowed. Please update the schedule instead.`,
  )
  t.regex((await refusal(t, schedule())).message, /already attached to a schedule/)
  const [running] = phases(made, 'unused')
  await stripe.subscriptionSchedules.update(made.id, {end_behavior: 'cancel', phases: [running!]})
  t.is((await read()).cancel_at, end)
  await stripe.subscriptionSchedules.release(made.id)
  t.like(await read(), {cancel_at: null, schedule: null, status: 'active'})
  t.regex((await refusal(t, stripe.subscriptionSchedules.release(made.id))).message, /`released` status/)
  const again = await schedule()
  await stripe.subscriptionSchedules.update(again.id, {end_behavior: 'cancel', phases: [phases(again, 'unused')[0]!]})
  await payment.advanceTo(end)
  t.is((await read()).status, 'canceled')
  t.is((await stripe.subscriptionSchedules.retrieve(again.id)).status, 'completed')
})

test('a cancellation can become a downgrade, and an upgrade replaces both', async t => {
  const {payment, stripe, shop, sub, end, schedule, read} = await open(t)
  await stripe.subscriptions.update(sub.id, {cancel_at_period_end: true})
  const made = await schedule()
  t.is(made.end_behavior, 'cancel')
  t.is((await read()).cancel_at, end)
  await stripe.subscriptionSchedules.update(made.id, {end_behavior: 'release', phases: phases(made, shop.team)})
  t.is((await read()).cancel_at, null)
  const items = [{id: sub.items.data[0]!.id, price: shop.businessYear}]
  const change = {items, proration_behavior: 'always_invoice', payment_behavior: 'error_if_incomplete'} as const
  await stripe.subscriptions.update(sub.id, change)
  await stripe.subscriptionSchedules.release(made.id)
  await payment.advanceTo(end + 2 * hour)
  t.like(await read(), {schedule: null, cancel_at: null, items: {data: [{price: {id: shop.businessYear}}]}})
  t.is(payment.money().difference, 0)
})

test('a schedule refuses iterations, a moved start, phases with from_subscription, and a phase without a length', async t => {
  const {stripe, shop, sub, schedule} = await open(t)
  const both = {from_subscription: sub.id, phases: [{items: [{price: shop.team}]}]}
  t.regex((await refusal(t, stripe.subscriptionSchedules.create(both))).message, /if `from_subscription` is set/)
  const made = await schedule()
  const [running, next] = phases(made, shop.team)
  const update = async (given: object[]) => refusal(t, stripe.subscriptionSchedules.update(made.id, {phases: given as never}))
  t.like(await update([running!, {...next, iterations: 1}]), {code: 'parameter_unknown', param: 'phases[1][iterations]'})
  t.is((await update([{...running!, start_date: running!.start_date! + 1}, next!])).param, 'phases[0][start_date]')
  const {duration: _, ...endless} = next as {duration?: unknown}
  t.is((await update([running!, endless])).param, 'phases[1][duration]')
  t.is((await stripe.subscriptionSchedules.list({customer: sub.customer as string})).data.length, 1)
})
