import type {Call} from './calls.ts'
import {collect} from './collect.ts'
import {tryInvoice} from './dunning.ts'
import {finalizeInvoice, subscriptionOf, voidInvoice} from './invoices.ts'
import {page} from './paging.ts'
import {noCard} from './payment-behaviour.ts'
import {dropUpdateOf} from './pending-updates.ts'
import {need} from './products.ts'
import {declined, invalid} from './refusals.ts'
import type {Thing} from './store.ts'

export const listInvoices = (call: Call): any => {
  const {customer, subscription, status} = call.params
  const isAsked = (one: Thing) =>
    (customer === undefined || one.customer === customer) &&
    (subscription === undefined || subscriptionOf(one) === subscription) &&
    (status === undefined || one.status === status)
  return page(call, call.world.store.all('invoice').filter(isAsked))
}

/** Collects at once, too, unless that was disabled. */
export const finalize = ({world, params, ids}: Call): Thing => {
  const draft = need(world, 'invoice', ids[0]!)
  if (draft.status !== 'draft')
    throw invalid('This invoice is already finalized, you can’t re-finalize a non-draft invoice.', {code: 'invoice_not_editable'})
  const open = finalizeInvoice(world, draft)
  if (params.auto_advance === false) return world.store.put({...open, auto_advance: false})
  tryInvoice(world, open.id)
  return world.store.get('invoice', open.id)!
}

/** A failed attempt is refused, but recorded on the invoice. */
export const pay = ({world, params, ids}: Call): Thing => {
  const given = need(world, 'invoice', ids[0]!)
  if (given.status === 'paid') throw invalid('Invoice is already paid', {code: 'invoice_already_paid'})
  if (['void', 'uncollectible'].includes(given.status)) throw invalid('This invoice can no longer be paid.')
  const open = given.status === 'draft' ? finalizeInvoice(world, given) : given
  const {invoice, failure} = collect(world, open, {card: params.payment_method ?? null, isPresent: params.off_session === false})
  if (failure === 'no card') throw noCard()
  if (failure !== null) throw declined(failure, {}, true)
  return world.store.get('invoice', invoice.id)!
}

export const voidCall = ({world, ids}: Call): Thing => {
  const invoice = need(world, 'invoice', ids[0]!)
  if (invoice.status !== 'open') throw invalid(`You can only pass in open invoices. This invoice isn’t open (${invoice.status}).`)
  dropUpdateOf(world, invoice)
  return voidInvoice(world, invoice)
}

export const listInvoicePayments = (call: Call): any => {
  const {invoice, status, payment} = call.params
  const isAsked = (one: Thing) =>
    (invoice === undefined || one.invoice === invoice) &&
    (status === undefined || one.status === status) &&
    (payment === undefined || payment.payment_intent === one.payment.payment_intent)
  return page(call, call.world.store.all('invoice_payment').filter(isAsked))
}
