import type {SimulatorState} from './simulator-state.ts'
import type {Thing} from './store.ts'

/**
 * Money totals. Charges less refunds must equal paid invoices plus single payments: `difference` is 0 unless a charge or a
 * purchase has no counterpart.
 */
export type Money = {charged: number; refunded: number; invoices: number; payments: number; difference: number}

export type State = {now: number; counts: Record<string, number>; money: Money; waiting: number; held: number; meterErrors: Thing[]}

const counted = ['customer', 'subscription', 'subscription_schedule', 'invoice', 'checkout.session', 'payment_intent', 'charge', 'event']

export const describeState = (world: SimulatorState): State => ({
  now: world.clock.now(),
  counts: Object.fromEntries(counted.map(object => [object, world.store.all(object).length])),
  money: countMoney(world),
  waiting: world.store.all('~delivery').length + world.store.all('~fresh').length,
  held: world.faults.held(),
  meterErrors: world.store.all('~usageError').filter(one => one.at <= world.clock.now()),
})

/** Compares charges with invoices and standalone intents, which separate code maintains. */
export const countMoney = (world: SimulatorState, customer?: string): Money => {
  const isTheirs = (thing: Thing) => customer === undefined || thing.customer === customer
  const charges = world.store.all('charge').filter(charge => charge.paid && isTheirs(charge))
  const ofInvoices = new Set(world.store.all('invoice_payment').map(payment => payment.payment.payment_intent))
  const paid = world.store.all('invoice').filter(invoice => invoice.status === 'paid' && isTheirs(invoice))
  const single = world.store
    .all('payment_intent')
    .filter(intent => intent.status === 'succeeded' && !ofInvoices.has(intent.id) && isTheirs(intent))
  const charged = sum(charges.map(charge => charge.amount_captured))
  const invoices = sum(paid.map(invoice => invoice.amount_paid))
  const payments = sum(single.map(intent => intent.amount_received))
  const refunded = sum(
    world.store
      .all('refund')
      .filter(isTheirs)
      .map(refund => refund.amount),
  )
  return {charged, refunded, invoices, payments, difference: charged - invoices - payments}
}

const sum = (amounts: number[]) => amounts.reduce((total, amount) => total + amount, 0)
