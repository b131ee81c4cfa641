import type {Call} from './calls.ts'
import {createIntent as addIntent, payIntent} from './charges.ts'
import {needCustomer} from './customers.ts'
import {change} from './events.ts'
import {mergeMetadata} from './metadata.ts'
import {page} from './paging.ts'
import {need} from './products.ts'
import {declined, invalid} from './refusals.ts'
import type {SimulatorState} from './simulator-state.ts'
import type {Thing} from './store.ts'

/** A declined intent answers 402 and stays, to be confirmed with another card or cancelled. */
export const createIntent = ({world, params}: Call): Thing => {
  const {amount, currency, customer = null, payment_method: card, confirm = false, off_session: isAway = false, metadata} = params
  if (customer !== null) needCustomer(world, customer)
  if (!Number.isInteger(amount) || amount < 50)
    throw invalid('Amount must be at least 50 cents', {code: 'amount_too_small', param: 'amount'})
  if (isAway && !confirm) throw invalid('`off_session` can only be used with `confirm=true`.', {param: 'off_session'})
  if (card !== undefined) checkOwner(world, card, customer)
  if (confirm && card === undefined) {
    throw invalid('You cannot confirm this PaymentIntent because it’s missing a payment method.', {code: 'payment_intent_unexpected_state'})
  }
  const intent = addIntent(world, {
    amount,
    currency: currency.toLowerCase(),
    customer,
    metadata: mergeMetadata({}, metadata),
    description: params.description ?? null,
    card: card ?? null,
    types: params.allowed_payment_method_types ?? null,
    setupFutureUsage: params.setup_future_usage ?? null,
  })
  return confirm ? pay(world, intent, card, isAway === true || isAway === 'one_off' || isAway === 'recurring') : intent
}

const checkOwner = (world: SimulatorState, card: string, customer: string | null) => {
  const {customer: owner} = need(world, 'payment_method', card, 'payment_method')
  if (owner !== customer) throw invalid('The PaymentMethod does not belong to the Customer you supplied.', {param: 'payment_method'})
}

/** If the customer is absent, a required confirmation declines the payment; otherwise the intent waits for it. */
const pay = (world: SimulatorState, intent: Thing, card: string, isAway: boolean): Thing => {
  const {intent: tried, decline} = payIntent(world, intent, card)
  if (decline === null) return tried
  if (decline === 'authentication_required' && !isAway) {
    const action = {type: 'use_stripe_sdk', use_stripe_sdk: {}}
    const patch = {status: 'requires_action', next_action: action, payment_method: card, last_payment_error: null}
    return change(world, tried, patch, 'payment_intent.requires_action')
  }
  throw declined(
    decline,
    {charge: tried.latest_charge, payment_intent: tried, payment_method: world.store.get('payment_method', card)!},
    true,
  )
}

export const confirmIntent = ({world, params, ids}: Call): Thing => {
  const intent = need(world, 'payment_intent', ids[0]!)
  const card = params.payment_method ?? intent.payment_method
  if (!['requires_payment_method', 'requires_confirmation', 'requires_action'].includes(intent.status)) {
    throw unexpected(intent, 'confirm')
  }
  if (!card)
    throw invalid('You cannot confirm this PaymentIntent because it’s missing a payment method.', {code: 'payment_intent_unexpected_state'})
  checkOwner(world, card, intent.customer)
  return pay(world, intent, card, params.off_session === true)
}

export const cancelIntent = ({world, params, ids}: Call): Thing => {
  const intent = need(world, 'payment_intent', ids[0]!)
  if (['succeeded', 'canceled'].includes(intent.status)) throw unexpected(intent, 'cancel')
  const isOfInvoice = world.store.all('invoice_payment').some(one => one.payment.payment_intent === intent.id)
  if (isOfInvoice) throw invalid('You cannot cancel PaymentIntents created by invoices. Try voiding the invoice instead.')
  const patch = {
    status: 'canceled',
    canceled_at: world.clock.now(),
    cancellation_reason: params.cancellation_reason ?? null,
    next_action: null,
  }
  return change(world, intent, patch, 'payment_intent.canceled')
}

const unexpected = (intent: Thing, verb: string) =>
  invalid(`You cannot ${verb} this PaymentIntent because it has a status of ${intent.status}.`, {code: 'payment_intent_unexpected_state'})

export const listIntents = (call: Call): any => {
  const {customer} = call.params
  return page(
    call,
    call.world.store.all('payment_intent').filter(one => customer === undefined || one.customer === customer),
  )
}
