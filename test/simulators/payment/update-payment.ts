import {collect} from './collect.ts'
import {planRetry} from './dunning.ts'
import {createInvoice, finalizeInvoice} from './invoices.ts'
import {refuseUnpaid} from './payment-behaviour.ts'
import {pendingOf, takePending} from './pending-lines.ts'
import {waitForPayment} from './pending-updates.ts'
import type {SimulatorState} from './simulator-state.ts'
import type {Thing} from './store.ts'
import type {Update} from './subscription-update.ts'

type MoneyRequest = {latest: Thing; invoice: Thing}

/** Charges the invoice of an update at once. If it is not paid, the payment behaviour decides about the update. */
export const askForMoney = (
  world: SimulatorState,
  before: Thing,
  after: Thing,
  update: Update & {lines: Thing[]; books: Thing[]},
): MoneyRequest => {
  const {customer, currency} = after
  const {prorationDate = null, isPreview = false, paymentBehaviour, lines} = update
  const all = [...(pendingOf(world, after.id).length > 0 ? takePending(world, after.id) : []), ...lines]
  const ask = (subscription: Thing) =>
    createInvoice(world, {customer, currency, lines: all, reason: 'subscription_update', subscription, prorationDate})
  if (isPreview) return {latest: after, invoice: ask(after)}
  const mark = world.store.mark()
  const invoice = finalizeInvoice(world, ask(after))
  const latest = world.store.put({...world.store.get('subscription', after.id)!, latest_invoice: invoice.id})
  if (invoice.status === 'paid') return {latest, invoice}
  if (paymentBehaviour === 'default_incomplete') return {latest: {...latest, status: 'past_due'}, invoice}
  const {failure, invoice: tried} = collect(world, invoice)
  if (!failure) return {latest: world.store.get('subscription', after.id)!, invoice: world.store.get('invoice', invoice.id)!}
  if (paymentBehaviour === 'error_if_incomplete') throw refuseUnpaid(failure)
  if (paymentBehaviour !== 'pending_if_incomplete') {
    planRetry(world, tried)
    return {latest: world.store.get('subscription', after.id)!, invoice: world.store.get('invoice', invoice.id)!}
  }
  world.store.restore(mark)
  return waitForPayment(world, before, after, update.books, () => finalizeInvoice(world, ask(before)))
}
