import type {Stripe} from 'stripe'
import {findOrgOfCustomer, lockBillingAccount} from '../../../sql/billing-accounts.ts'
import type {Pool, Tx} from '../../../sql/database.ts'
import {deferEvent, type EventHint, type EventStatus, findEventStatus, insertEvent, lockEventStatus} from '../../../sql/payment-events.ts'
import type {Config} from '../../config.ts'
import {applyPaymentEvent} from '../../jobs.ts'
import {enqueue, type Queue} from '../../queue.ts'
import {isLiveKey} from '../key-mode.ts'
import {changeInProgress, isForEvents} from '../lease.ts'
import {APP} from '../metadata.ts'
import {classifyEvent} from './classify.ts'
import {assertEvent, parseHint} from './parse.ts'

type ReceiveDeps = {db: Pool; queue: Queue; config: Pick<Config, 'PAYMENT_ENVIRONMENT' | 'PAYMENT_API_KEY'>}

/**
 * Stores a verified event and enqueues its application, once per event id. If a change of billing holds the org's billing lock, throws
 * CHANGE_IN_PROGRESS after storing the event. The provider then sends the event again. If a worker holds the lock to apply other events, this event
 * waits without an error, because one purchase causes eight events within a second.
 */
export const receiveEvent = async ({db, queue, config}: ReceiveDeps, event: Stripe.Event): Promise<{received: true}> => {
  assertEvent(event)
  const {id, type} = event
  if (isOver(await findEventStatus(db, id))) return {received: true}
  const hint = parseHint(event)
  const isTaken = await db.transaction(async tx => {
    const {org, ignoredFor} = await findOrgOfEvent(tx, config, type, hint)
    const status: EventStatus = ignoredFor === null ? 'received' : 'ignored'
    // The row lock orders this call and the release of the billing lock. So either the lock's holder sees this event, or the lock is free.
    const account = org === null || status === 'ignored' ? null : await lockBillingAccount(tx, org)
    await insertEvent(tx, {id, type, status, org, error: ignoredFor || null, hint})
    if (isOver(await lockEventStatus(tx, id))) return true
    if (!account?.isHeld) {
      await enqueue(queue, applyPaymentEvent, {event: id}, {tx, track: false})
      return true
    }
    await deferEvent(tx, id)
    return isForEvents(account.heldBy)
  })
  if (!isTaken) throw changeInProgress()
  return {received: true}
}

const isOver = (status: EventStatus | null) => status === 'processed' || status === 'ignored'

/** Finds the org of an event. `ignoredFor`: the reason to ignore the event, empty if its type is the reason; null if it must be applied. */
const findOrgOfEvent = async (
  tx: Tx,
  config: ReceiveDeps['config'],
  type: string,
  {customer, charge, app, env, org: named, live}: EventHint,
): Promise<{org: string | null; ignoredFor: string | null}> => {
  const org = customer === null ? null : await findOrgOfCustomer(tx, customer)
  const isOthers = app !== null && (app !== APP || env !== config.PAYMENT_ENVIRONMENT)
  if (live !== isLiveKey(config.PAYMENT_API_KEY)) return {org, ignoredFor: 'OTHER_MODE'}
  if (isOthers) return {org: null, ignoredFor: 'OTHER_APP'}
  if (classifyEvent(type) === null) return {org, ignoredFor: ''}
  // A dispute names only a charge, and the charge names the customer.
  if (customer === null && charge !== null) return {org: null, ignoredFor: null}
  if (org === null) return {org, ignoredFor: 'UNKNOWN_CUSTOMER'}
  return {org, ignoredFor: named === null || named === org ? null : 'OTHER_ORG'}
}
