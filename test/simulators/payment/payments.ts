import type {Call} from './calls.ts'
import {behaviourOf, needCustomer} from './customers.ts'
import {change, create, mergeMetadata, need} from './objects.ts'
import type {SimulatorState} from './state.ts'
import type {Thing} from './store.ts'
import {type Decline, declined, declines, invalid} from './wire.ts'

/**
 * Creates an intent. If its payment is declined, the call answers 402 and the intent stays: a call can confirm it with another card or cancel
 * it.
 */
export const createPaymentIntent = ({world, params}: Call): Thing => {
  const {amount, currency, customer = null, payment_method: card, confirm = false, off_session: isAway = false, metadata} = params
  if (customer !== null) needCustomer(world, customer)
  if (!Number.isInteger(amount) || amount < 50)
    throw invalid('Amount must be at least 50 cents', {code: 'amount_too_small', param: 'amount'})
  if (isAway && !confirm) throw invalid('`off_session` can only be used with `confirm=true`.', {param: 'off_session'})
  if (card !== undefined) checkOwner(world, card, customer)
  if (confirm && card === undefined) throw withoutCard()
  const intent = createIntent(world, {
    amount,
    currency: currency.toLowerCase(),
    customer,
    metadata: mergeMetadata({}, metadata),
    description: params.description ?? null,
    payment_method: card ?? null,
    allowed_payment_method_types: params.allowed_payment_method_types ?? null,
    setup_future_usage: params.setup_future_usage ?? null,
  })
  return confirm ? pay(world, intent, card, isAway === true || isAway === 'one_off' || isAway === 'recurring') : intent
}

const checkOwner = (world: SimulatorState, card: string, customer: string | null) => {
  const {customer: owner} = need(world, 'payment_method', card, 'payment_method')
  if (owner !== customer) throw invalid('The PaymentMethod does not belong to the Customer you supplied.', {param: 'payment_method'})
}

/** Charges the card. If it needs a confirmation, the intent waits for it, or is declined if the customer is absent. */
const pay = (world: SimulatorState, intent: Thing, card: string, isAway: boolean): Thing => {
  const {intent: tried, decline} = payIntent(world, intent, card)
  if (decline === null) return tried
  if (decline === 'authentication_required' && !isAway) {
    const action = {type: 'use_stripe_sdk', use_stripe_sdk: {}}
    const patch = {status: 'requires_action', next_action: action, payment_method: card, last_payment_error: null}
    return change(world, tried, patch, 'payment_intent.requires_action')
  }
  const method = world.store.get('payment_method', card)!
  throw declined(decline, {charge: tried.latest_charge, payment_intent: tried, payment_method: method}, true)
}

export const confirmIntent = ({world, params, ids}: Call): Thing => {
  const intent = need(world, 'payment_intent', ids[0]!)
  const card = params.payment_method ?? intent.payment_method
  if (!['requires_payment_method', 'requires_confirmation', 'requires_action'].includes(intent.status)) throw unexpected(intent, 'confirm')
  if (!card) throw withoutCard()
  checkOwner(world, card, intent.customer)
  return pay(world, intent, card, params.off_session === true)
}

export const cancelPaymentIntent = ({world, params, ids}: Call): Thing => {
  const intent = need(world, 'payment_intent', ids[0]!)
  if (['succeeded', 'canceled'].includes(intent.status)) throw unexpected(intent, 'cancel')
  const isOfInvoice = world.store.all('invoice_payment').some(one => one.payment.payment_intent === intent.id)
  if (isOfInvoice) throw invalid('You cannot cancel PaymentIntents created by invoices. Try voiding the invoice instead.')
  return cancelIntent(world, intent, params.cancellation_reason ?? null)
}

export const cancelIntent = (world: SimulatorState, intent: Thing, cancellation_reason: string | null): Thing => {
  const patch = {status: 'canceled', canceled_at: world.clock.now(), cancellation_reason, next_action: null}
  return change(world, intent, patch, 'payment_intent.canceled')
}

const withoutCard = () =>
  invalid('You cannot confirm this PaymentIntent because it’s missing a payment method.', {code: 'payment_intent_unexpected_state'})

const unexpected = (intent: Thing, verb: string) =>
  invalid(`You cannot ${verb} this PaymentIntent because it has a status of ${intent.status}.`, {code: 'payment_intent_unexpected_state'})

type IntentSpec = {amount: number; currency: string; customer: string | null; description?: string | null; [name: string]: unknown}

export const createIntent = (world: SimulatorState, spec: IntentSpec): Thing => {
  const id = world.newId('pi')
  const fields = {
    amount_capturable: 0,
    amount_received: 0,
    automatic_payment_methods: {allow_redirects: 'always', enabled: true},
    capture_method: 'automatic',
    client_secret: `${id}_secret_${id.slice(-12)}`,
    confirmation_method: 'automatic',
    allowed_payment_method_types: null,
    description: null,
    metadata: {},
    payment_method: null,
    setup_future_usage: null,
    payment_method_types: ['card'],
    status: spec.payment_method ? 'requires_confirmation' : 'requires_payment_method',
    ...spec,
  }
  return create(world, 'payment_intent', id, fields, 'payment_intent.created')
}

