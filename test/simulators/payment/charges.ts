import {complete} from './complete.ts'
import {add, change} from './events.ts'
import {behaviourOf} from './payment-methods.ts'
import {type Decline, declines} from './refusals.ts'
import type {SimulatorState} from './simulator-state.ts'
import type {Thing} from './store.ts'

export type IntentSpec = {
  amount: number
  currency: string
  customer: string | null
  metadata?: Record<string, string>
  description?: string | null
  card?: string | null
  types?: string[] | null
  setupFutureUsage?: string | null
}

export const createIntent = (world: SimulatorState, spec: IntentSpec): Thing => {
  const id = world.newId('pi')
  const intent = complete('payment_intent', {
    id,
    allowed_payment_method_types: spec.types ?? null,
    amount: spec.amount,
    amount_capturable: 0,
    amount_received: 0,
    automatic_payment_methods: {allow_redirects: 'always', enabled: true},
    capture_method: 'automatic',
    client_secret: `${id}_secret_${id.slice(-12)}`,
    confirmation_method: 'automatic',
    created: world.clock.now(),
    currency: spec.currency,
    customer: spec.customer,
    description: spec.description ?? null,
    metadata: spec.metadata ?? {},
    payment_method: spec.card ?? null,
    payment_method_types: ['card'],
    setup_future_usage: spec.setupFutureUsage ?? null,
    status: spec.card ? 'requires_confirmation' : 'requires_payment_method',
  })
  return add(world, intent, 'payment_intent.created')
}

export type Paid = {intent: Thing; decline: Decline | null}

/** Charges the card. In a session the customer is present and can confirm the payment. */
export const payIntent = (world: SimulatorState, intent: Thing, card: string, {isPresent = false} = {}): Paid => {
  const behaviour = behaviourOf(world, card)
  if (behaviour === 'slow') world.slowMs = world.settings.slowCardMs
  if (behaviour === 'ok' || behaviour === 'slow' || (behaviour === 'authentication_required' && isPresent)) {
    return {intent: succeed(world, intent, card), decline: null}
  }
  if (behaviour === 'later') throw new TypeError('The stand-in collects at once or not at all; see checkout-later.ts')
  return {intent: fail(world, intent, card, behaviour), decline: behaviour}
}

const succeed = (world: SimulatorState, intent: Thing, card: string): Thing => {
  const charge = addCharge(world, intent, card, null)
  const patch = {
    status: 'succeeded',
    amount_received: intent.amount,
    latest_charge: charge.id,
    payment_method: card,
    last_payment_error: null,
    next_action: null,
  }
  return change(world, intent, patch, 'payment_intent.succeeded')
}

const fail = (world: SimulatorState, intent: Thing, card: string, decline: Decline): Thing => {
  const charge = addCharge(world, intent, card, decline)
  const error = {
    type: 'card_error',
    ...declines[decline],
    charge: charge.id,
    payment_method: world.store.get('payment_method', card)!,
  }
  const patch = {status: 'requires_payment_method', latest_charge: charge.id, payment_method: null, last_payment_error: error}
  return change(world, intent, patch, 'payment_intent.payment_failed')
}

const addCharge = (world: SimulatorState, intent: Thing, card: string, decline: Decline | null): Thing => {
  const failure = decline === null ? null : declines[decline]
  const charge = complete('charge', {
    id: world.newId('ch'),
    amount: intent.amount,
    amount_captured: failure ? 0 : intent.amount,
    amount_refunded: 0,
    billing_details: {},
    captured: failure === null,
    created: world.clock.now(),
    currency: intent.currency,
    customer: intent.customer,
    description: intent.description,
    failure_code: failure?.code ?? null,
    failure_message: failure?.message ?? null,
    fraud_details: {},
    metadata: intent.metadata,
    outcome: null,
    paid: failure === null,
    payment_intent: intent.id,
    payment_method: card,
    receipt_url: null,
    status: failure ? 'failed' : 'succeeded',
  })
  return add(world, charge, failure ? 'charge.failed' : 'charge.succeeded')
}
