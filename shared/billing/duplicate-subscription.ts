import type {Stripe} from 'stripe'
import type {Checkout} from '../../sql/checkouts.ts'
import type {Pool} from '../../sql/database.ts'
import {findSubscription} from '../../sql/subscriptions.ts'
import type {Log} from '../log.ts'
import {type Held, keepHeld} from './lease.ts'
import {PaymentFailure} from './payment-failure.ts'
import type {PaymentProvider} from './payment-provider.ts'
import {idOf, isOver, isoOf, isUnpaid, type ReadSubscription, readSubscription} from './subscription.ts'

type Tools = {db: Pool; payment: PaymentProvider; log: Log}

/**
 * A plan that was bought while the org had another one, which our own pages do not let happen: it ends at once, and what was paid for it is
 * given back; its event is what people are told of it by. Answers whether it was one. The one we know stays, whichever began first. Each step is
 * harmless to repeat. It is none where it was over when the other's period began, or the other waits for its first payment.
 */
export const endSecondSubscription = async (
  tools: Tools,
  held: Held,
  {row, read}: {row: Checkout; read: ReadSubscription},
): Promise<boolean> => {
  const {id, org} = row
  const known = await findSubscription(tools.db, org)
  if (!known || known.id === read.id || isOver(known) || row.state === 'complete') return false
  const first = await readSubscription(tools, known.id)
  if (!first || isOver(first) || isUnpaid(first)) return false
  const second = await readWhole(tools, read.id)
  if (second.ended_at !== null && isoOf(second.ended_at)! <= first.periodStartsAt!) return false
  await keepHeld(tools.db, held)
  tools.log.error({org, checkout: id, first: first.id, second: read.id}, 'a second subscription was bought: it is ended and paid back')
  await payBack(tools, id, second.ended_at === null ? await cancel(tools, id, read.id) : second)
  return true
}

const expand = ['latest_invoice.payments']

const cancel = ({payment}: Tools, checkout: string, id: string) =>
  payment.ask('subscription', stripe => stripe.subscriptions.cancel(id, {expand}, {idempotencyKey: `cs:${checkout}:cancel`}))

const readWhole = ({payment}: Tools, id: string) => payment.ask('subscription', stripe => stripe.subscriptions.retrieve(id, {expand}))

const payBack = async ({payment}: Tools, checkout: string, {latest_invoice: invoice}: Stripe.Subscription) => {
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
