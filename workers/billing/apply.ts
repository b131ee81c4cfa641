import {classifyEvent} from '../../shared/billing/events/classify.ts'
import {assertHeld, type BillingLease} from '../../shared/billing/lease.ts'
import {nullWhereGone} from '../../shared/billing/payment-failure.ts'
import {settleCheckout} from '../../shared/billing/settle-checkout.ts'
import {isOver} from '../../shared/billing/subscription.ts'
import {clearTopupStop, settleTopup} from '../../shared/billing/topup.ts'
import {atPoint} from '../../shared/fault-point.ts'
import type {Tx} from '../../sql/database.ts'
import {type EventHint, endEvent, type PaymentEvent} from '../../sql/payment-events.ts'
import type {WorkerDeps} from '../deps.ts'
import {applyCustomerGone} from './customer-gone.ts'
import {notifyActionRequired, notifyDispute, notifyPaymentFailed, notifyRefund, notifyTrialEnding} from './notify.ts'
import type {SubscriptionReading} from './subscription-reading.ts'

/**
 * The effect of an event: what to write, or the code for why the event is ignored (null: the event needs no action). `done` is called after
 * the commit.
 */
export type EventEffect = {ignoredFor: string | null} | {write(tx: Tx): Promise<void>; done?(): void}

export type ApplyEventInput = {tools: WorkerDeps; held: BillingLease; reading: SubscriptionReading; event: PaymentEvent}

/**
 * Applies one event of an org. The caller has the org's billing lock. Reads the affected objects from the provider, and commits their effects
 * together with the event's new status. Checkouts, plan changes and top-ups are settled and committed before that. Settling one twice has no further
 * effect.
 */
export const applyEvent = async (applying: ApplyEventInput): Promise<'processed' | 'ignored'> => {
  const {tools, held, event} = applying
  const outcome = await applyByKind(applying)
  const isIgnored = 'ignoredFor' in outcome
  const status = isIgnored ? 'ignored' : 'processed'
  await tools.db.transaction(async tx => {
    await assertHeld(tx, held)
    if (!isIgnored) await outcome.write(tx)
    atPoint('in_event')
    await endEvent(tx, {id: event.id, status, error: isIgnored ? outcome.ignoredFor : null})
  })
  if (!isIgnored) outcome.done?.()
  return status
}

const applyByKind = async (applying: ApplyEventInput): Promise<EventEffect> => {
  switch (classifyEvent(applying.event.type)) {
    case null:
      return {ignoredFor: null}
    case 'checkout':
      return applyCheckout(applying)
    case 'topup':
      return applyTopup(applying)
    case 'customer.gone':
      return applyCustomerGone(applying)
    case 'refund':
      return ofKnown(notifyRefund(applying))
    case 'dispute':
      return ofKnown(notifyDispute(applying))
    case 'subscription':
      return applySubscription(applying)
    case 'card':
      return applyCard(applying)
    case 'alarm':
      return applyAlarm(applying)
    case 'trial.ending':
      return andThen(applying, notifyTrialEnding)
    case 'invoice.failed':
      return andThen(applying, notifyPaymentFailed)
    case 'invoice.action':
      return andThen(applying, notifyActionRequired)
  }
}

/**
 * Writes the subscription as it is now, not as it was at the time of the event. Ignores an event of another subscription while the org's own
 * is live.
 */
const applySubscription = async ({reading, event}: ApplyEventInput): Promise<EventEffect> => {
  const read = await reading.current()
  if (isOfAnother(event.hint, read)) return {ignoredFor: 'OTHER_SUBSCRIPTION'}
  return {write: reading.write, done: reading.isWritten}
}

const isOfAnother = ({subscription}: EventHint, read: {id: string; status: string} | null) =>
  subscription !== null && read !== null && subscription !== read.id && !isOver(read)

/** Settles a Checkout. `settleCheckout` writes the result itself. A Checkout that this service did not create is ignored. */
const applyCheckout = async ({tools, held, reading, event}: ApplyEventInput): Promise<EventEffect> => {
  const known = await settleCheckout(tools, held, event.hint.id!)
  reading.forget()
  return known ? noEffect : {ignoredFor: 'UNKNOWN_CHECKOUT'}
}

const applyTopup = async ({tools, held: {org}, event}: ApplyEventInput): Promise<EventEffect> => {
  const {kind, attempt} = event.hint
  if (kind !== 'autotopup' || attempt === null) return {ignoredFor: null}
  const state = await settleTopup(tools, {org, attempt})
  return state === 'gone' ? {ignoredFor: 'UNKNOWN_TOPUP'} : noEffect
}

const noEffect: EventEffect = {write: async () => {}}

/**
 * Writes the subscription, which includes the card to charge. Also resumes top-ups that were stopped because of the card, if the customer has
 * another card now.
 */
const applyCard = async (applying: ApplyEventInput): Promise<EventEffect> => {
  await clearTopupStop(applying.tools, applying.held.org)
  return applySubscription(applying)
}

/** Returns the effect of an event. The event is ignored if the provider does not know its invoice, charge or dispute. */
const ofKnown = async (effect: Promise<EventEffect>): Promise<EventEffect> =>
  (await effect.catch(nullWhereGone)) ?? {ignoredFor: 'UNKNOWN_OBJECT'}

/** Returns the effect that writes the subscription and the notice that `tell` makes. If either is ignored, the event is ignored. */
const andThen = async (applying: ApplyEventInput, tell: (applying: ApplyEventInput) => Promise<EventEffect>): Promise<EventEffect> => {
  const applied = await applySubscription(applying)
  if ('ignoredFor' in applied) return applied
  const noticeEffect = await ofKnown(tell(applying))
  if ('ignoredFor' in noticeEffect) return noticeEffect
  return {
    ...applied,
    async write(tx) {
      await applied.write(tx)
      await noticeEffect.write(tx)
    },
  }
}

/** Logs an event that no action of this service causes, so that a person checks it at the provider. Then writes the subscription. */
const applyAlarm = async (applying: ApplyEventInput): Promise<EventEffect> => {
  const {tools, event} = applying
  tools.log.error({event: event.id, type: event.type, org: event.org, object: event.hint.id}, 'unexpected event of the payment provider')
  return applySubscription(applying)
}
