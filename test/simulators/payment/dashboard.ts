import {addDiscount} from './discounts.ts'
import {pausedBy} from './dunning.ts'
import {need} from './products.ts'
import {closeDispute, dispute, refund} from './refunds.ts'
import {invalid} from './refusals.ts'
import {attempt, type SimulatorState} from './simulator-state.ts'
import type {Thing} from './store.ts'
import {cancelNow} from './subscription-end.ts'
import {applyUpdate} from './subscription-update.ts'
import {changeSubscription, earliestEnd} from './subscriptions.ts'

/** Changes by staff in the dashboard, outside our API calls. */
export type Dashboard = {
  changePrice: (subscription: string, price: string) => Promise<Thing>
  cancelNow: (subscription: string) => Promise<Thing>
  cancelAtPeriodEnd: (subscription: string) => Promise<Thing>
  pause: (subscription: string) => Promise<Thing>
  addCoupon: (subscription: string, coupon: string) => Promise<Thing>
  refund: (charge: string, amount?: number) => Promise<Thing>
  dispute: (charge: string, reason?: string) => Promise<Thing>
  closeDispute: (dispute: string, outcome: 'won' | 'lost') => Promise<Thing>
}

export const openDashboard = (world: () => SimulatorState, told: <T>(done: T) => Promise<T>): Dashboard => {
  const doing = async (run: (now: SimulatorState) => Thing): Promise<Thing> => told(attempt(world(), () => run(world())))
  return {
    changePrice: (id, price) => doing(now => changePrice(now, needLive(now, id), price)),
    cancelNow: id => doing(now => cancelNow(now, needLive(now, id))),
    cancelAtPeriodEnd: id => doing(now => cancelAtPeriodEnd(now, needLive(now, id))),
    pause: id => doing(now => pause(now, needLive(now, id))),
    addCoupon: (id, coupon) => doing(now => addDiscount(now, needLive(now, id), coupon)),
    refund: (id, amount) => doing(now => refund(now, need(now, 'charge', id), amount === undefined ? {} : {amount})),
    dispute: (id, reason) => doing(now => dispute(now, need(now, 'charge', id), reason)),
    closeDispute: (id, outcome) => doing(now => closeDispute(now, id, outcome)),
  }
}

/** As in the dashboard, the difference goes on the next invoice. */
const changePrice = (world: SimulatorState, subscription: Thing, price: string): Thing => {
  const [item] = subscription.items.data
  return applyUpdate(world, subscription, {items: [{id: item.id, price}], prorationBehaviour: 'create_prorations', patch: {}}).subscription
}

const cancelAtPeriodEnd = (world: SimulatorState, subscription: Thing): Thing => {
  const details = {...subscription.cancellation_details, reason: 'cancellation_requested'}
  const patch = {
    cancel_at: earliestEnd(subscription),
    cancel_at_period_end: true,
    canceled_at: world.clock.now(),
    cancellation_details: details,
  }
  return changeSubscription(world, subscription, patch)
}

const pause = (world: SimulatorState, subscription: Thing): Thing =>
  changeSubscription(world, subscription, pausedBy('pause_requested', world.clock.now()), 'customer.subscription.paused')

const needLive = (world: SimulatorState, id: string): Thing => {
  const subscription = need(world, 'subscription', id)
  if (subscription.ended_at === null) return subscription
  throw invalid('This subscription has ended.')
}
