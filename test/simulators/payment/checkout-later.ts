import {payIntent} from './charges.ts'
import {collect} from './collect.ts'
import {change, emit} from './events.ts'
import {behaviourOf, setBehaviour} from './payment-methods.ts'
import {invalid} from './refusals.ts'
import {attempt, type SimulatorState} from './simulator-state.ts'
import type {Thing} from './store.ts'

export const isLater = (world: SimulatorState, means: string): boolean => behaviourOf(world, means) === 'later'

/** The page is complete, and the payment is pending. */
export const beginLater = (world: SimulatorState, session: Thing, intent: Thing, means: string) => {
  const allowed: string[] | null = session.allowed_payment_method_types
  if (allowed && !allowed.includes('sepa_debit')) throw invalid('This payment method is not allowed here.')
  change(world, intent, {status: 'processing', payment_method: means}, 'payment_intent.processing')
  return {payment_intent: intent.id, payment_status: 'unpaid'}
}

/** Sets the outcome of a bank debit, days later. */
export const settleCheckout = (world: SimulatorState, id: string, outcome: 'succeeded' | 'failed'): Thing =>
  attempt(world, () => {
    const session = world.store.get('checkout.session', id)
    const intent = world.store.get('payment_intent', session?.payment_intent ?? '')
    if (!session || intent?.status !== 'processing') throw new TypeError(`Nothing is decided later at ${id}`)
    setBehaviour(world, intent.payment_method, outcome === 'succeeded' ? 'ok' : 'card_declined')
    if (session.invoice === null) payIntent(world, intent, intent.payment_method)
    else collect(world, world.store.get('invoice', session.invoice)!, {card: intent.payment_method})
    const settled = change(world, session, {payment_status: outcome === 'succeeded' ? 'paid' : 'unpaid'})
    emit(world, `checkout.session.async_payment_${outcome}`, settled)
    return settled
  })