/** Charges the card. With `isPresent`, the customer confirms the payment if necessary. */
export const payIntent = (world: SimulatorState, intent: Thing, card: string, {isPresent = false} = {}) => {
  const behaviour = behaviourOf(world, card)
  if (behaviour === 'slow') world.slowMs = world.settings.slowCardMs
  if (behaviour === 'ok' || behaviour === 'slow' || (behaviour === 'authentication_required' && isPresent)) {
    return {intent: succeed(world, intent, card), decline: null}
  }
  if (behaviour === 'later') throw new TypeError('The stand-in collects at once or not at all; see beginLater')
  return {intent: fail(world, intent, card, behaviour), decline: behaviour}
}

const succeed = (world: SimulatorState, intent: Thing, card: string): Thing => {
  const {id} = addCharge(world, intent, card, null)
  const patch = {status: 'succeeded', amount_received: intent.amount, payment_method: card, last_payment_error: null, next_action: null}
  return change(world, intent, {...patch, latest_charge: id}, 'payment_intent.succeeded')
}

const fail = (world: SimulatorState, intent: Thing, card: string, decline: Decline): Thing => {
  const {id} = addCharge(world, intent, card, decline)
  const error = {type: 'card_error', ...declines[decline], charge: id, payment_method: world.store.get('payment_method', card)!}
  const patch = {status: 'requires_payment_method', latest_charge: id, payment_method: null, last_payment_error: error}
  return change(world, intent, patch, 'payment_intent.payment_failed')
}

const addCharge = (world: SimulatorState, intent: Thing, card: string, decline: Decline | null): Thing => {
  const failure = decline === null ? null : declines[decline]
  const {amount, currency, customer, description, metadata} = intent
  const fields = {
    amount,
    currency,
    customer,
    description,
    metadata,
    amount_refunded: 0,
    billing_details: {},
    fraud_details: {},
    amount_captured: failure ? 0 : amount,
    captured: failure === null,
    failure_code: failure?.code ?? null,
    failure_message: failure?.message ?? null,
    outcome: null,
    paid: failure === null,
    payment_intent: intent.id,
    payment_method: card,
    receipt_url: null,
    status: failure ? 'failed' : 'succeeded',
  }
  return create(world, 'charge', world.newId('ch'), fields, failure ? 'charge.failed' : 'charge.succeeded')
}

export const createRefund = ({world, params}: Call): Thing => {
  const {charge, payment_intent: intent, amount, reason, metadata} = params
  const id = charge ?? need(world, 'payment_intent', intent ?? '', 'payment_intent').latest_charge
  return refund(world, need(world, 'charge', id ?? '', 'charge'), {amount, reason, metadata})
}

export const refund = (world: SimulatorState, charge: Thing, {amount, reason, metadata}: Record<string, any> = {}): Thing => {
  const left = charge.amount - charge.amount_refunded
  const given = amount ?? left
  if (!charge.paid) throw invalid('This charge has not succeeded and cannot be refunded.', {param: 'charge'})
  if (left === 0) throw invalid(`Charge ${charge.id} has already been refunded.`, {code: 'charge_already_refunded'})
  if (given > left) throw invalid('Refund amount is greater than unrefunded amount on charge.', {param: 'amount'})
  const {id, currency, customer, payment_intent, payment_method} = charge
  const fields = {
    amount: given,
    charge: id,
    currency,
    customer,
    payment_intent,
    payment_method,
    metadata: metadata ?? {},
    reason: reason ?? null,
    status: 'succeeded',
  }
  const made = create(world, 'refund', world.newId('re'), fields, 'refund.created')
  const refunded = charge.amount_refunded + given
  change(world, charge, {amount_refunded: refunded, refunded: refunded === charge.amount}, 'charge.refunded')
  return made
}

/** Opens a dispute: the customer's bank withdraws the money until the dispute is closed. */
export const dispute = (world: SimulatorState, charge: Thing, reason = 'fraudulent'): Thing => {
  const {id, amount, currency, payment_intent} = charge
  const details = {enhanced_eligibility: {}, submission_count: 0, submission_method: 'manual', due_by: world.clock.now() + 7 * 24 * 3600}
  const fields = {
    amount,
    charge: id,
    currency,
    payment_intent,
    reason,
    metadata: {},
    status: 'needs_response',
    evidence: {enhanced_evidence: {}},
    evidence_details: details,
    is_charge_refundable: true,
  }
  change(world, charge, {disputed: true})
  return create(world, 'dispute', world.newId('du'), fields, 'charge.dispute.created')
}

export const closeDispute = (world: SimulatorState, id: string, outcome: 'won' | 'lost'): Thing =>
  change(world, need(world, 'dispute', id), {status: outcome, is_charge_refundable: false}, 'charge.dispute.closed')
