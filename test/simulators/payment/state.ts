import type {Thing} from './store.ts'
import type {World} from './world.ts'

/**
 * Where the money went. What cards were charged, less what was given back, is what invoices and single payments took: `difference` is 0, or
 * somebody was charged for nothing or given something for nothing.
 */
export type Money = {charged: number; refunded: number; invoices: number; payments: number; difference: number}

export type State = {now: number; counts: Record<string, number>; money: Money; waiting: number; held: number; meterErrors: Thing[]}

const counted = ['customer', 'subscription', 'subscription_schedule', 'invoice', 'checkout.session', 'payment_intent', 'charge', 'event']

export const describeState = (world: World): State => ({
  now: world.clock.now(),
  counts: Object.fromEntries(counted.map(object => [object, world.store.all(object).length])),
  money: countMoney(world),
  waiting: world.store.all('~delivery').length + world.store.all('~fresh').length,
  held: world.faults.held(),
  meterErrors: world.store.all('~usageError').filter(one => one.at <= world.clock.now()),
})

/** Charges on the one side; invoices, and intents of no invoice, on the other: each kept by its own code. */
export const countMoney = (world: World, customer?: string): Money => {
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
