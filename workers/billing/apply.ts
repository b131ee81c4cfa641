import {meaningOf} from '../../shared/billing/events/meaning.ts'
import {assertHeld, type Held} from '../../shared/billing/lease.ts'
import {settleCheckout} from '../../shared/billing/settle-checkout.ts'
import {isOver} from '../../shared/billing/subscription.ts'
import {clearTopupStop, settleTopup} from '../../shared/billing/topup.ts'
import {atPoint} from '../../shared/fault-point.ts'
import type {Tx} from '../../sql/database.ts'
import {endEvent, type Hint, type PaymentEvent} from '../../sql/payment-events.ts'
import type {Tools} from '../tools.ts'
import {learnCustomerGone} from './customer-gone.ts'
import type {Reading} from './reading.ts'
import {tellActionRequired, tellDispute, tellPaymentFailed, tellRefund, tellTrialEnding} from './tell.ts'

/** What an event came to: what is written because of it, or a word on why nothing is. */
export type Outcome = {ignoredFor: string | null} | {write(tx: Tx): Promise<void>; done?(): void}

export type Applying = {tools: Tools; held: Held; reading: Reading; event: PaymentEvent}

/**
 * One event of an org that is held: what it is about is read from the provider, and what is written because of it is committed together with the
 * word that it was applied. What settles Checkouts, changes and top-ups commits before that, and does each of them once, however often it is asked.
 */
export const applyEvent = async (applying: Applying): Promise<'processed' | 'ignored'> => {
  const {tools, held, event} = applying
  const outcome = await learn(applying)
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

const learn = async (applying: Applying): Promise<Outcome> => {
  switch (meaningOf(applying.event.type)) {
    case null:
      return {ignoredFor: null}
    case 'checkout':
      return learnCheckout(applying)
    case 'topup':
      return learnTopup(applying)
    case 'customer.gone':
      return learnCustomerGone(applying)
    case 'refund':
      return tellRefund(applying)
    case 'dispute':
      return tellDispute(applying)
    case 'subscription':
      return learnSubscription(applying)
    case 'card':
      return learnCard(applying)
    case 'alarm':
      return learnAlarm(applying)
    case 'trial.ending':
      return andThen(applying, tellTrialEnding)
    case 'invoice.failed':
      return andThen(applying, tellPaymentFailed)
    case 'invoice.action':
      return andThen(applying, tellActionRequired)
  }
}

/** The subscription as it is now, whatever it was when the event was made; not one beside the org's own while that lives. */
const learnSubscription = async ({reading, event}: Applying): Promise<Outcome> => {
  const read = await reading.current()
  if (isOfAnother(event.hint, read)) return {ignoredFor: 'OTHER_SUBSCRIPTION'}
  return {write: reading.write, done: reading.isWritten}
}

const isOfAnother = ({subscription}: Hint, read: {id: string; status: string} | null) =>
  subscription !== null && read !== null && subscription !== read.id && !isOver(read)

/** What it came to is written by the Checkout itself; a page that none of ours led to is nothing to us. */
const learnCheckout = async ({tools, held, reading, event}: Applying): Promise<Outcome> => {
  const known = await settleCheckout(tools, held, event.hint.id!)
  reading.forget()
  return known ? nothingMore : {ignoredFor: 'UNKNOWN_CHECKOUT'}
}

const learnTopup = async ({tools, held: {org}, event}: Applying): Promise<Outcome> => {
  const {kind, attempt} = event.hint
  if (kind !== 'autotopup' || attempt === null) return {ignoredFor: null}
  const state = await settleTopup(tools, {org, attempt})
  return state === 'gone' ? {ignoredFor: 'UNKNOWN_TOPUP'} : nothingMore
}

const nothingMore: Outcome = {write: async () => {}}

/** Which card is charged is part of what is read of a subscription; and another one may pay for what the last did not. */
const learnCard = async (applying: Applying): Promise<Outcome> => {
  await clearTopupStop(applying.tools, applying.held.org)
  return learnSubscription(applying)
}

/** How the subscription stands, and what people are told of besides. */
const andThen = async (applying: Applying, tell: (applying: Applying) => Promise<Outcome>): Promise<Outcome> => {
  const stands = await learnSubscription(applying)
  if ('ignoredFor' in stands) return stands
  const told = await tell(applying)
  return {
    ...stands,
    async write(tx) {
      await stands.write(tx)
      if ('write' in told) await told.write(tx)
    },
  }
}

/** Nothing we do leads to this: somebody has to look at it at the provider. */
const learnAlarm = async (applying: Applying): Promise<Outcome> => {
  const {tools, event} = applying
  tools.log.error(
    {event: event.id, type: event.type, org: event.org, object: event.hint.id},
    'the payment provider tells of what should not be',
  )
  return learnSubscription(applying)
}
