import {complete} from './complete.ts'
import {change} from './events.ts'
import {need} from './products.ts'
import type {Thing} from './store.ts'
import type {World} from './world.ts'

/** What the subscription's coupons take off; nothing off what is given back. */
export const discountOf = (world: World, subtotal: number, subscription: Thing | null): {amount: number; discount: string}[] => {
  let left = Math.max(0, subtotal)
  return (subscription?.discounts ?? []).map((id: string) => {
    const discount = world.store.get('discount', id)!
    const coupon = world.store.get('coupon', discount.source.coupon)!
    const amount = Math.min(left, coupon.amount_off ?? Math.round((left * coupon.percent_off) / 100))
    left -= amount
    return {amount, discount: id}
  })
}

export const addDiscount = (world: World, subscription: Thing, couponId: string): Thing => {
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

/** A coupon for once is used up by the first invoice it was taken off. */
export const useUpDiscounts = (world: World, subscription: Thing): Thing => {
  const left = subscription.discounts.filter((id: string) => {
    const {source} = world.store.get('discount', id)!
    return world.store.get('coupon', source.coupon)!.duration !== 'once'
  })
  return left.length === subscription.discounts.length ? subscription : change(world, subscription, {discounts: left})
}
