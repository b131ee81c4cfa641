import {idOf, isoOf} from '../../shared/billing/subscription.ts'
import {type About, announce} from '../../shared/notifications/announce.ts'
import type {NoticeKind} from '../../shared/notifications/kind.ts'
import type {Tx} from '../../sql/database.ts'
import {hasNotice} from '../../sql/notices.ts'
import type {ApplyEventInput, EventEffect} from './apply.ts'

type BillingNotice = {kind: NoticeKind; once: About; about?: About}

/** Builds the effect that sends a notice. `once` identifies the notice, so that several events about the same fact send it only once. */
const notify = ({held: {org}}: ApplyEventInput, {kind, once, about = {}}: BillingNotice): EventEffect => ({
  async write(tx: Tx) {
    if (await hasNotice(tx, {org, kind, about: once})) return
    await announce(tx, {org, kind, schedule: null, about: {...once, ...about}})
  },
})

const nothing: EventEffect = {write: async () => {}}

/**
 * Announces a failed charge, once per attempt and status of the invoice. Sends nothing if the invoice is neither open nor uncollectible, for
 * example because it was paid meanwhile.
 */
export const notifyPaymentFailed = async (applying: ApplyEventInput): Promise<EventEffect> => {
  const {id, status, attempt_count: attempt, amount_remaining: amount, currency, next_payment_attempt: next} = await readInvoice(applying)
  if (status !== 'open' && status !== 'uncollectible') return nothing
  return notify(applying, {
    kind: 'billing.payment_failed',
    once: {invoice: id!, attempt, status},
    about: {amount, currency, nextAttemptAt: isoOf(next)},
  })
}

/** Announces that the bank requires a person to confirm a charge. The provider's portal leads to the confirmation page. */
export const notifyActionRequired = async (applying: ApplyEventInput): Promise<EventEffect> => {
  const {id, status, amount_remaining: amount, currency} = await readInvoice(applying)
  if (status !== 'open') return nothing
  return notify(applying, {kind: 'billing.action_required', once: {invoice: id!}, about: {amount, currency}})
}

const readInvoice = ({tools, event}: ApplyEventInput) => tools.payment.ask('invoice', stripe => stripe.invoices.retrieve(event.hint.id!))

export const notifyTrialEnding = async (applying: ApplyEventInput): Promise<EventEffect> => {
  const read = await applying.reading.current()
  if (read?.status !== 'trialing' || read.trialEndsAt === null) return nothing
  return notify(applying, {kind: 'billing.trial_ending', once: {subscription: read.id, endsAt: read.trialEndsAt}})
}

/** Announces a refund. Bought credits stay; staff decide whether to take them back. */
export const notifyRefund = async (applying: ApplyEventInput): Promise<EventEffect> => {
  const charge = await applying.tools.payment.ask('charge', stripe => stripe.charges.retrieve(applying.event.hint.id!))
  const {id, amount_refunded: refunded, amount, currency} = charge
  if (refunded === 0) return nothing
  return notify(applying, {
    kind: 'billing.refunded',
    once: {charge: id, refunded},
    about: {amount, currency, payment: idOf(charge.payment_intent)},
  })
}

export const notifyDispute = async (applying: ApplyEventInput): Promise<EventEffect> => {
  const dispute = await applying.tools.payment.ask('dispute', stripe => stripe.disputes.retrieve(applying.event.hint.id!))
  const {id, status, amount, currency, reason} = dispute
  return notify(applying, {
    kind: 'billing.disputed',
    once: {dispute: id, status},
    about: {amount, currency, reason, charge: idOf(dispute.charge)},
  })
}
