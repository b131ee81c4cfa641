import {complete} from './complete.ts'
import {change} from './events.ts'
import {need} from './products.ts'
import type {SimulatorState} from './simulator-state.ts'
import type {Thing} from './store.ts'

/** The discounts of the subscription's coupons; a negative amount has no discount. */
export const discountOf = (world: SimulatorState, subtotal: number, subscription: Thing | null): {amount: number; discount: string}[] => {
  let left = Math.max(0, subtotal)
  return (subscription?.discounts ?? []).map((id: string) => {
    const discount = world.store.get('discount', id)!
    const coupon = world.store.get('coupon', discount.source.coupon)!
    const amount = Math.min(left, coupon.amount_off ?? Math.round((left * coupon.percent_off) / 100))
    left -= amount
    return {amount, discount: id}
  })
}

export const addDiscount = (world: SimulatorState, subscription: Thing, couponId: string): Thing => {
  const coupon = need(world, 'coupon', couponId, 'coupon')
  const discount = complete('discount', {
    id: world.newId('di'),
    customer: subscription.customer,
    source: {type: 'coupon', coupon: coupon.id},
    start: world.clock.now(),
    subscription: subscription.id,
  })
  world.store.put(discount)
  world.store.put({...coupon, times_redeemed: coupon.times_redeemed + 1})
  return change(world, subscription, {discounts: [...subscription.discounts, discount.id]}, 'customer.subscription.updated')
}

/** Removes coupons for one use after the first discounted invoice. */
export const useUpDiscounts = (world: SimulatorState, subscription: Thing): Thing => {
  const left = subscription.discounts.filter((id: string) => {
    const {source} = world.store.get('discount', id)!
    return world.store.get('coupon', source.coupon)!.duration !== 'once'
  })
  return left.length === subscription.discounts.length ? subscription : change(world, subscription, {discounts: left})
}
