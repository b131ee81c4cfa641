import type {Call} from './calls.ts'
import {change} from './events.ts'
import {voidInvoice} from './invoices.ts'
import {dropPending} from './pending-lines.ts'
import {need} from './products.ts'
import {invalid} from './refusals.ts'
import {endSchedule} from './schedule-end.ts'
import type {SimulatorState} from './simulator-state.ts'
import type {Thing} from './store.ts'
import {openInvoices} from './subscription-life.ts'
import {changeSubscription} from './subscriptions.ts'

export const cancelSubscription = ({world, params, ids}: Call): Thing => {
  const subscription = need(world, 'subscription', ids[0]!)
  const {invoice_now: isBilled, prorate: isProrated, cancellation_details: details} = params
  if (isBilled || isProrated) throw new TypeError('The stand-in does not carry invoice_now or prorate of a cancellation')
  if (subscription.ended_at !== null) throw invalid(`No such subscription: '${subscription.id}'`, {code: 'resource_missing', param: 'id'})
  const noted = {...subscription, cancellation_details: {...subscription.cancellation_details, ...details}}
  return cancelNow(world, world.store.put(noted))
}

export const cancelNow = (world: SimulatorState, subscription: Thing, reason = 'cancellation_requested'): Thing => {
  const details = {...subscription.cancellation_details, reason}
  return endSubscription(world, {...subscription, canceled_at: world.clock.now(), cancellation_details: details})
}

/** Ends the subscription: deletes drafts, stops retries and ends its schedule. */
export const endSubscription = (world: SimulatorState, subscription: Thing): Thing => {
  const now = world.clock.now()
  dropPending(world, subscription.id)
  for (const invoice of openInvoices(world, subscription.id)) {
    if (invoice.status === 'open') {
      world.clock.cancel(`invoice:${invoice.id}`)
      change(world, invoice, {auto_advance: false, next_payment_attempt: null}, 'invoice.updated')
    } else if (invoice.automatically_finalizes_at === null) voidInvoice(world, invoice)
  }
  endSchedule(world, subscription)
  world.store.put(subscription)
  const patch = {
    status: subscription.status === 'incomplete' ? 'incomplete_expired' : 'canceled',
    canceled_at: subscription.canceled_at ?? now,
    ended_at: now,
    schedule: null,
    pending_update: null,
  }
  return changeSubscription(world, subscription, patch, 'customer.subscription.deleted')
}
