import {idOf, isoOf} from '../../shared/billing/subscription.ts'
import {type About, announce} from '../../shared/notices/announce.ts'
import type {Kind} from '../../shared/notices/kind.ts'
import type {Tx} from '../../sql/database.ts'
import {hasNotice} from '../../sql/notices.ts'
import type {Applying, Outcome} from './apply.ts'

type Said = {kind: Kind; once: About; about?: About}

/** The same may be told under several ids, and of what is over by now nobody is told: `once` is what must not have been said before. */
const tell = ({held: {org}}: Applying, {kind, once, about = {}}: Said): Outcome => ({
  async write(tx: Tx) {
    if (await hasNotice(tx, {org, kind, about: once})) return
    await announce(tx, {org, kind, schedule: null, about: {...once, ...about}})
  },
})

const nothing: Outcome = {write: async () => {}}

/** A charge that did not succeed, once a try; not where it was paid meanwhile. */
export const tellPaymentFailed = async (applying: Applying): Promise<Outcome> => {
  const {id, status, attempt_count: attempt, amount_remaining: amount, currency, next_payment_attempt: next} = await readInvoice(applying)
  if (status !== 'open' && status !== 'uncollectible') return nothing
  return tell(applying, {
    kind: 'billing.payment_failed',
    once: {invoice: id!, attempt, status},
    about: {amount, currency, nextAttemptAt: isoOf(next)},
  })
}

/** The bank wants somebody to confirm a charge; the page where they do is the provider's, and reached from the portal. */
export const tellActionRequired = async (applying: Applying): Promise<Outcome> => {
  const {id, status, amount_remaining: amount, currency} = await readInvoice(applying)
  if (status !== 'open') return nothing
  return tell(applying, {kind: 'billing.action_required', once: {invoice: id!}, about: {amount, currency}})
}

const readInvoice = ({tools, event}: Applying) => tools.payment.ask('invoice', stripe => stripe.invoices.retrieve(event.hint.id!))

export const tellTrialEnding = async (applying: Applying): Promise<Outcome> => {
  const read = await applying.reading.current()
  if (read?.status !== 'trialing' || read.trialEndsAt === null) return nothing
  return tell(applying, {kind: 'billing.trial_ending', once: {subscription: read.id, endsAt: read.trialEndsAt}})
}

/** Credits that were bought with it stay: taking them back is for staff to decide. */
export const tellRefund = async (applying: Applying): Promise<Outcome> => {
  const charge = await applying.tools.payment.ask('charge', stripe => stripe.charges.retrieve(applying.event.hint.id!))
  const {id, amount_refunded: refunded, amount, currency} = charge
  if (refunded === 0) return nothing
  return tell(applying, {
    kind: 'billing.refunded',
    once: {charge: id, refunded},
    about: {amount, currency, payment: idOf(charge.payment_intent)},
  })
}

export const tellDispute = async (applying: Applying): Promise<Outcome> => {
  const dispute = await applying.tools.payment.ask('dispute', stripe => stripe.disputes.retrieve(applying.event.hint.id!))
  const {id, status, amount, currency, reason} = dispute
  return tell(applying, {
    kind: 'billing.disputed',
    once: {dispute: id, status},
    about: {amount, currency, reason, charge: idOf(dispute.charge)},
  })
}
