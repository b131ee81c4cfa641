import type {Call} from './calls.ts'
import {complete} from './complete.ts'
import {add, change} from './events.ts'
import {need} from './products.ts'
import {invalid} from './refusals.ts'
import type {SimulatorState} from './simulator-state.ts'
import type {Thing} from './store.ts'

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
  const made = complete('refund', {
    id: world.newId('re'),
    amount: given,
    charge: id,
    created: world.clock.now(),
    currency,
    customer,
    metadata: metadata ?? {},
    payment_intent,
    payment_method,
    reason: reason ?? null,
    status: 'succeeded',
  })
  add(world, made, 'refund.created')
  const refunded = charge.amount_refunded + given
  change(world, charge, {amount_refunded: refunded, refunded: refunded === charge.amount}, 'charge.refunded')
  return made
}

/** Opens a dispute, in which the customer's bank withdraws the money until it is decided. */
export const dispute = (world: SimulatorState, charge: Thing, reason = 'fraudulent'): Thing => {
  const evidence = {enhanced_evidence: {}}
  const made = complete('dispute', {
    id: world.newId('du'),
    amount: charge.amount,
    charge: charge.id,
    created: world.clock.now(),
    currency: charge.currency,
    evidence,
    evidence_details: {
      enhanced_eligibility: {},
      submission_count: 0,
      submission_method: 'manual',
      due_by: world.clock.now() + 7 * 24 * 3600,
    },
    is_charge_refundable: true,
    metadata: {},
    payment_intent: charge.payment_intent,
    reason,
    status: 'needs_response',
  })
  change(world, charge, {disputed: true})
  return add(world, made, 'charge.dispute.created')
}

export const closeDispute = (world: SimulatorState, id: string, outcome: 'won' | 'lost'): Thing =>
  change(world, need(world, 'dispute', id), {status: outcome, is_charge_refundable: false}, 'charge.dispute.closed')
