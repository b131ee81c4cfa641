import type {Stripe} from 'stripe'
import type {Checkout} from '../../sql/checkouts.ts'
import type {Pool} from '../../sql/database.ts'
import {findSubscription} from '../../sql/subscriptions.ts'
import type {Log} from '../telemetry/log.ts'
import {type BillingLease, keepLease} from './lease.ts'
import {PaymentFailure} from './payment-failure.ts'
import type {PaymentProvider} from './payment-provider.ts'
import {idOf, isOver, isoOf, isUnpaid, type ReadSubscription, readSubscription} from './subscription.ts'

type DuplicateDeps = {db: Pool; payment: PaymentProvider; log: Log}

/**
 * If `read` is a second subscription of the org, ends and refunds it, and returns true. Our own pages prevent a second purchase, so this is rare. The
 * stored subscription stays, even if it began later. Returns false if the stored one has ended or is unpaid, if `read` ended before the stored one's
 * period, or if the Checkout is complete. Every step is safe to repeat.
 */
export const endSecondSubscription = async (
  deps: DuplicateDeps,
  billingLease: BillingLease,
  {row, read}: {row: Checkout; read: ReadSubscription},
): Promise<boolean> => {
  const {id, org} = row
  const known = await findSubscription(deps.db, org)
  if (!known || known.id === read.id || isOver(known) || row.state === 'complete') return false
  const first = await readSubscription(deps, known.id)
  if (!first || isOver(first) || isUnpaid(first)) return false
  const second = await readWhole(deps, read.id)
  if (second.ended_at !== null && isoOf(second.ended_at)! <= first.periodStartsAt!) return false
  await keepLease(deps.db, billingLease)
  deps.log.error({org, checkout: id, first: first.id, second: read.id}, 'a second subscription was bought; cancelling and refunding it')
  await refund(deps, id, second.ended_at === null ? await cancel(deps, id, read.id) : second)
  return true
}

const expand = ['latest_invoice.payments']

const cancel = ({payment}: DuplicateDeps, checkout: string, id: string) =>
  payment.ask('subscription', stripe => stripe.subscriptions.cancel(id, {expand}, {idempotencyKey: `cs:${checkout}:cancel`}))

const readWhole = ({payment}: DuplicateDeps, id: string) =>
  payment.ask('subscription', stripe => stripe.subscriptions.retrieve(id, {expand}))

const refund = async ({payment}: DuplicateDeps, checkout: string, {latest_invoice: invoice}: Stripe.Subscription) => {
  const payments = typeof invoice === 'object' ? (invoice?.payments?.data ?? []) : []
  const intent = payments.map(one => idOf(one.payment.payment_intent)).find(one => one !== null)
  if (intent === undefined) return null
  return payment
    .ask('refund', stripe => stripe.refunds.create({payment_intent: intent}, {idempotencyKey: `cs:${checkout}:refund`}))
    .catch(error => {
      if (error instanceof PaymentFailure && error.code === 'charge_already_refunded') return null
      throw error
    })
}
